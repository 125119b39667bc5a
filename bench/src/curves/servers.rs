//! Servers over a socket: GET, and SET of what was not there.

use super::{Figures, KEY_BYTES};
use crate::load::keys::{KeyShape, hex_digits};
use crate::traces::{ObjectId, Request, Trace};
use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Requests sent together, all for different objects: their values are set after all have been
/// asked for.
const BATCH: usize = 32;
/// Bytes of values set together, at most, beside the last.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// How every value of so many bytes begins: with the number of its object.
const NUMBER_BYTES: usize = 8;

/// Replays a trace on a memcached.
///
/// # Errors
/// Those of the connection, and replies that do not fit.
pub fn replay_on_server(trace: &Trace, address: SocketAddr) -> io::Result<Figures> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut client = Client {
        replies: BufReader::with_capacity(1 << 18, stream.try_clone()?),
        stream,
        shape: KeyShape::new(KEY_BYTES),
        requests: Vec::new(),
        line: String::new(),
        value: Vec::new(),
        figures: Figures::default(),
    };
    let mut rest = &trace.requests[..];
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(distinct(rest));
        client.play(batch)?;
        rest = later;
    }
    Ok(client.figures)
}

/// How many requests at the front are for different objects, up to a batch.
fn distinct(requests: &[Request]) -> usize {
    let mut objects = HashSet::new();
    let is_new = |request: &&Request| objects.insert(request.object);
    requests.iter().take(BATCH).take_while(is_new).count()
}

struct Client {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
    shape: KeyShape,
    requests: Vec<u8>,
    line: String,
    value: Vec<u8>,
    figures: Figures,
}

fn wrong(reply: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("wrong reply {reply:?}"))
}

impl Client {
    fn play(&mut self, batch: &[Request]) -> io::Result<()> {
        for request in batch {
            self.requests.extend_from_slice(b"get ");
            self.shape.push(request.object, &mut self.requests);
            self.requests.extend_from_slice(b"\r\n");
        }
        self.send()?;
        let mut missed = Vec::new();
        for request in batch {
            let is_hit = self.receive_value(request.object)?;
            self.figures.count(request, is_hit);
            if !is_hit {
                missed.push(*request);
            }
        }
        let mut sent = 0;
        for (number, request) in missed.iter().enumerate() {
            self.queue_set(request);
            if self.requests.len() >= BATCH_BYTES_MAX || number + 1 == missed.len() {
                self.send()?;
                (sent..=number).try_for_each(|_| self.receive_stored())?;
                sent = number + 1;
            }
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.requests)?;
        self.requests.clear();
        Ok(())
    }

    fn queue_set(&mut self, request: &Request) {
        let length = request.value_bytes as usize;
        self.requests.extend_from_slice(b"set ");
        self.shape.push(request.object, &mut self.requests);
        let head = format!(" 0 0 {length}\r\n");
        self.requests.extend_from_slice(head.as_bytes());
        let end = self.requests.len() + length;
        let number = hex_digits(request.object);
        self.requests
            .extend_from_slice(&number[..length.min(NUMBER_BYTES)]);
        self.requests.resize(end, b'.');
        self.requests.extend_from_slice(b"\r\n");
    }

    fn read_line(&mut self) -> io::Result<()> {
        self.line.clear();
        match self.replies.read_line(&mut self.line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Whether the object's value came.
    fn receive_value(&mut self, object: ObjectId) -> io::Result<bool> {
        self.read_line()?;
        if self.line == "END\r\n" {
            return Ok(false);
        }
        let length = self.line.trim_end().rsplit(' ').next();
        let length = length.and_then(|word| word.parse::<usize>().ok());
        let length = length.filter(|_| self.line.starts_with("VALUE "));
        let length = length.ok_or_else(|| wrong(&self.line))?;
        self.value.resize(length + 2, 0);
        self.replies.read_exact(&mut self.value)?;
        let number = &hex_digits(object)[..length.min(NUMBER_BYTES)];
        if !self.value.starts_with(number) {
            return Err(wrong("of another object"));
        }
        self.read_line()?;
        match self.line.as_str() {
            "END\r\n" => Ok(true),
            line => Err(wrong(line)),
        }
    }

    fn receive_stored(&mut self) -> io::Result<()> {
        self.read_line()?;
        match self.line.as_str() {
            "STORED\r\n" => {}
            line if line.starts_with("SERVER_ERROR ") => self.figures.refused += 1,
            line => return Err(wrong(line)),
        }
        Ok(())
    }
}
