//! What a server tells of itself, read: its lines of `stats`, `stats cluster` and
//! `stats redundancy`.

use farcache_cluster::ServerId;
use farcache_cluster::map::{Epoch, Move, Phase};
use std::collections::BTreeMap;

/// Statistics as a server gives them: names and values.
pub type Lines = Vec<(String, String)>;

/// What a server told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The name of its cluster; none where it is in none.
    pub cluster: Option<String>,
    /// The epoch of its map.
    pub epoch: Epoch,
    /// Where it has its map from: `file` or `etcd`.
    pub source: String,
    /// Whether its map lists it, as far as it knows.
    pub is_listed: Option<bool>,
    /// Whether it makes the maps of its cluster.
    pub is_publisher: bool,
    /// Whether it answers for no key, as others may own them.
    pub is_cut_off: bool,
    /// Whether it may lack copies and shards that others have.
    pub is_catching_up: bool,
    /// How many keys it has looked at for such since it started.
    pub keys_examined: u64,
    /// Servers without a sign of life, by its view: `none`, or their numbers.
    pub suspects: Option<String>,
    /// Items that it holds, in memory and on the SSD.
    pub items: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Bytes that its memory has for them.
    pub bytes_max: u64,
    /// Reads that found something, and that did not.
    pub hits: u64,
    /// See `hits`.
    pub misses: u64,
    /// Its version.
    pub version: String,
    /// The moves of which it is an end.
    pub moves: BTreeMap<Ends, End>,
}

/// Which move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// The old owner.
    pub from: ServerId,
    /// The new owner.
    pub to: ServerId,
    /// How far the move has come.
    pub phase: Phase,
}

/// What one end of a move told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// `giving` or `taking`.
    pub role: String,
    /// `waiting`, `moving`, `done` or `lost`.
    pub state: String,
    /// The epoch that the old owner goes by, as a whole.
    pub acknowledged_epoch: u64,
    /// Whether nothing more will come.
    pub is_done: bool,
    /// Items that have come, or were sent.
    pub keys: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// An estimate of what is still to come.
    pub keys_left: u64,
    /// Bytes of these, an estimate.
    pub bytes_left: u64,
    /// In the last seconds.
    pub bytes_per_second: u64,
}

impl Report {
    /// Reads the lines of `stats`, of `stats cluster` and of `stats redundancy`. Names that are not
    /// known are passed over, and numbers that are none count as 0: servers of other versions tell
    /// other things.
    #[must_use]
    pub fn read(general: &Lines, cluster: &Lines, redundancy: &Lines) -> Report {
        let mut report = Report::default();
        for (name, value) in general {
            report.read_general(name, value);
        }
        for (name, value) in cluster {
            match name.strip_prefix("move:") {
                Some(rest) => report.read_move(rest, value),
                None => report.read_cluster(name, value),
            }
        }
        for (name, value) in redundancy {
            match name.as_str() {
                "repair_catching_up" => report.is_catching_up = value == "1",
                "repair_keys_examined" => report.keys_examined = number(value),
                _ => {}
            }
        }
        report
    }

    fn read_general(&mut self, name: &str, value: &str) {
        match name {
            "curr_items" => self.items = number(value),
            "bytes" => self.bytes = number(value),
            "limit_maxbytes" => self.bytes_max = number(value),
            "get_hits" => self.hits = number(value),
            "get_misses" => self.misses = number(value),
            "version" => value.clone_into(&mut self.version),
            _ => {}
        }
    }

    fn read_cluster(&mut self, name: &str, value: &str) {
        match name {
            "source" => value.clone_into(&mut self.source),
            "cluster" => self.cluster = Some(value.to_owned()),
            "epoch" => self.epoch = Epoch(number(value)),
            "listed" => self.is_listed = yes_or_no(value),
            "publisher" => self.is_publisher = value == "yes",
            "cut_off" => self.is_cut_off = value == "yes",
            "suspects" => self.suspects = Some(value.to_owned()),
            _ => {}
        }
    }

    /// A line `move:FROM:TO:PHASE:WHAT`, of which `rest` is what follows the first colon.
    fn read_move(&mut self, rest: &str, value: &str) {
        let Some((ends, what)) = Ends::read(rest) else {
            return;
        };
        let end = self.moves.entry(ends).or_default();
        match what {
            "role" => value.clone_into(&mut end.role),
            "state" => value.clone_into(&mut end.state),
            "acknowledged_epoch" => end.acknowledged_epoch = number(value),
            "done" => end.is_done = value == "yes",
            "keys" => end.keys = number(value),
            "bytes" => end.bytes = number(value),
            "keys_left" => end.keys_left = number(value),
            "bytes_left" => end.bytes_left = number(value),
            "bytes_per_second" => end.bytes_per_second = number(value),
            _ => {}
        }
    }
}

impl Ends {
    /// The ends and the phase of a move that a map lists.
    #[must_use]
    pub fn of(moved: &Move) -> Ends {
        Ends {
            from: moved.from,
            to: moved.to,
            phase: moved.phase,
        }
    }

    /// The ends of `FROM:TO:PHASE:WHAT`, and what is told of them.
    fn read(text: &str) -> Option<(Ends, &str)> {
        let mut words = text.splitn(4, ':');
        let mut server = || words.next()?.parse().ok().map(ServerId);
        let (from, to) = (server()?, server()?);
        let word = words.next()?;
        let phase = Phase::ALL.into_iter().find(|(_, known)| *known == word);
        let (phase, _) = phase?;
        Some((Ends { from, to, phase }, words.next()?))
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn what_a_server_tells_is_read() {
        let general = lines("curr_items 7\nbytes 900\nget_hits 3\nversion 1.6.40");
        let cluster = lines(
            "source etcd\ncluster orders\nepoch 9\nlisted yes\npublisher no\ncut_off yes\n\
             suspects 2,3\nmove:1:4:streaming:role taking\nmove:1:4:streaming:state moving\n\
             move:1:4:streaming:acknowledged_epoch 8\nmove:1:4:streaming:done no\n\
             move:1:4:streaming:keys 10\nmove:1:4:streaming:keys_left 30\n\
             move:2:4:handing-over:done yes",
        );
        let redundancy = lines("repair on\nrepair_catching_up 1\nrepair_keys_examined 40");
        let report = Report::read(&general, &cluster, &redundancy);
        assert!(report.is_catching_up && report.keys_examined == 40);
        assert_eq!((report.items, report.bytes, report.hits), (7, 900, 3));
        assert_eq!(report.cluster.as_deref(), Some("orders"));
        assert_eq!((report.epoch, report.is_cut_off), (Epoch(9), true));
        assert_eq!(report.is_listed, Some(true));
        let ends = |from, phase| Ends {
            from: ServerId(from),
            to: ServerId(4),
            phase,
        };
        let end = &report.moves[&ends(1, Phase::Streaming)];
        assert_eq!((end.keys, end.keys_left, end.is_done), (10, 30, false));
        assert_eq!((end.role.as_str(), end.acknowledged_epoch), ("taking", 8));
        assert!(report.moves[&ends(2, Phase::HandingOver)].is_done);
    }

    #[test]
    fn what_makes_no_sense_is_passed_over() {
        let cluster = lines(
            "move:1:4:streaming x\nmove:1:4:sleeping:done yes\nmove:a:4:streaming:done yes\n\
             move::: x\nepoch many\nlisted unknown",
        );
        let redundancy = lines("repair_catching_up yes\nrepair_keys_examined few");
        assert_eq!(
            Report::read(&Lines::new(), &cluster, &redundancy),
            Report::default()
        );
    }
}
