//! What a server tells of itself.

use crate::Outcome;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// The lines of a command for statistics.
///
/// # Errors
/// Those of the connection.
pub fn ask(mut stream: TcpStream, command: &str) -> Outcome<BTreeMap<String, String>> {
    stream.write_all(format!("{command}\r\n").as_bytes())?;
    let mut stats = BTreeMap::new();
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let Some(stat) = line.strip_prefix("STAT ") else {
            break;
        };
        if let Some((name, value)) = stat.split_once(' ') {
            stats.insert(name.to_owned(), value.to_owned());
        }
    }
    Ok(stats)
}
