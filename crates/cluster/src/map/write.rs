//! A map as text: the one text of that map.

use super::ClusterMap;
use super::content::{Member, MemberState, Move, Phase, Rule};
use super::slots::SlotTable;
use crate::ServerId;
use std::collections::BTreeMap;
use std::fmt;

/// What every text begins with: the format's name and version.
pub(super) const VERSION_LINE: &str = "farcache-cluster-map 1";
/// What every text ends with, so that one that was cut off is no map.
pub(super) const END_LINE: &str = "end";
/// What stands for a server without a zone.
pub(super) const NO_ZONE: &str = "-";

/// The word that stands for a value in a table of all of them.
fn word<T: PartialEq>(value: T, words: &[(T, &'static str)]) -> &'static str {
    let found = words.iter().find(|(known, _)| *known == value);
    found.map_or("", |(_, word)| word)
}

impl fmt::Display for ClusterMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = self.content();
        writeln!(formatter, "{VERSION_LINE}")?;
        writeln!(formatter, "cluster {}", content.cluster)?;
        writeln!(formatter, "epoch {}", content.epoch.0)?;
        writeln!(formatter, "placement {}", content.rule.word())?;
        for server in &content.servers {
            write_server(server, formatter)?;
        }
        if let Rule::Slots(table) = &content.rule {
            write_slots(table, formatter)?;
        }
        for moved in &content.moves {
            write_move(moved, formatter)?;
        }
        writeln!(formatter, "{END_LINE}")
    }
}

impl Rule {
    /// The word that stands for the rule in a map's text.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Ketama => "ketama",
            Self::Slots(_) => "slots",
            Self::Client => "client",
        }
    }
}

fn write_server(server: &Member, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Member { id, weight, .. } = server;
    let zone = server.zone.as_ref().map_or(NO_ZONE, |zone| zone.as_str());
    let state = word(server.state, &MemberState::ALL);
    let incarnation = server.incarnation.0;
    write!(
        formatter,
        "server {id} incarnation={incarnation} weight={weight} zone={zone} state={state} addresses="
    )?;
    for (index, address) in server.addresses.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        write!(formatter, "{separator}{address}")?;
    }
    writeln!(formatter)
}

/// A line for each server, with the slots that it owns.
fn write_slots(table: &SlotTable, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut of_servers = BTreeMap::<ServerId, String>::new();
    let mut first = 0;
    for run in table.owners().chunk_by(PartialEq::eq) {
        let last = first + run.len() - 1;
        let line = of_servers.entry(run[0]).or_default();
        let separator = if line.is_empty() { "" } else { "," };
        line.push_str(&format!("{separator}{first}-{last}"));
        first = last + 1;
    }
    for (server, slots) in of_servers {
        writeln!(formatter, "slots {server} {slots}")?;
    }
    Ok(())
}

fn write_move(moved: &Move, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Move { from, to, .. } = moved;
    let phase = word(moved.phase, &Phase::ALL);
    writeln!(formatter, "move from={from} to={to} phase={phase}")?;
    for arc in &moved.arcs {
        writeln!(formatter, "arc {:08x}-{:08x}", arc.first, arc.last)?;
    }
    Ok(())
}
