//! What a check tells.

use std::fmt;

/// Findings that are listed; of others only the number is told.
const LISTED_MAX: usize = 1000;

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CheckKind {
    /// A copy of a superblock is not whole.
    Superblock,
    /// A part of a device cannot be read.
    Unreadable,
    /// A copy of a segment's header is not whole.
    Header,
    /// Two segments have the same number.
    Number,
    /// A segment's item table is damaged: its items are lost.
    Table,
    /// What a segment tells of tombstones is damaged in one of its places.
    Tombstones,
    /// A record is damaged, or is not the one that the item table says: its item is lost.
    Record,
    /// A segment is lost: of tombstones that it told only the echoes in the next one are left.
    Echoed,
    /// A segment behind the end of the log, as a crash leaves it: the next start drops it.
    Torn,
    /// A copy of a superblock is older than the other, as a crash leaves it.
    Outdated,
    /// A device that fell behind the others: the store does not use it.
    Behind,
}

impl CheckKind {
    /// Whether something is damaged; else it is what a crash leaves, and the next start puts it in
    /// order.
    pub fn is_damage(self) -> bool {
        !matches!(
            self,
            CheckKind::Torn | CheckKind::Outdated | CheckKind::Behind
        )
    }

    /// A word for programs.
    pub fn name(self) -> &'static str {
        match self {
            CheckKind::Superblock => "superblock",
            CheckKind::Unreadable => "unreadable",
            CheckKind::Header => "header",
            CheckKind::Number => "number",
            CheckKind::Table => "table",
            CheckKind::Tombstones => "tombstones",
            CheckKind::Record => "record",
            CheckKind::Echoed => "echoed",
            CheckKind::Torn => "torn",
            CheckKind::Outdated => "outdated",
            CheckKind::Behind => "behind",
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFinding {
    /// What kind it is of.
    pub kind: CheckKind,
    /// Name of the device; empty where it is about the store.
    pub device: String,
    /// Where on the device, in bytes.
    pub offset: u64,
    /// In words.
    pub detail: String,
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = if self.kind.is_damage() {
            "damaged"
        } else {
            "note"
        };
        if self.device.is_empty() {
            return write!(formatter, "{weight}: {}", self.detail);
        }
        let (device, offset) = (&self.device, self.offset);
        write!(
            formatter,
            "{weight}: {device}, byte {offset}: {}",
            self.detail
        )
    }
}

/// What was found on the devices of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Size of a segment, in bytes.
    pub segment_bytes: u64,
    /// Slots on all devices, without the superblocks' own.
    pub slots: u64,
    /// Segments that count.
    pub segments: u64,
    /// Segments that count, in which nothing is alive and whose slots may be used again.
    pub segments_dead: u64,
    /// Segments that the next start drops.
    pub segments_torn: u64,
    /// Items that the next start finds.
    pub items: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// Tombstones told, each as often as it is told.
    pub tombstones: u64,
    /// Copies that were superseded, while only a dead segment tells of it, or the newer copy: the
    /// next start tells of them.
    pub tombstones_untold: u64,
    /// Whether the log was ended orderly: nothing was to be written any more.
    pub was_stopped: bool,
    /// What is not as it should be.
    pub findings: Vec<CheckFinding>,
    /// Findings that there was no room for in the list.
    pub findings_more: u64,
    /// Of all findings, how many are damage.
    pub damages: u64,
}

impl CheckReport {
    /// Whether something is damaged.
    pub fn is_damaged(&self) -> bool {
        self.damages > 0
    }

    pub(super) fn add(&mut self, kind: CheckKind, device: &str, offset: u64, detail: String) {
        self.damages += u64::from(kind.is_damage());
        if self.findings.len() == LISTED_MAX {
            self.findings_more += 1;
            return;
        }
        self.findings.push(CheckFinding {
            kind,
            device: device.to_owned(),
            offset,
            detail,
        });
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(formatter, "{finding}")?;
        }
        if self.findings_more > 0 {
            writeln!(formatter, "and {} more", self.findings_more)?;
        }
        let stop = match self.was_stopped {
            true => "an orderly stop",
            false => "a crash",
        };
        writeln!(
            formatter,
            "{} segments of {} bytes in {} slots, as after {stop}: {} of them dead, {} torn",
            self.segments, self.segment_bytes, self.slots, self.segments_dead, self.segments_torn
        )?;
        writeln!(
            formatter,
            "{} items of {} bytes; {} tombstones told, {} yet to be told",
            self.items, self.bytes, self.tombstones, self.tombstones_untold
        )?;
        match self.damages {
            0 => write!(formatter, "clean"),
            damages => write!(formatter, "damaged in {damages} places"),
        }
    }
}
