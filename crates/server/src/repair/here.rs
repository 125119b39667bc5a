//! What this server has itself, beside what lists name.

use crate::parts::owned::Widest;
use crate::shared::Shared;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_redundancy::Version;
use farcache_redundancy::plan::repair::{Entry, Event, HeldPart, OwnItems, PartInfo};
use farcache_redundancy::stored::{Header, Piece};
use farcache_store::{Access, Listed, ScanCursor, StoreHandle, Suspended};
use std::io;
use std::sync::Arc;

/// Items of this server that are looked at at a time.
const PAGE_ITEMS: usize = 128;

/// A part as lists tell of it: the numbers of its piece, how many owners its key has, and the
/// length of the value.
pub type Told = ([u8; 3], u8, u32);

/// A part that this server has.
type Own = (Box<[u8]>, HeldPart, Told);

/// This server, and how far its own items have been gone through.
pub struct Here<'a> {
    shared: &'a Shared,
    map: Arc<ClusterMap>,
    me: ServerId,
    is_catching_up: bool,
    widest: Widest,
    cursor: ScanCursor,
}

impl<'a> Here<'a> {
    /// The server with this name in the map; nothing has been looked at.
    pub fn new(
        shared: &'a Shared,
        (map, me): (Arc<ClusterMap>, ServerId),
        is_catching_up: bool,
    ) -> Here<'a> {
        Here {
            shared,
            map,
            me,
            is_catching_up,
            widest: Widest::default(),
            cursor: ScanCursor::default(),
        }
    }

    /// Whether it caught up when the pass began.
    pub fn is_catching_up(&self) -> bool {
        self.is_catching_up
    }

    /// Its name.
    pub fn id(&self) -> ServerId {
        self.me
    }

    /// What a list has named, if this server is an owner of it.
    ///
    /// # Errors
    /// This server's devices cannot be read at all.
    pub fn entry(
        &mut self,
        handle: &StoreHandle,
        (key, version, part): (&[u8], Version, Option<Told>),
        own: Option<HeldPart>,
    ) -> io::Result<Option<Entry>> {
        let owners = part.map_or(self.widest.get(), |(_, owners, _)| owners.into());
        self.widest.note(owners);
        let located = self.map.locate(key, owners);
        let me = located.iter().position(|owner| *owner == self.me);
        // With fewer owners than parts nobody could say which part is whose.
        let Some(me) = me.filter(|_| part.is_none() || located.len() == owners) else {
            return Ok(None);
        };
        let (held, piece) = match own {
            Some(own) => (Some(own.version), own.part.map(|part| part.piece)),
            None => handle.run_blocking(|handle| held_here(handle, key))?,
        };
        Ok(Some(Entry {
            key: key.into(),
            version,
            listed: part.and_then(|(numbers, ..)| Piece::from_numbers(numbers)),
            value_bytes: part.map_or(0, |(_, _, bytes)| bytes),
            owners: located.iter().copied().collect(),
            me,
            held,
            piece,
            is_unconfirmed: own.is_some(),
            was_owner: self.was_owner(key, owners),
        }))
    }

    /// A key with what this server has of it now.
    ///
    /// # Errors
    /// This server's devices cannot be read at all.
    pub fn looked_up(&self, handle: &StoreHandle, entry: Entry) -> io::Result<Entry> {
        let (held, piece) = handle.run_blocking(|handle| held_here(handle, &entry.key))?;
        Ok(Entry {
            held,
            piece,
            is_unconfirmed: entry.is_unconfirmed && held == entry.held,
            ..entry
        })
    }

    /// A page of what this server has itself.
    ///
    /// # Errors
    /// This server's devices cannot be read at all.
    pub fn list(
        &mut self,
        handle: &mut StoreHandle,
        items: OwnItems,
        ended: Version,
    ) -> io::Result<Event> {
        let (mut listed, mut cursor) = (Vec::new(), self.cursor);
        let is_settled = |version| items == OwnItems::AllSettled && version <= ended;
        let goes_on = handle.run_blocking(|handle| {
            listed.clear();
            handle.scan_versions(&mut cursor, PAGE_ITEMS, &mut |item| {
                if is_settled(item.version) {
                    listed.extend(own_part(item));
                } else if handle.is_unconfirmed(item.version) {
                    listed.extend(own_part(item).filter(|own| !self.has_owned(own)));
                }
            })
        })?;
        handle.quiescent();
        self.cursor = cursor;
        let mut entries = Vec::with_capacity(listed.len());
        for (key, held, part) in listed {
            entries.extend(self.entry(handle, (&key, held.version, Some(part)), Some(held))?);
        }
        Ok(Event::Own(entries, !goes_on))
    }

    /// Whether this server was an owner of a key all along, though it catches up.
    fn was_owner(&self, key: &[u8], owners: usize) -> bool {
        let earlier = self.shared.earlier().filter(|_| self.is_catching_up);
        earlier.is_some_and(|it| it.has_owned(key, owners, None))
    }

    /// Whether a part counts although it is from before: this server was an owner of its key.
    fn has_owned(&self, (key, held, (_, owners, _)): &Own) -> bool {
        let earlier = self.shared.earlier();
        earlier.is_some_and(|it| it.has_owned(key, (*owners).into(), Some(held.version)))
    }
}

/// The version that this server has of a key, and which part of it where that is a value.
fn held_here(
    handle: &StoreHandle,
    key: &[u8],
) -> Result<(Option<Version>, Option<Piece>), Suspended> {
    if let Some(item) = handle.get(key, Access::Peek)?
        && let Some(version) = item.version()
    {
        let header = Header::decode(item.value()).ok();
        return Ok((Some(version), header.map(|header| header.piece)));
    }
    Ok((handle.held_version(key)?, None))
}

fn own_part(item: &Listed<'_>) -> Option<Own> {
    let header = Header::decode(item.value?).ok()?;
    let (version, owners) = (item.version, header.owners() as u8);
    let part = PartInfo {
        piece: header.piece,
        owners,
        value_bytes: header.value_bytes,
    };
    let held = HeldPart {
        version,
        part: Some(part),
    };
    let numbers = (header.piece.numbers(), owners, header.value_bytes);
    Some((item.key.into(), held, numbers))
}
