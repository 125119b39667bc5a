//! Traces of cache requests: no reader panics whatever the file holds, a visitor that has enough
//! is left alone, and how the file arrives changes nothing.
#![no_main]

use farcache_traces::{Columns, Format, Record, read};
use libfuzzer_sys::fuzz_target;
use std::io::BufReader;
use std::ops::ControlFlow;

const FORMATS: [Format; 8] = [
    Format::OracleGeneral,
    Format::Csv,
    Format::Twitter,
    Format::Arc,
    Format::Lirs,
    Format::Keys,
    Format::U32,
    Format::U64,
];

/// Records taken at most: a few bytes of ARC's format ask for a million blocks.
const RECORDS_MAX: usize = 10_000;

/// The records taken, and the error that ended the reading.
type Outcome = (Vec<Record>, Option<String>);

// The first byte says the format, the second and third the columns, the fourth the size of the
// pieces in which the file arrives.
fuzz_target!(|input: &[u8]| {
    let Some((&[format, key, size, piece_bytes], file)) = input.split_first_chunk() else {
        return;
    };
    let format = FORMATS[usize::from(format) % FORMATS.len()];
    let columns = Columns {
        key: usize::from(key),
        value_bytes: (size > 0).then_some(usize::from(size)),
    };
    let whole = outcome(format, columns, file.len().max(1), file);
    let pieces = outcome(format, columns, usize::from(piece_bytes) + 1, file);
    assert_eq!(whole, pieces);
    check_records(format, file, &whole);
});

fn outcome(format: Format, columns: Columns, piece_bytes: usize, file: &[u8]) -> Outcome {
    let mut records = Vec::new();
    let mut input = BufReader::with_capacity(piece_bytes, file);
    let end = read(format, columns, &mut input, &mut |record| {
        assert!(records.len() < RECORDS_MAX, "the visitor had enough");
        records.push(record);
        match records.len() {
            RECORDS_MAX => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    (records, end.err().map(|error| error.to_string()))
}

/// What a format promises of the number of records.
fn check_records(format: Format, file: &[u8], (records, error): &Outcome) {
    let record_bytes = match format {
        Format::OracleGeneral => 24,
        Format::U32 => 4,
        Format::U64 => 8,
        Format::Arc => return,
        _ => {
            let lines = file.split(|byte| *byte == b'\n').count();
            return assert!(records.len() <= lines);
        }
    };
    assert_eq!(records.len(), (file.len() / record_bytes).min(RECORDS_MAX));
    let is_cut_off = !file.len().is_multiple_of(record_bytes) && records.len() < RECORDS_MAX;
    assert_eq!(error.is_some(), is_cut_off);
}
