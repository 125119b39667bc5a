//! Reading a map's text, strictly: what is read is written back byte for byte, comments aside.

use super::content::{
    Epoch, HashArc, Incarnation, MapContent, Member, MemberState, Move, Phase, Rule,
};
use super::slots::{SLOTS, SlotTable};
use super::write::{END_LINE, NO_ZONE, VERSION_LINE};
use super::{ClusterMap, Place};
use crate::{Address, ServerId};
use std::fmt;
use std::iter::Peekable;
use std::str::{FromStr, Split};
use std::vec::IntoIter;

/// Why a text is no map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidText {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it, in words.
    pub reason: String,
}

impl fmt::Display for InvalidText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for InvalidText {}

type Read<T> = Result<T, InvalidText>;

impl FromStr for ClusterMap {
    type Err = InvalidText;

    fn from_str(text: &str) -> Read<Self> {
        let mut reader = Reader::new(text);
        let content = reader.content()?;
        Self::new(content).map_err(|invalid| InvalidText {
            line: reader.line_of(invalid.place),
            reason: invalid.reason,
        })
    }
}

/// A line that says something, cut into words.
#[derive(Clone)]
struct Line<'t> {
    number: usize,
    words: Split<'t, char>,
}

impl<'t> Line<'t> {
    fn fail<T>(&self, reason: impl Into<String>) -> Read<T> {
        Err(InvalidText {
            line: self.number,
            reason: reason.into(),
        })
    }

    fn keyword(&self) -> &'t str {
        self.words.clone().next().unwrap_or_default()
    }

    fn word(&mut self, what: &str) -> Read<&'t str> {
        match self.words.next() {
            Some(word) if !word.is_empty() => Ok(word),
            _ => self.fail(format!("{what} is missing")),
        }
    }

    /// The value of `name=value`.
    fn value(&mut self, name: &str) -> Read<&'t str> {
        let word = self.word(&format!("{name}="))?;
        let value = word
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('='));
        match value {
            Some(value) => Ok(value),
            None => self.fail(format!("{name}= is expected here, not {word:?}")),
        }
    }

    fn end(&mut self) -> Read<()> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => self.fail(format!("{word:?} is one word too many")),
        }
    }

    /// What is written as it is read: a decimal number has no sign and no zeros before it.
    fn parse<T: FromStr + fmt::Display>(&self, text: &str, what: &str) -> Read<T> {
        match text.parse::<T>() {
            Ok(value) if value.to_string() == text => Ok(value),
            _ => self.fail(format!("{text:?} is not {what}")),
        }
    }

    fn server(&self, text: &str) -> Read<ServerId> {
        self.parse(text, "the name of a server, which is a number")
            .map(ServerId)
    }

    fn choice<T: Copy>(&self, text: &str, words: &[(T, &str)]) -> Read<T> {
        match words.iter().find(|(_, word)| *word == text) {
            Some((value, _)) => Ok(*value),
            None => {
                let known: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
                self.fail(format!("{text:?} is none of {}", known.join(", ")))
            }
        }
    }

    /// Two ends joined by a hyphen, which may be one and the same.
    fn ends(&self, text: &'t str) -> Read<(&'t str, &'t str)> {
        match text.split_once('-') {
            Some(ends) => Ok(ends),
            None => self.fail(format!("{text:?} is not FIRST-LAST")),
        }
    }
}

/// The lines that say something, and where what they say stood.
struct Reader<'t> {
    lines: Peekable<IntoIter<Line<'t>>>,
    /// The line that was taken last.
    number: usize,
    /// Lines of servers.
    servers: Vec<usize>,
    /// Lines of the slots' owners.
    slots: Vec<usize>,
    /// Lines of moves, each with those of its arcs.
    moves: Vec<(usize, Vec<usize>)>,
}

fn saying((index, text): (usize, &str)) -> Option<Line<'_>> {
    let says = !text.is_empty() && !text.starts_with('#');
    says.then(|| Line {
        number: index + 1,
        words: text.split(' '),
    })
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let lines: Vec<Line<'t>> = text.split('\n').enumerate().filter_map(saying).collect();
        Self {
            lines: lines.into_iter().peekable(),
            number: 1,
            servers: Vec::new(),
            slots: Vec::new(),
            moves: Vec::new(),
        }
    }

    /// Where the text said what is wrong.
    fn line_of(&self, place: Place) -> usize {
        let line = match place {
            Place::Server(index) => self.servers.get(index).copied(),
            Place::Slot(slot) => self.slots.get(slot).copied(),
            Place::Move(index) => self.moves.get(index).map(|(line, _)| *line),
            Place::Arc { of_move, arc } => {
                let of_move = self.moves.get(of_move);
                of_move.and_then(|(_, arcs)| arcs.get(arc).copied())
            }
        };
        line.unwrap_or(self.number)
    }

    /// The next line, if it begins with this word, which is taken from it.
    fn take(&mut self, keyword: &str) -> Option<Line<'t>> {
        let mut line = self.lines.next_if(|line| line.keyword() == keyword)?;
        line.words.next();
        self.number = line.number;
        Some(line)
    }

    /// As [`take`](Self::take), of a line that must be there.
    fn require(&mut self, keyword: &str) -> Read<Line<'t>> {
        let wanted = format!("{keyword:?} is expected here");
        match self.take(keyword) {
            Some(line) => Ok(line),
            None => self.refuse(wanted),
        }
    }

    /// Refuses the next line, or the text's end.
    fn refuse<T>(&mut self, reason: String) -> Read<T> {
        let line = self.lines.peek().map_or(self.number, |line| line.number);
        Err(InvalidText { line, reason })
    }

    fn content(&mut self) -> Read<MapContent> {
        self.version()?;
        let mut line = self.require("cluster")?;
        let name = line.word("the cluster's name")?;
        let cluster = line.parse(name, "the name of a cluster")?;
        line.end()?;
        let mut line = self.require("epoch")?;
        let number = line.word("the epoch")?;
        let epoch = Epoch(line.parse(number, "an epoch")?);
        line.end()?;
        let mut line = self.require("placement")?;
        let rule = line.word("the placement")?.to_owned();
        line.end()?;
        let servers = self.servers()?;
        let rule = match rule.as_str() {
            "ketama" => Rule::Ketama,
            "client" => Rule::Client,
            "slots" => Rule::Slots(self.slots()?),
            _ => return line.fail(format!("{rule:?} is none of ketama, slots, client")),
        };
        let moves = self.moves()?;
        self.end()?;
        Ok(MapContent {
            cluster,
            epoch,
            rule,
            servers,
            moves,
        })
    }

    /// The last line, without which the text has been cut off.
    fn end(&mut self) -> Read<()> {
        if let Some(mut line) = self.take(END_LINE) {
            line.end()?;
            return match self.lines.peek().map(Line::keyword) {
                None => Ok(()),
                Some(word) => self.refuse(format!("{word:?} follows the end")),
            };
        }
        match self.lines.peek().map(Line::keyword) {
            None => self.refuse(format!("the text is cut off: {END_LINE:?} is missing")),
            Some(word) => self.refuse(format!("{word:?} is unknown, or out of place")),
        }
    }

    fn version(&mut self) -> Read<()> {
        let is_version = |line: &Line<'_>| line.words.clone().eq(VERSION_LINE.split(' '));
        match self
            .lines
            .next_if(|line| line.number == 1 && is_version(line))
        {
            Some(_) => Ok(()),
            None => Err(InvalidText {
                line: 1,
                reason: format!("the first line is not {VERSION_LINE:?}"),
            }),
        }
    }

    fn servers(&mut self) -> Read<Vec<Member>> {
        let mut servers = Vec::new();
        while let Some(mut line) = self.take("server") {
            self.servers.push(line.number);
            servers.push(member(&mut line)?);
        }
        Ok(servers)
    }

    fn slots(&mut self) -> Read<SlotTable> {
        let mut owned = vec![None; SLOTS];
        let mut before = None;
        while let Some(mut line) = self.take("slots") {
            let name = line.word("the owner of slots")?;
            let owner = line.server(name)?;
            if before >= Some(owner) {
                return line.fail("slots are out of order: their owners ascend");
            }
            before = Some(owner);
            let ranges = line.word("ranges of slots")?;
            line.end()?;
            own(&line, owner, ranges, &mut owned)?;
        }
        if let Some(slot) = owned.iter().position(Option::is_none) {
            return self.refuse(format!("slot {slot} has no owner"));
        }
        let (owners, lines) = owned.into_iter().flatten().unzip();
        self.slots = lines;
        match SlotTable::from_owners(owners) {
            Some(table) => Ok(table),
            None => self.refuse(format!("there are {SLOTS} slots")),
        }
    }

    fn moves(&mut self) -> Read<Vec<Move>> {
        let mut moves = Vec::new();
        while let Some(mut line) = self.take("move") {
            let number = line.number;
            let from = line.value("from")?;
            let from = line.server(from)?;
            let to = line.value("to")?;
            let to = line.server(to)?;
            let phase = line.value("phase")?;
            let phase = line.choice(phase, &Phase::ALL)?;
            line.end()?;
            let (mut arcs, mut lines) = (Vec::new(), Vec::new());
            while let Some(mut line) = self.take("arc") {
                lines.push(line.number);
                arcs.push(arc(&mut line)?);
            }
            self.moves.push((number, lines));
            moves.push(Move {
                from,
                to,
                phase,
                arcs,
            });
        }
        Ok(moves)
    }
}

fn member(line: &mut Line<'_>) -> Read<Member> {
    let id = line.word("the server's name")?;
    let id = line.server(id)?;
    let incarnation = line.value("incarnation")?;
    let incarnation = Incarnation(line.parse(incarnation, "an incarnation")?);
    let weight = line.value("weight")?;
    let weight = line.parse(weight, "a weight")?;
    let zone = match line.value("zone")? {
        NO_ZONE => None,
        zone => Some(line.parse(zone, "the name of a zone")?),
    };
    let state = line.value("state")?;
    let state = line.choice(state, &MemberState::ALL)?;
    let addresses: Read<Vec<Address>> = line
        .value("addresses")?
        .split(',')
        .map(|address| {
            line.parse(
                address,
                "host:port, [IPv6]:port or the path of a unix socket",
            )
        })
        .collect();
    let addresses = addresses?;
    line.end()?;
    Ok(Member {
        id,
        incarnation,
        weight,
        zone,
        state,
        addresses,
    })
}

/// Gives a server its slots, and notes the line that says so: ranges in ascending order, none of
/// which touches the next.
fn own<'t>(
    line: &Line<'t>,
    owner: ServerId,
    ranges: &'t str,
    owned: &mut [Option<(ServerId, usize)>],
) -> Read<()> {
    let mut free_from = 0;
    for range in ranges.split(',') {
        let (first, last) = line.ends(range)?;
        let first: usize = line.parse(first, "a slot")?;
        let last: usize = line.parse(last, "a slot")?;
        if first > last || last >= SLOTS {
            return line.fail(format!(
                "{range:?} is no range of the slots 0-{}",
                SLOTS - 1
            ));
        }
        if first < free_from {
            return line.fail(format!(
                "{range:?} is out of order, or belongs to the one before"
            ));
        }
        free_from = last + 2;
        for (slot, owned) in (first..).zip(&mut owned[first..=last]) {
            if let Some((other, _)) = owned.replace((owner, line.number)) {
                return line.fail(format!("slot {slot} is that of server {other} already"));
            }
        }
    }
    Ok(())
}

fn arc(line: &mut Line<'_>) -> Read<HashArc> {
    let text = line.word("the arc's hashes")?;
    line.end()?;
    let (first, last) = line.ends(text)?;
    let hash = |text: &str| match u32::from_str_radix(text, 16) {
        Ok(hash) if format!("{hash:08x}") == text => Ok(hash),
        _ => line.fail(format!(
            "{text:?} is not a hash of eight digits, 0-9 and a-f"
        )),
    };
    Ok(HashArc {
        first: hash(first)?,
        last: hash(last)?,
    })
}
