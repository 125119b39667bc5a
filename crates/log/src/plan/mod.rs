//! What opening a store over some devices is going to do, found out without writing anything.

mod content;
mod members;
mod refusal;

pub use refusal::{TierRefusal, Unusable};

use super::options::{TierConfig, TierEvent, TierEventKind};
use super::superblocks::{Own, Superblocks};
use crate::format::{DeviceId, Members, random_id};
use crate::format::{MEMBERS_MAX, Superblock};
use content::Content;
use members::{Given, Membership, Role, membership};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// The smallest device, in segments.
const SEGMENTS_MIN: u64 = 16;

/// How a device is to be used.
#[derive(Clone, Debug)]
pub(crate) enum Seat {
    /// It holds segments of the store.
    Member {
        /// Where segments lie, at most: its size when it was used last.
        bytes_before: u64,
        /// Its superblock says all that it is to say, twice.
        is_current: bool,
    },
    /// It has nothing.
    New {
        /// There may be something on it whose traces must not be taken for what it is.
        is_wiped: bool,
    },
}

/// What opening a store over some devices is going to do.
pub struct TierPlan {
    /// Without the devices that are left aside.
    pub(crate) config: TierConfig,
    /// What the superblocks are to say.
    pub(crate) superblock: Superblock,
    /// By device in use.
    pub(crate) seats: Vec<Seat>,
    own: Vec<Own>,
    /// The devices in use, by their number among those that were given.
    numbers: Vec<usize>,
    /// Devices join or leave.
    is_changed: bool,
    events: Vec<TierEvent>,
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl TierPlan {
    /// Looks at the devices.
    ///
    /// # Errors
    /// The devices', and `InvalidInput`, with a [`TierRefusal`] where permission is missing to do
    /// what would have to be done.
    pub fn make(config: TierConfig) -> io::Result<TierPlan> {
        if config.devices.is_empty() {
            return Err(invalid("a tier needs a device".into()));
        }
        let devices = config.devices.iter().enumerate();
        let given = devices.map(|(number, device)| {
            Ok(Given {
                name: device.name(),
                content: Content::of(device.as_ref())?,
                may_format: config.may_format.contains(&number),
            })
        });
        let given = given.collect::<io::Result<Vec<_>>>()?;
        check_no_copies(&given)?;
        let Membership { newest, roles } = membership(&given)?;
        let superblock = newest.cloned().unwrap_or_else(|| blank(&config));
        let mut plan = TierPlan {
            superblock,
            seats: Vec::new(),
            own: Vec::new(),
            numbers: Vec::new(),
            is_changed: false,
            events: Vec::new(),
            config: config.clone(),
        };
        plan.take_leave_of_missing(&given, &config)?;
        for ((number, one), role) in given.iter().enumerate().zip(roles) {
            plan.seat(number, one, role, &config)?;
        }
        plan.settle(&config)?;
        Ok(plan)
    }

    /// What the owner of the store should log before it opens the store: devices that are going to
    /// be formatted, are left aside, or are missing.
    pub fn events(&self) -> &[TierEvent] {
        &self.events
    }

    /// What the store's index is seeded with: the hashes on the devices are made with it.
    pub fn index_seed(&self) -> u64 {
        self.superblock.index_seed
    }

    /// Devices that were given and are not used.
    pub(crate) fn devices_aside(&self) -> usize {
        let is_aside = |event: &&TierEvent| event.kind == TierEventKind::LeftAside;
        self.events.iter().filter(is_aside).count()
    }

    /// The superblocks as they are to be.
    pub(crate) fn superblocks(&self) -> Superblocks {
        Superblocks::new(self.superblock.clone(), self.own.clone())
    }

    /// Whether devices join or leave the store.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_changed
    }

    fn tell(&mut self, kind: TierEventKind, device: &str, detail: impl ToString) {
        self.events.push(TierEvent {
            kind,
            device: device.to_owned(),
            detail: detail.to_string(),
        });
    }

    /// The epoch that begins where devices join or leave.
    fn next_epoch(&mut self) -> u64 {
        if !self.is_changed {
            self.is_changed = true;
            self.superblock.epoch += 1;
        }
        self.superblock.epoch
    }

    /// Members that were not given leave the store, if they may.
    fn take_leave_of_missing(&mut self, given: &[Given], config: &TierConfig) -> io::Result<()> {
        let present: HashSet<DeviceId> = given
            .iter()
            .filter_map(|one| one.content.ours())
            .filter(|ours| ours.superblock.store_id == self.superblock.store_id)
            .map(|ours| ours.superblock.device_id)
            .collect();
        let members: Vec<DeviceId> = self.superblock.members.present().collect();
        let missing: Vec<_> = members.iter().filter(|id| !present.contains(*id)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let refusal = TierRefusal::Missing {
            missing: missing.len(),
            of: members.len(),
        };
        if !config.allow_missing {
            return Err(refusal.into());
        }
        let epoch = self.next_epoch();
        for id in missing {
            self.superblock.members.leave(*id, epoch);
        }
        self.tell(TierEventKind::Missing, "", refusal);
        Ok(())
    }

    fn seat(
        &mut self,
        number: usize,
        one: &Given,
        role: Role,
        config: &TierConfig,
    ) -> io::Result<()> {
        match role {
            Role::Aside => {
                self.tell(TierEventKind::LeftAside, &one.name, Unusable::FellBehind);
                return Ok(());
            }
            Role::Member => self.seat_member(number, one, config)?,
            Role::New(why) => self.seat_new(one, why),
        }
        self.numbers.push(number);
        Ok(())
    }

    fn seat_member(&mut self, number: usize, one: &Given, config: &TierConfig) -> io::Result<()> {
        let ours = one.content.ours().expect("a member has a superblock");
        let bytes = config.devices[number].bytes();
        let bytes_before = ours.superblock.device_bytes;
        if bytes < bytes_before {
            let refusal = TierRefusal::Shrunk {
                device: one.name.clone(),
                bytes,
                bytes_before,
            };
            if !config.allow_missing {
                return Err(refusal.into());
            }
            self.tell(TierEventKind::Missing, &one.name, refusal);
        }
        let common = &mut self.superblock;
        common.flush_floor = common.flush_floor.max(ours.superblock.flush_floor);
        common.watermark = common.watermark.max(ours.superblock.watermark);
        let is_same = ours.superblock.members == common.members && bytes == bytes_before;
        self.own.push(Own {
            device_id: ours.superblock.device_id,
            first_copy: 1 - ours.copy,
        });
        self.seats.push(Seat::Member {
            bytes_before: bytes_before.min(bytes),
            is_current: is_same && ours.is_whole && !ours.superblock.is_joining(),
        });
        Ok(())
    }

    fn seat_new(&mut self, one: &Given, why: Option<Unusable>) {
        self.next_epoch();
        if let Some(ours) = one.content.ours() {
            self.superblock.members.forget(ours.superblock.device_id);
        }
        let device_id = random_id();
        self.superblock.members.join(device_id);
        self.own.push(Own {
            device_id,
            first_copy: 0,
        });
        self.seats.push(Seat::New {
            is_wiped: why.is_some(),
        });
        match why {
            Some(why) => self.tell(TierEventKind::Overwritten, &one.name, why),
            None => self.tell(TierEventKind::Formatted, &one.name, "it was blank"),
        }
    }

    /// Keeps what is in use, which must fit together.
    fn settle(&mut self, config: &TierConfig) -> io::Result<()> {
        let used = self.numbers.iter();
        self.config.devices = used.map(|&one| config.devices[one].clone()).collect();
        self.config.may_format.clear();
        if self.superblock.members.all().len() > MEMBERS_MAX {
            return Err(invalid(format!(
                "at most {MEMBERS_MAX} devices can be used"
            )));
        }
        check_sizes(&self.config, self.superblock.segment_bytes)
    }
}

/// Refuses a device that is given by two names, and a copy of one.
fn check_no_copies(given: &[Given]) -> io::Result<()> {
    let mut seen = Vec::new();
    for one in given {
        let Some(ours) = one.content.ours() else {
            continue;
        };
        let id = ours.superblock.device_id;
        if let Some((_, other)) = seen.iter().find(|(seen, _)| *seen == id) {
            let message = format!("{other} and {} hold the same: one is a copy", one.name);
            return Err(invalid(message));
        }
        seen.push((id, &one.name));
    }
    Ok(())
}

fn check_sizes(config: &TierConfig, segment_bytes: u32) -> io::Result<()> {
    let is_possible =
        segment_bytes.is_power_of_two() && (64 << 10..=4 << 20).contains(&segment_bytes);
    if !is_possible {
        return Err(invalid(format!(
            "segments of {segment_bytes} bytes cannot be"
        )));
    }
    for device in &config.devices {
        if device.bytes() < SEGMENTS_MIN * u64::from(segment_bytes) {
            let name = device.name();
            return Err(invalid(format!(
                "{name} must have room for {SEGMENTS_MIN} segments of {segment_bytes} bytes"
            )));
        }
    }
    Ok(())
}

fn blank(config: &TierConfig) -> Superblock {
    let random = |what: &str| RandomState::new().hash_one(what);
    Superblock {
        segment_bytes: config.segment_bytes,
        store_id: random_id(),
        index_seed: random("index"),
        fingerprint_seed: random("fingerprint"),
        epoch: 0,
        device_bytes: 0,
        flush_floor: 0,
        watermark: 0,
        device_id: [0; 16],
        members: Members::default(),
    }
}
