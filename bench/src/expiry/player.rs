//! One server's side of a replay: requests over one connection, and what must be live.

use super::cluster::{Request, Stream};
use crate::load::connection::{Connection, Pending, Received};
use crate::load::keys::{KeyId, KeyShape};
use crate::load::measurement::Stopwatch;
use crate::load::meta::{Answer, Judge, MetaReplies};
use crate::load::values::Values;
use farcache_harness::control::Control;
use farcache_harness::target::Target;
use serde::Serialize;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Both servers count whole seconds, so that a value lives for up to one less or more.
const CLOCK_STEP_S: f64 = 2.0;
/// Requests under way at most: a server that is slower is waited for.
const UNDER_WAY_MAX: usize = 2048;
/// How long answers are waited for.
const ANSWERS_TIME_MAX: Duration = Duration::from_secs(60);
/// Keys asked for together when it is looked which are there.
const LOOKED_TOGETHER: usize = 256;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    key: KeyId,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Get,
    Set,
    /// Whether it is there, without its value.
    Look,
}

struct Look(Values);

impl Judge for Look {
    type Asked = Asked;
    /// Whether it is the key's value.
    type Seen = bool;

    fn look(&self, asked: Asked, value: &[u8]) -> bool {
        self.0.matches(asked.key, value)
    }
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Requests answered.
    pub requests: u64,
    /// Reads.
    pub gets: u64,
    /// Reads of values that had been stored and had not expired.
    pub gets_of_live: u64,
    /// Reads that found the value.
    pub hits: u64,
    /// Values stored.
    pub stored: u64,
    /// Requests that ended with an error: values that found no room, above all.
    pub refused: u64,
    /// Reads that found another key's value, or bytes that nobody has stored.
    pub wrong: u64,
    /// Reads that found a value after its time.
    pub late: u64,
}

/// A server's numbers of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Items that it counts, expired ones that it still holds among them.
    pub items: u64,
    /// Their bytes, by its own count.
    pub bytes: u64,
}

/// A server that plays along.
pub struct Player {
    connection: Connection<MetaReplies<Look>>,
    control: Control,
    shape: KeyShape,
    values: Values,
    fills: bool,
    /// When each key's value ends its life, in seconds since the start; 0 where there is none.
    ends_s: Vec<f64>,
    start: Instant,
    clock: Stopwatch,
    counts: Counts,
    looked_found: u64,
    to_fill: Vec<KeyId>,
    value: Vec<u8>,
}

impl Player {
    /// Connects to a server.
    ///
    /// # Errors
    /// If the server cannot be connected to.
    pub fn connect(target: &Target, stream: &Stream, fills: bool, keys: KeyId) -> io::Result<Self> {
        let socket = target.connect()?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        let values = stream.values().clone();
        Ok(Player {
            connection: Connection::new(socket, MetaReplies::new(Look(values.clone()))),
            control: Control::connect(target)?,
            shape: stream.shape().clone(),
            values,
            fills,
            ends_s: vec![0.0; keys as usize],
            start: Instant::now(),
            clock: Stopwatch::start(),
            counts: Counts::default(),
            looked_found: 0,
            to_fill: Vec::new(),
            value: Vec::new(),
        })
    }

    fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// What was counted since this was asked last.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// Queues a request.
    pub fn queue(&mut self, request: Request, stream: &Stream) {
        if request.is_set {
            self.queue_set(request.key, stream.lives_s(request.key));
        } else {
            self.queue_short(request.key, Kind::Get);
        }
    }

    fn queue_short(&mut self, key: KeyId, kind: Kind) {
        let shape = &self.shape;
        let pending = Pending {
            operation: Asked { key, kind },
            since_ns: 0,
        };
        self.connection.queue(pending, |output| {
            output.extend_from_slice(b"mg ");
            shape.push(key, output);
            let end: &[u8] = if kind == Kind::Get {
                b" v\r\n"
            } else {
                b"\r\n"
            };
            output.extend_from_slice(end);
        });
    }

    fn queue_set(&mut self, key: KeyId, lives_s: u32) {
        self.value.clear();
        self.values.push(key, &mut self.value);
        self.ends_s[key as usize] = self.now_s() + f64::from(lives_s);
        let (shape, value) = (&self.shape, &self.value);
        let pending = Pending {
            operation: Asked {
                key,
                kind: Kind::Set,
            },
            since_ns: 0,
        };
        self.connection.queue(pending, |output| {
            output.extend_from_slice(b"ms ");
            shape.push(key, output);
            // Writing to a vector cannot fail.
            let _ = write!(output, " {} T{lives_s}\r\n", value.len());
            output.extend_from_slice(value);
            output.extend_from_slice(b"\r\n");
        });
    }

    /// Sends and receives what goes at once; waits while too much is under way.
    ///
    /// # Errors
    /// If the connection fails, or an answer does not come.
    pub fn pump(&mut self, stream: &Stream) -> io::Result<()> {
        self.pump_until(stream, UNDER_WAY_MAX)
    }

    /// Waits until all is answered.
    ///
    /// # Errors
    /// As [`Player::pump`].
    pub fn drain(&mut self, stream: &Stream) -> io::Result<()> {
        self.pump_until(stream, 0)
    }

    fn pump_until(&mut self, stream: &Stream, under_way_max: usize) -> io::Result<()> {
        let deadline = Instant::now() + ANSWERS_TIME_MAX;
        loop {
            self.connection.send()?;
            self.receive()?;
            let mut to_fill = std::mem::take(&mut self.to_fill);
            for key in to_fill.drain(..) {
                self.queue_set(key, stream.lives_s(key));
            }
            self.to_fill = to_fill;
            if self.connection.outstanding() <= under_way_max {
                return self.connection.send();
            }
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::yield_now();
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let now_s = self.now_s();
        let (counts, ends_s) = (&mut self.counts, &self.ends_s);
        let (to_fill, fills) = (&mut self.to_fill, self.fills);
        let found = &mut self.looked_found;
        let mut done = |pending: Pending<Asked>, answer, _| {
            let Asked { key, kind } = pending.operation;
            if kind == Kind::Look {
                *found += u64::from(answer == Answer::Done);
                return;
            }
            counts.requests += 1;
            let end_s = ends_s[key as usize];
            match (kind, answer) {
                (_, Answer::Error) => counts.refused += 1,
                (Kind::Set, _) => counts.stored += 1,
                (_, answer) => {
                    counts.gets += 1;
                    counts.gets_of_live += u64::from(end_s > now_s);
                    let is_hit = answer != Answer::Absent;
                    counts.hits += u64::from(is_hit);
                    counts.wrong += u64::from(is_hit && answer != Answer::Value(true));
                    counts.late += u64::from(is_hit && end_s + CLOCK_STEP_S < now_s);
                    if !is_hit && fills {
                        to_fill.push(key);
                    }
                }
            }
        };
        while self.connection.receive(&self.clock, &mut done)? == Received::More {}
        Ok(())
    }

    /// Bytes of keys and values that have been stored and have not expired: what a cache with room
    /// for all would hold.
    pub fn live_bytes(&self, stream: &Stream) -> u64 {
        let now_s = self.now_s();
        let live = self
            .ends_s
            .iter()
            .enumerate()
            .filter(|(_, end_s)| **end_s > now_s);
        live.map(|(key, _)| stream.item_bytes(key as KeyId)).sum()
    }

    /// What the server says that it holds.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn held(&mut self) -> io::Result<Held> {
        let told = self.control.stats("")?;
        let number = |name: &str| {
            let number = told.get(name).and_then(|text| text.parse().ok());
            number.ok_or_else(|| io::Error::other(format!("no number in stats: {name}")))
        };
        Ok(Held {
            items: number("curr_items")?,
            bytes: number("bytes")?,
        })
    }

    /// How many items are there that have not expired: asks for each that may be.
    ///
    /// # Errors
    /// As [`Player::pump`].
    pub fn look(&mut self, stream: &Stream) -> io::Result<u64> {
        let now_s = self.now_s();
        let may_be = |(key, end_s): (usize, &f64)| {
            (*end_s > 0.0 && end_s + CLOCK_STEP_S > now_s).then_some(key as KeyId)
        };
        let keys: Vec<KeyId> = self.ends_s.iter().enumerate().filter_map(may_be).collect();
        self.looked_found = 0;
        for some in keys.chunks(LOOKED_TOGETHER) {
            some.iter()
                .for_each(|key| self.queue_short(*key, Kind::Look));
            self.drain(stream)?;
        }
        Ok(self.looked_found)
    }

    /// The first error that the server answered with.
    pub fn first_error(&self) -> Option<&str> {
        self.connection.replies().first_error()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cluster::Cluster;
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::net::{TcpListener, TcpStream};

    const KEYS: KeyId = 10;

    /// A server of meta commands that keeps everything for ever, and answers `spoiled` in place of
    /// a value if it is given.
    fn serve(spoiled: Option<&'static [u8]>) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // One that hangs up ends the thread, as it should.
                std::thread::spawn(move || converse(&stream, spoiled));
            }
        });
        Target::Tcp(address)
    }

    fn converse(mut stream: &TcpStream, spoiled: Option<&'static [u8]>) -> io::Result<()> {
        let mut stored = std::collections::HashMap::new();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            line.clear();
            match (words[0].as_str(), words.get(2)) {
                ("ms", Some(length)) => {
                    let mut value = vec![0; length.parse::<usize>().expect("a length") + 2];
                    lines.read_exact(&mut value)?;
                    stored.insert(words[1].clone(), value);
                    stream.write_all(b"HD\r\n")?;
                }
                (_, wants_value) => match (stored.get(&words[1]), wants_value) {
                    (None, _) => stream.write_all(b"EN\r\n")?,
                    (Some(_), None) => stream.write_all(b"HD\r\n")?,
                    (Some(value), Some(_)) => {
                        let value = spoiled.unwrap_or(value);
                        stream.write_all(format!("VA {}\r\n", value.len() - 2).as_bytes())?;
                        stream.write_all(value)?;
                    }
                },
            }
        }
        Ok(())
    }

    fn player(spoiled: Option<&'static [u8]>, fills: bool) -> (Player, Stream) {
        let stream = Stream::new(Cluster::C12.statistics(), 100, KEYS);
        let player = Player::connect(&serve(spoiled), &stream, fills, KEYS);
        (player.expect("it listens"), stream)
    }

    fn ask(player: &mut Player, stream: &Stream, key: KeyId, is_set: bool) {
        player.queue(Request { key, is_set }, stream);
        player.drain(stream).expect("it answers");
    }

    #[test]
    fn hits_misses_and_what_is_live_are_counted() {
        let (mut player, stream) = player(None, false);
        ask(&mut player, &stream, 1, true);
        ask(&mut player, &stream, 1, false);
        ask(&mut player, &stream, 2, false);
        let counts = player.take_counts();
        let expected = Counts {
            requests: 3,
            gets: 2,
            gets_of_live: 1,
            hits: 1,
            stored: 1,
            ..Counts::default()
        };
        assert_eq!(counts, expected);
        assert_eq!(player.look(&stream).expect("it answers"), 1);
        assert_eq!(player.live_bytes(&stream), stream.item_bytes(1));
        assert_eq!(player.take_counts(), Counts::default());
    }

    #[test]
    fn what_is_missed_is_stored_where_caches_are_filled() {
        let (mut player, stream) = player(None, true);
        ask(&mut player, &stream, 3, false);
        ask(&mut player, &stream, 3, false);
        let counts = player.take_counts();
        assert_eq!((counts.gets, counts.hits, counts.stored), (2, 1, 1));
    }

    #[test]
    fn wrong_and_late_values_are_noticed() {
        let (mut spoiling, stream) = player(Some(b"other\r\n"), false);
        ask(&mut spoiling, &stream, 1, true);
        ask(&mut spoiling, &stream, 1, false);
        assert_eq!(spoiling.take_counts().wrong, 1);
        let (mut player, stream) = player(None, false);
        ask(&mut player, &stream, 1, true);
        // As if it had been stored long ago, on a server that keeps it all the same.
        player.ends_s[1] = player.now_s() - CLOCK_STEP_S - 1.0;
        ask(&mut player, &stream, 1, false);
        let counts = player.take_counts();
        assert_eq!((counts.late, counts.wrong), (1, 0));
        assert_eq!(player.look(&stream).expect("it answers"), 0);
    }
}
