//! Formats of fixed records.

use super::{Record, Visit, invalid};
use std::io::{self, BufRead, ErrorKind};

/// Passes on each record of `BYTES` bytes. A record that is cut off is an error.
fn for_each_record<const BYTES: usize>(
    input: &mut dyn BufRead,
    visit: Visit<'_>,
    decode: impl Fn(&[u8; BYTES]) -> Record,
) -> io::Result<()> {
    let mut place = 0u64;
    while !input.fill_buf()?.is_empty() {
        let mut record = [0; BYTES];
        let cut_off = |error: io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => invalid(format!("record at byte {place} is cut off")),
            _ => error,
        };
        input.read_exact(&mut record).map_err(cut_off)?;
        if visit(decode(&record)).is_break() {
            return Ok(());
        }
        place += BYTES as u64;
    }
    Ok(())
}

/// Offsets: 0 time (4), 4 key (8), 12 size (4), 16 next use (8). Source: libCacheSim,
/// `traceReader/customizedReader/oracle/oracleGeneralBin.h`.
pub fn read_oracle_general(input: &mut dyn BufRead, visit: Visit<'_>) -> io::Result<()> {
    for_each_record::<24>(input, visit, |record| {
        let (_time, rest) = record.split_at(4);
        let (key, rest) = rest.split_at(8);
        let key = u64::from_le_bytes(key.try_into().expect("split off so"));
        let size = u32::from_le_bytes(rest[..4].try_into().expect("as long as a u32"));
        Record::read(key, Some(size))
    })
}

/// The order of the bytes does not matter: keys are only compared.
pub fn read_u32(input: &mut dyn BufRead, visit: Visit<'_>) -> io::Result<()> {
    for_each_record::<4>(input, visit, |key| {
        Record::read(u64::from(u32::from_be_bytes(*key)), None)
    })
}

pub fn read_u64(input: &mut dyn BufRead, visit: Visit<'_>) -> io::Result<()> {
    for_each_record::<8>(input, visit, |key| {
        Record::read(u64::from_be_bytes(*key), None)
    })
}
