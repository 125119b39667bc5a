use super::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::io::BufReader;

const COLUMNS: Columns = Columns {
    key: 2,
    value_bytes: Some(3),
};

fn records(format: Format, bytes: &[u8]) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    // A small buffer, so that lines and records cross its end.
    let mut input = BufReader::with_capacity(7, bytes);
    read(format, COLUMNS, &mut input, &mut |record| {
        records.push(record);
        match records.len() {
            RECORDS_MAX => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })?;
    Ok(records)
}

/// Records taken of one input.
const RECORDS_MAX: usize = 10_000;

fn keys(format: Format, bytes: &[u8]) -> Vec<u64> {
    let records = records(format, bytes).unwrap();
    records.iter().map(|record| record.key).collect()
}

fn message(format: Format, bytes: &[u8]) -> String {
    records(format, bytes).unwrap_err().to_string()
}

#[test]
fn oracle_general_is_read_by_its_offsets() {
    // Time 1, key 0x0807060504030201, size 512, next use -1; then key 2 of size 9.
    let mut bytes = vec![1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 2, 0, 0];
    bytes.extend([0xff; 8]);
    bytes.extend([2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0]);
    bytes.extend([0xff; 8]);
    let wanted = [
        Record::read(0x0807_0605_0403_0201, Some(512)),
        Record::read(2, Some(9)),
    ];
    assert_eq!(records(Format::OracleGeneral, &bytes).unwrap(), wanted);
    let error = message(Format::OracleGeneral, &bytes[..40]);
    assert_eq!(error, "record at byte 24 is cut off");
}

#[test]
fn csv_takes_the_columns_that_it_is_told() {
    let text = b"time,key,size\n# a remark\n1,77,100\n\n2 , k , 200\n";
    let wanted = [
        Record::read(77, Some(100)),
        Record::read(lines::hash_of("k"), Some(200)),
    ];
    assert_eq!(records(Format::Csv, text).unwrap(), wanted);
    let blanks = records(Format::Csv, b"1 5 10\r\n2\t6\t11").unwrap();
    assert_eq!(
        blanks,
        [Record::read(5, Some(10)), Record::read(6, Some(11))]
    );
    assert_eq!(
        message(Format::Csv, b"1,2,3\n1,2"),
        "line 2 has no column 3"
    );
    assert_eq!(
        message(Format::Csv, b"1,2,3\n1,2,x"),
        "line 2: \"x\" is no size"
    );
}

#[test]
fn twitters_sets_tell_sizes_and_are_no_requests() {
    let text = b"0,a,1,0,7,get,0\n0,a,1,300,7,set,60\n1,a,1,300,7,gets,0\n";
    let records = records(Format::Twitter, text).unwrap();
    let told: Vec<_> = records
        .iter()
        .map(|record| (record.value_bytes, record.is_read))
        .collect();
    assert_eq!(told, [(None, true), (Some(300), false), (Some(300), true)]);
}

#[test]
fn arc_s_lines_are_ranges_of_blocks() {
    assert_eq!(
        keys(Format::Arc, b"10 3 0 1\n\n7 1 0 2\n5 0 0 3\n"),
        [10, 11, 12, 7]
    );
    assert_eq!(
        message(Format::Arc, b"1 x 0 1"),
        "line 1: \"x\" is no number"
    );
    let beyond = message(Format::Arc, b"18446744073709551615 2 0 0");
    assert_eq!(beyond, "line 1: blocks beyond the last");
    assert!(message(Format::Arc, b"1 99999999 0 0").contains("asks for 99999999 blocks"));
}

#[test]
fn lirs_s_marks_are_no_requests() {
    assert_eq!(keys(Format::Lirs, b"5\r\n*\n6\n* 7\n5"), [5, 6, 5]);
    assert_eq!(
        message(Format::Lirs, b"1\n-1"),
        "line 2: \"-1\" is no number"
    );
}

#[test]
fn keys_and_numbers_are_only_told_apart() {
    let same = keys(Format::Keys, b"one\ntwo\none\n");
    assert!(same[0] == same[2] && same[0] != same[1]);
    assert_eq!(keys(Format::U32, &[0, 0, 0, 1, 0, 0, 1, 0]), [1, 256]);
    assert_eq!(keys(Format::U64, &[0, 0, 0, 0, 0, 0, 0, 9]), [9]);
    assert_eq!(
        message(Format::U32, &[1, 2, 3, 4, 5]),
        "record at byte 4 is cut off"
    );
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let endless = vec![b'1'; 1 << 20];
    for format in [
        Format::Csv,
        Format::Twitter,
        Format::Arc,
        Format::Lirs,
        Format::Keys,
    ] {
        assert_eq!(
            message(format, &endless),
            "line 1 is too long",
            "{format:?}"
        );
    }
}

/// Pieces that readers have to deal with, in any order.
const PIECES: [&[u8]; 14] = [
    b"\n",
    b"\r\n",
    b",",
    b" ",
    b"*",
    b"#",
    b"0",
    b"18446744073709551616",
    b"4294967296",
    b"get",
    b"-1",
    b"\xff\xfe",
    b"1,2,3,4,5,get,6",
    b"1048577",
];

#[test]
fn hostile_bytes_are_refused_or_read_alike_each_time_whatever_the_format() {
    let mut random = SmallRng::seed_from_u64(18);
    let mut read_well = 0;
    for _ in 0..3000 {
        let mut bytes = Vec::new();
        for _ in 0..random.random_range(0..30) {
            match random.random_range(0..3) {
                0 => bytes.push(random.random()),
                _ => bytes.extend_from_slice(PIECES[random.random_range(0..PIECES.len())]),
            }
        }
        for format in <Format as clap::ValueEnum>::value_variants() {
            let one = records(*format, &bytes);
            let other = records(*format, &bytes);
            match (one, other) {
                (Ok(one), Ok(other)) => {
                    assert_eq!(one, other);
                    read_well += usize::from(!one.is_empty());
                }
                (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
                (one, other) => panic!("{format:?} of {bytes:?}: {one:?}, then {other:?}"),
            }
        }
    }
    assert!(read_well > 1000, "{read_well} inputs had records");
}
