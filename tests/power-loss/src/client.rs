//! As much of memcached's text protocol as the witness needs.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// An emulated machine on a busy host may stand still for long; a server that never answers is a
/// fault.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);

/// A connection to the server.
pub struct Client {
    input: BufReader<TcpStream>,
}

fn unexpected(wanted: &str, line: &str) -> io::Error {
    let line = line.trim_end();
    io::Error::other(format!("{wanted}: the server answered \"{line}\""))
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// The system's.
    pub fn connect(address: &str) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
        let input = BufReader::new(stream);
        Ok(Client { input })
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.get_mut().write_all(bytes)
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the server has closed the connection"));
        }
        Ok(line)
    }

    /// Stores an item.
    ///
    /// # Errors
    /// The system's, and any answer but `STORED`.
    pub fn set(&mut self, key: &str, value: &[u8]) -> io::Result<()> {
        let mut request = format!("set {key} 0 0 {}\r\n", value.len()).into_bytes();
        request.extend_from_slice(value);
        request.extend_from_slice(b"\r\n");
        self.send(&request)?;
        match self.line()?.as_str() {
            "STORED\r\n" => Ok(()),
            line => Err(unexpected(&format!("set {key}"), line)),
        }
    }

    /// Deletes an item, if it is there.
    ///
    /// # Errors
    /// The system's, and any answer that memcached does not give.
    pub fn delete(&mut self, key: &str) -> io::Result<()> {
        self.send(format!("delete {key}\r\n").as_bytes())?;
        match self.line()?.as_str() {
            "DELETED\r\n" | "NOT_FOUND\r\n" => Ok(()),
            line => Err(unexpected(&format!("delete {key}"), line)),
        }
    }

    /// Reads an item; none if it is not there.
    ///
    /// # Errors
    /// The system's, and any answer that memcached does not give.
    pub fn get(&mut self, key: &str) -> io::Result<Option<Vec<u8>>> {
        self.send(format!("get {key}\r\n").as_bytes())?;
        let line = self.line()?;
        if line == "END\r\n" {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let is_answer = words.next() == Some("VALUE") && words.next() == Some(key);
        let bytes = words.nth(1).and_then(|bytes| bytes.parse::<usize>().ok());
        let Some(bytes) = bytes.filter(|_| is_answer) else {
            return Err(unexpected(&format!("get {key}"), &line));
        };
        let mut value = vec![0; bytes + 2];
        self.input.read_exact(&mut value)?;
        value.truncate(bytes);
        match self.line()?.as_str() {
            "END\r\n" => Ok(Some(value)),
            line => Err(unexpected(&format!("the end of get {key}"), line)),
        }
    }
}
