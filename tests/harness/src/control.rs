//! A plain text connection for asking a server about itself.

use crate::target::Target;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;

/// A blocking connection that sends commands and reads lines.
pub struct Control {
    reader: BufReader<File>,
}

impl Control {
    /// Connects.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn connect(target: &Target) -> io::Result<Self> {
        let socket: OwnedFd = target.connect()?;
        Ok(Control {
            reader: BufReader::new(File::from(socket)),
        })
    }

    /// Sends a command line and returns the first line of the answer.
    ///
    /// # Errors
    /// Those of the socket, and its end.
    pub fn ask(&mut self, command: &str) -> io::Result<String> {
        self.reader
            .get_mut()
            .write_all(format!("{command}\r\n").as_bytes())?;
        self.line()
    }

    /// The lines of `stats ARGUMENT` as names and values.
    ///
    /// # Errors
    /// Those of the socket, and an answer of another form.
    pub fn stats(&mut self, argument: &str) -> io::Result<BTreeMap<String, String>> {
        let mut line = self.ask(format!("stats {argument}").trim_end())?;
        let mut stats = BTreeMap::new();
        while line != "END" {
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next()) {
                (Some("STAT"), Some(name)) => {
                    stats.insert(name.to_owned(), words.next().unwrap_or_default().to_owned());
                }
                _ => return Err(io::Error::other(format!("no stats: {line}"))),
            }
            line = self.line()?;
        }
        Ok(stats)
    }

    /// One number of the general stats.
    ///
    /// # Errors
    /// Those of [`Control::stats`], and a name that is absent or no number.
    pub fn stat(&mut self, name: &str) -> io::Result<u64> {
        let stats = self.stats("")?;
        let number = stats.get(name).and_then(|value| value.parse().ok());
        number.ok_or_else(|| io::Error::other(format!("no number in stats: {name}")))
    }

    /// The next line of an answer that has several.
    ///
    /// # Errors
    /// Those of the socket, and its end.
    pub fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
