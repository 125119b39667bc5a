//! Which store the devices belong to, and which of them belong to it still.

use super::content::{Content, Ours};
use super::refusal::{TierRefusal, Unusable};
use crate::format::Superblock;

/// A device that was given.
pub(super) struct Given {
    pub name: String,
    pub content: Content,
    pub may_format: bool,
}

impl Given {
    fn refusal(&self, why: Unusable) -> TierRefusal {
        TierRefusal::Device {
            device: self.name.clone(),
            why,
        }
    }
}

/// What becomes of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It belongs to the store.
    Member,
    /// It joins the store; what lies on it is of no use.
    New(Option<Unusable>),
    /// It fell behind, and is left as it is.
    Aside,
}

/// The store of the devices given, if they hold one.
#[derive(Debug)]
pub(super) struct Membership<'g> {
    /// The superblock that counts.
    pub newest: Option<&'g Superblock>,
    /// By device.
    pub roles: Vec<Role>,
}

/// Decides what becomes of the devices. The table of members with the highest epoch counts.
pub(super) fn membership(given: &[Given]) -> Result<Membership<'_>, TierRefusal> {
    let store = store_of(given)?;
    let is_of_store = |superblock: &Superblock| Some(superblock.store_id) == store;
    let full: Vec<Option<&Superblock>> = given
        .iter()
        .map(|one| one.content.full().map(|ours| &ours.superblock))
        .map(|superblock| superblock.filter(|one| is_of_store(one)))
        .collect();
    let (newest, contradicts) = newest_of(given, &full)?;
    let role = |number: usize| {
        let one = &given[number];
        let role = match &one.content {
            Content::Blank => Role::New(None),
            Content::Other(why) => Role::New(Some(why.clone())),
            Content::Ours(_) if contradicts[number] => Role::New(Some(Unusable::Diverged)),
            Content::Ours(ours) => role_of(ours, newest, is_of_store(&ours.superblock)),
        };
        match role {
            Role::New(Some(Unusable::FellBehind)) if !one.may_format => Ok(Role::Aside),
            Role::New(Some(why)) if !one.may_format => Err(one.refusal(why)),
            role => Ok(role),
        }
    };
    let roles = (0..given.len()).map(role).collect::<Result<Vec<_>, _>>()?;
    if let Some(number) = only_aside(&roles) {
        return Err(given[number].refusal(Unusable::FellBehind));
    }
    Ok(Membership { newest, roles })
}

fn role_of(ours: &Ours, newest: Option<&Superblock>, is_of_store: bool) -> Role {
    let superblock = &ours.superblock;
    let is_member =
        is_of_store && newest.is_some_and(|newest| newest.members.has(superblock.device_id));
    match (is_member, superblock.is_joining(), is_of_store) {
        (true, _, _) => Role::Member,
        // It has never held anything.
        (false, true, _) => Role::New(None),
        (false, false, true) => Role::New(Some(Unusable::FellBehind)),
        (false, false, false) => Role::New(Some(Unusable::OtherStore)),
    }
}

/// A device left aside, if there is no other.
fn only_aside(roles: &[Role]) -> Option<usize> {
    let are_all = roles.iter().all(|role| *role == Role::Aside);
    (are_all && !roles.is_empty()).then_some(0)
}

/// The store that the devices belong to which may not be formatted; where that leaves none, those
/// that may be.
fn store_of(given: &[Given]) -> Result<Option<[u8; 16]>, TierRefusal> {
    for may_format in [false, true] {
        let of_kind = given.iter().filter(|one| one.may_format == may_format);
        let mut stores = of_kind.filter_map(|one| Some((one, one.content.full()?)));
        let Some((_, first)) = stores.next() else {
            continue;
        };
        let store_id = first.superblock.store_id;
        return match stores.find(|(_, ours)| ours.superblock.store_id != store_id) {
            Some((other, _)) => Err(other.refusal(Unusable::OtherStore)),
            None => Ok(Some(store_id)),
        };
    }
    Ok(None)
}

/// The superblock whose table counts, and the devices that contradict it, all of which may be
/// formatted.
fn newest_of<'g>(
    given: &[Given],
    full: &[Option<&'g Superblock>],
) -> Result<(Option<&'g Superblock>, Vec<bool>), TierRefusal> {
    let mut contradicts = vec![false; given.len()];
    loop {
        let counting = || {
            let numbered = full.iter().enumerate();
            let numbered = numbered.filter_map(|(number, one)| Some((number, (*one)?)));
            numbered.filter(|(number, _)| !contradicts[*number])
        };
        let Some((number, newest)) = counting().max_by_key(|(_, one)| one.epoch) else {
            return Ok((None, contradicts));
        };
        let diverged = counting().find(|(_, other)| have_diverged(newest, other));
        let dismissed = match diverged {
            None => return Ok((Some(newest), contradicts)),
            Some((other, _)) if given[other].may_format => other,
            Some(_) if given[number].may_format => number,
            Some((other, _)) => return Err(given[other].refusal(Unusable::Diverged)),
        };
        contradicts[dismissed] = true;
    }
}

/// Whether a device that is no member went on by itself after the others had gone on without it.
fn have_diverged(newest: &Superblock, other: &Superblock) -> bool {
    let is_same = other.epoch == newest.epoch && other.members == newest.members;
    if is_same || newest.members.has(other.device_id) {
        return false;
    }
    match newest.members.left(other.device_id) {
        Some(epoch) => other.epoch >= epoch,
        None => other.members.left(newest.device_id).is_some(),
    }
}

#[cfg(test)]
mod tests;
