//! Which devices belong to a store, and which did.

use super::MEMBERS_MAX;
use std::hash::{BuildHasher, RandomState};

/// Names a device for as long as it belongs to a store; formatted again it gets another one. All
/// segments on it bear it.
pub(crate) type DeviceId = [u8; 16];

/// 16 bytes that are nobody else's.
pub(crate) fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    for half in id.as_chunks_mut().0 {
        *half = RandomState::new().hash_one("id").to_le_bytes();
    }
    id
}

/// A device that belongs or belonged to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub device_id: DeviceId,
    /// The epoch at which it left; 0 while it belongs to the store.
    pub left: u64,
}

/// The devices of a store, and those that have left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members(Vec<Member>);

impl FromIterator<Member> for Members {
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Members {
        Members(members.into_iter().collect())
    }
}

impl Members {
    /// All devices, also the ones that have left.
    pub fn all(&self) -> &[Member] {
        &self.0
    }

    /// The devices that belong to the store.
    pub fn present(&self) -> impl Iterator<Item = DeviceId> + '_ {
        let present = self.0.iter().filter(|member| member.left == 0);
        present.map(|member| member.device_id)
    }

    /// Whether a device belongs to the store.
    pub fn has(&self, device_id: DeviceId) -> bool {
        self.present().any(|present| present == device_id)
    }

    /// The epoch at which a device left, as far as that is known.
    pub fn left(&self, device_id: DeviceId) -> Option<u64> {
        let is_it = |member: &&Member| member.device_id == device_id && member.left > 0;
        self.0.iter().find(is_it).map(|member| member.left)
    }

    /// A device joins. Where there is no room for all, the devices that left first are forgotten.
    pub fn join(&mut self, device_id: DeviceId) {
        self.0.push(Member { device_id, left: 0 });
        while self.0.len() > MEMBERS_MAX {
            let gone = (0..self.0.len()).filter(|&number| self.0[number].left > 0);
            let Some(first) = gone.min_by_key(|&number| self.0[number].left) else {
                return;
            };
            self.0.remove(first);
        }
    }

    /// A device leaves at this epoch; nothing for one that is not there.
    pub fn leave(&mut self, device_id: DeviceId, epoch: u64) {
        let is_it = |member: &&mut Member| member.device_id == device_id && member.left == 0;
        if let Some(member) = self.0.iter_mut().find(is_it) {
            member.left = epoch;
        }
    }

    /// What a device was does not matter any more: it has been formatted.
    pub fn forget(&mut self, device_id: DeviceId) {
        self.0.retain(|member| member.device_id != device_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_join_leave_and_are_remembered_as_long_as_there_is_room() {
        let id = |number: usize| [number as u8; 16];
        let mut members = Members::default();
        members.join(id(1));
        members.join(id(2));
        members.leave(id(1), 7);
        members.leave(id(1), 9);
        assert_eq!((members.has(id(1)), members.has(id(2))), (false, true));
        assert_eq!((members.left(id(1)), members.left(id(2))), (Some(7), None));
        for number in 3..MEMBERS_MAX + 1 {
            members.join(id(number));
        }
        assert_eq!(members.left(id(1)), Some(7));
        members.join(id(200));
        assert_eq!(members.left(id(1)), None);
        assert_eq!(members.all().len(), MEMBERS_MAX);
        assert!(members.has(id(2)) && members.has(id(200)));
        members.forget(id(2));
        assert!(!members.has(id(2)));
    }

    #[test]
    fn no_two_ids_are_alike() {
        assert_ne!(random_id(), random_id());
    }
}
