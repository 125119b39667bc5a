//! What a server tells an operator's program: reading any statistics never panics, and lines that
//! nobody knows change nothing.
#![no_main]

use farcache_cli::report::{Lines, Report};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let mut lines: Lines = pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let report = Report::read(&lines, &lines, &lines);
    lines.push(("nobody_knows".to_owned(), "9".to_owned()));
    lines.push(("move:1:2:streaming".to_owned(), "yes".to_owned()));
    assert_eq!(Report::read(&lines, &lines, &lines), report);
});
