//! *Store if newer* and *delete if newer*: what a key has is the newest of what was ever stored
//! under it, whatever the order in which that arrives.

use super::terms::{Refusal, Standing, Terms};
use crate::core::{Before, Entry, PinnedValue, Predecessor};
use crate::handle::StoreHandle;
use crate::item::{Fields, RawItem, Stamp};
use crate::options::{Access, Forgotten, Newest, StoreError, TombstoneOptions, VersionedDelete};
use crate::segment::Written;
use crate::superseded::Write;
use crate::suspended::{Interrupt, Suspended};
use farcache_base::time::{NEVER, Seconds};
use farcache_base::version::{Keeping, Version};

/// A value of so many bytes at most is copied when it is put aside: it is not worth a segment.
const COPIED_WHEN_PUT_ASIDE: usize = 1 << 10;

/// How putting a written item that has a version under its key ended.
pub(super) enum VersionCommit {
    Stored {
        was_present: bool,
    },
    Refused(Refusal),
    /// The index is full.
    Full,
    /// A flush has voided the filling in which the item was written: it must be written anew.
    Void,
}

impl StoreHandle {
    /// Puts a tombstone in place of a key's item, if this version is newer than what the store has
    /// of the key. Where there is no room for a tombstone the horizon takes its part at once, and
    /// nothing is put aside: a full store must be able to give back room.
    ///
    /// # Errors
    /// [`Interrupt`]; nothing has changed then.
    pub fn delete_if_newer(
        &self,
        key: &[u8],
        version: Version,
        options: &TombstoneOptions,
    ) -> Result<VersionedDelete, Interrupt> {
        self.check_size(key, 0, 0)?;
        self.enter();
        let hash = self.core.hash(key);
        let fields = Fields {
            stamp: Some(Stamp::of_tombstone(version)),
            // A tombstone has an expiry, so that readers know it.
            expiry: match options.keep_until {
                NEVER => Seconds::MAX,
                keep_until => keep_until,
            },
            ..Fields::default()
        };
        let layout = fields.layout(key.len(), 0);
        let terms = Terms {
            is_promised: options.is_promised,
            keeping: options.keeping,
            ..Terms::default()
        };
        loop {
            let placed = match self.place_or_make_room(&layout, fields.expiry) {
                Err(Interrupt::Failed(StoreError::OutOfMemory)) if self.core.tier.is_none() => {
                    return Ok(self.delete_without_tombstone(hash, key, version, terms));
                }
                placed => placed?,
            };
            let written = self.write_checked(placed, layout, &fields, key, &[]);
            let commit = self.commit_version(hash, key, &written, terms);
            if !matches!(commit, Ok(VersionCommit::Stored { .. })) {
                self.give_back(written);
            }
            return Ok(match commit? {
                VersionCommit::Stored { was_present } => VersionedDelete::Deleted { was_present },
                VersionCommit::Refused(refusal) => refusal.into(),
                VersionCommit::Full => return Err(StoreError::OutOfMemory.into()),
                VersionCommit::Void => continue,
            });
        }
    }

    /// Deletes with the horizon in place of a tombstone; of a store without a device.
    fn delete_without_tombstone(
        &self,
        hash: u64,
        key: &[u8],
        version: Version,
        terms: Terms,
    ) -> VersionedDelete {
        let chain = self.core.index.lock(hash);
        let entry = self.entry(&chain, key);
        let entry = entry.filter(|entry| !self.is_flushed(entry, key));
        let item = entry.as_ref().and_then(|entry| entry.item);
        let stamp = item.and_then(|item| item.stamp());
        let known = stamp.map_or_else(|| self.core.versions.horizon(), |it| Some(it.version));
        if let Some(current) = known.filter(|known| *known >= version) {
            let write = Write::of_tombstone(Stamp::of_tombstone(version));
            return self.refused(hash, write, terms, current).into();
        }
        if let Some(current) = self.promise_against(hash, version, terms) {
            return VersionedDelete::Promised {
                current,
                has_newer: false,
            };
        }
        // Before the item goes: nobody may find neither.
        self.core.versions.forget(version.bits());
        let was_present = entry.as_ref().is_some_and(|entry| entry.is_visible);
        let unlinked = entry.as_ref().map(|entry| {
            self.note_superseded(hash, entry);
            self.unlink(&chain, entry)
        });
        drop(chain);
        if let Some(unlinked) = unlinked {
            self.note_unlinked(unlinked);
        }
        VersionedDelete::Deleted { was_present }
    }

    /// What the store has of a key that [`StoreHandle::get`] has just not found, or found without a
    /// version. Something that was stored in between is passed over, as if the get had come first.
    pub fn newest_hidden(&self, key: &[u8]) -> Newest {
        self.enter();
        let chain = self.core.index.lock(self.core.hash(key));
        let entry = self.entry(&chain, key);
        let entry = entry.filter(|entry| !self.is_flushed(entry, key));
        let stamp = entry.and_then(|entry| entry.item).and_then(|item| {
            let is_gone = item.is_expired(self.now()) || item.is_tombstone();
            item.stamp().filter(|_| is_gone)
        });
        match stamp {
            Some(stamp) if stamp.is_tombstone => Newest::Tombstone(stamp.version),
            // It has expired, and the horizon is about to be raised to it.
            Some(stamp) => {
                Newest::Forgotten(self.core.versions.told_horizon().max(Some(stamp.version)))
            }
            None => Newest::Forgotten(self.core.versions.told_horizon()),
        }
    }

    /// A version is complete: all servers that are to have it have stored it.
    #[inline]
    pub fn note_complete(&self, version: Version) {
        self.core.incomplete.note_complete(version);
        self.core.predecessors.note_complete(version);
    }

    /// Shows what a key had before this version took its place, where that was to be kept
    /// ([`crate::SetOptions::keeping`]) and still is: nothing where the version counts as complete,
    /// where everything has been flushed since, and where too many others are kept
    /// ([`StoreHandle::predecessors_forgotten`]).
    pub fn predecessor<R>(
        &self,
        key: &[u8],
        successor: Version,
        then: impl FnOnce(Predecessor<'_>) -> R,
    ) -> Option<R> {
        if !self.core.incomplete.has(successor) {
            self.core.predecessors.give_up(successor);
            return None;
        }
        let of = (self.core.hash(key), successor);
        self.core.predecessors.show(of, self.now(), then)
    }

    /// Up to which version the store may have had something that it shows neither as what a key has
    /// nor as what that has taken the place of.
    pub fn predecessors_forgotten(&self) -> Option<Version> {
        let told = self.core.versions.told_horizon();
        told.max(self.core.predecessors.dropped())
    }

    /// Whether a version was stored here of late, and [`StoreHandle::note_complete`] was not called
    /// since. Of very many such versions the oldest count as complete.
    #[inline]
    pub fn is_incomplete(&self, version: Version) -> bool {
        self.core.incomplete.has(version)
    }

    /// Whether the store may have missed what became of an item of this version: it catches up, and
    /// has not confirmed by others what it held before.
    #[inline]
    pub fn is_unconfirmed(&self, version: Version) -> bool {
        self.core.versions.is_unconfirmed(version)
    }

    /// What has been forgotten up to now, for [`crate::SetOptions::restored`].
    pub fn forgotten(&self) -> Forgotten {
        Forgotten(self.core.versions.forgotten())
    }

    /// What the store has of a key, whoever may see it: an item with a version, or a tombstone.
    ///
    /// # Errors
    /// [`Suspended`], where the item must be read from a device first.
    pub fn held_version(&self, key: &[u8]) -> Result<Option<Version>, Suspended> {
        let found = self.get(key, Access::Peek)?;
        if let Some(version) = found.and_then(|item| item.version()) {
            return Ok(Some(version));
        }
        Ok(match self.newest_hidden(key) {
            Newest::Tombstone(version) => Some(version),
            Newest::Forgotten(_) => None,
        })
    }

    /// Removes the item of a key if it has this version.
    ///
    /// # Errors
    /// [`Suspended`], where the item must be read from a device first.
    pub fn discard_version(&self, key: &[u8], version: Version) -> Result<bool, Suspended> {
        self.enter();
        let hash = self.core.hash(key);
        let chain = self.core.index.lock(hash);
        let Some(entry) = self.entry(&chain, key) else {
            return Ok(false);
        };
        let Some(item) = entry.item else {
            self.want(hash, entry.location)?;
            return Ok(false);
        };
        if item.stamp().map(|stamp| stamp.version) != Some(version) {
            return Ok(false);
        }
        let unlinked = self.unlink(&chain, &entry);
        drop(chain);
        self.note_unlinked(unlinked);
        Ok(true)
    }

    /// Promises to store nothing older than this version under the key from now on. What a get
    /// finds after it is what was there, or something newer than the version. Promises do not
    /// outlive the process, and other keys may share them.
    ///
    /// # Errors
    /// Something newer has been promised: that version.
    pub fn promise(&self, key: &[u8], version: Version) -> Result<(), Version> {
        self.enter();
        let hash = self.core.hash(key);
        let _chain = self.core.index.lock(hash);
        self.core.versions.promise(hash, version)
    }

    /// Puts a written item that has a version under its key, if nothing newer was there.
    pub(super) fn commit_version(
        &self,
        hash: u64,
        key: &[u8],
        written: &Written<'_>,
        terms: Terms,
    ) -> Result<VersionCommit, Suspended> {
        let item = written.item();
        let stamp = item.stamp().expect("the caller has written one");
        // Before the flush floor is looked at: see `Versions::forget_all` in a flush.
        self.core.versions.note(stamp.version, stamp.is_tombstone);
        let before = self.core.predecessors.before();
        let chain = self.core.index.lock(hash);
        if self.core.is_void(written.head(), item) {
            return Ok(VersionCommit::Void);
        }
        let entry = self.entry(&chain, key);
        let present = entry.as_ref().and_then(|entry| entry.item?.stamp());
        if let Some(present) = present {
            self.core.superseded.prefetch(hash, present.version);
        }
        let versions = &self.core.versions;
        let horizon = terms.horizon(versions.forgotten(), || versions.horizon());
        match self.standing(hash, (stamp, item), entry.as_ref(), horizon)? {
            Standing::Newer => {}
            Standing::Same => return Ok(VersionCommit::Refused(Refusal::Same)),
            Standing::Older { current } if terms.fills_in && current == stamp.version => {}
            Standing::Older { current } => {
                let write = Write::of_item(stamp, item);
                let refusal = self.refused(hash, write, terms, current);
                let is_kept = refusal.is_for_what_is_there()
                    && terms.keeping == Keeping::OlderAndThis
                    && self.keep_beneath((hash, current), (item, stamp), before);
                return Ok(VersionCommit::Refused(match is_kept {
                    true => Refusal::Same,
                    false => refusal,
                }));
            }
        }
        if let Some(current) = self.promise_against(hash, stamp.version, terms) {
            return Ok(VersionCommit::Refused(Refusal::Promised {
                current,
                has_newer: false,
            }));
        }
        let was_present = entry.as_ref().is_some_and(|entry| entry.is_visible);
        if let Some(entry) = &entry {
            if terms.keeping != Keeping::Nothing && !self.is_flushed(entry, key) {
                self.put_aside((hash, stamp.version), entry, before)?;
            }
            self.note_superseded(hash, entry);
        }
        if !terms.fills_in {
            self.core.incomplete.note(stamp.version);
        }
        let Some(published) = self.publish(hash, &chain, entry.as_ref(), written) else {
            return Ok(VersionCommit::Full);
        };
        drop(chain);
        self.note_published(hash, written, published);
        Ok(VersionCommit::Stored { was_present })
    }

    /// What the writer of a version is told where the store has something newer.
    fn refused(&self, hash: u64, write: Write, terms: Terms, current: Version) -> Refusal {
        if !terms.is_plain() {
            return Refusal::Older { current };
        }
        let had = self.core.superseded.had(hash, write);
        let promise_against = self.promise_against(hash, write.version(), terms);
        Refusal::of_older(current, had, promise_against)
    }

    /// Remembers the version that something newer is about to take the place of.
    fn note_superseded(&self, hash: u64, entry: &Entry<'_, '_>) {
        let superseded = &self.core.superseded;
        match entry.item {
            Some(item) => {
                if let Some(stamp) = item.stamp() {
                    superseded.note(hash, Write::of_item(stamp, item));
                }
            }
            None => superseded.note_up_to(hash, self.newest_version_near(entry)),
        }
    }

    /// Puts aside what a version is about to take the place of.
    ///
    /// # Errors
    /// [`Suspended`], where it must be read from a device first.
    fn put_aside(
        &self,
        of: (u64, Version),
        entry: &Entry<'_, '_>,
        before: Before,
    ) -> Result<(), Suspended> {
        let Some(item) = entry.item else {
            self.want(of.0, entry.location)?;
            return Ok(());
        };
        let Some(stamp) = item.stamp() else {
            return Ok(());
        };
        let is_copied =
            entry.location.is_on_device() || item.value().len() <= COPIED_WHEN_PUT_ASIDE;
        let value = match is_copied {
            true => PinnedValue::copied(item),
            false => PinnedValue::in_segment(&self.core, entry.location, item),
        };
        self.core
            .predecessors
            .keep(of, (item, stamp), value, before);
        Ok(())
    }

    /// Keeps an accepted item beneath the version that its key has, which is not known to be
    /// complete; false where that cannot be.
    fn keep_beneath(
        &self,
        of: (u64, Version),
        (item, stamp): (RawItem<'_>, Stamp),
        before: Before,
    ) -> bool {
        let predecessors = &self.core.predecessors;
        if !self.core.incomplete.has(of.1) {
            predecessors.note_dropped(stamp.version);
            return false;
        }
        let value = PinnedValue::copied(item);
        let is_kept = predecessors.keep_beneath(of, (item, stamp), value, before);
        if is_kept {
            self.core.superseded.note(of.0, Write::of_item(stamp, item));
            self.core.incomplete.note(stamp.version);
        }
        is_kept
    }

    /// The promise by which a version cannot be stored, with the chain locked.
    fn promise_against(&self, hash: u64, version: Version, terms: Terms) -> Option<Version> {
        terms.promise_against(self.core.versions.promised(hash), version)
    }

    /// How a written item stands to the entry of its key, whether readers see that or not.
    ///
    /// # Errors
    /// [`Suspended`], where a device must be read for the entry's version: only where that may be
    /// the newer one.
    fn standing(
        &self,
        hash: u64,
        (stamp, item): (Stamp, RawItem<'_>),
        entry: Option<&Entry<'_, '_>>,
        horizon: Option<Version>,
    ) -> Result<Standing, Suspended> {
        let version = stamp.version;
        let Some(entry) = entry.filter(|entry| !self.is_flushed(entry, item.key())) else {
            return Ok(Standing::to_horizon(version, horizon));
        };
        let Some(present) = entry.item else {
            // Whether it has a version at all is not known either.
            let exceeds_horizon = horizon.is_none_or(|horizon| horizon < version);
            if exceeds_horizon && self.newest_version_near(entry) < version.bits() {
                return Ok(Standing::Newer);
            }
            self.want(hash, entry.location)?;
            // Its segment has gone in this moment: replayed, the request finds it elsewhere.
            return Err(Suspended::OnDevice);
        };
        Ok(Standing::to_item((stamp, item), present, horizon))
    }

    fn is_flushed(&self, entry: &Entry<'_, '_>, key: &[u8]) -> bool {
        if let Some(item) = entry.item.filter(|_| !entry.location.is_on_device()) {
            return !self.core.survives_flush(entry.location, item);
        }
        let is_void = || match entry.item {
            Some(item) => self.core.is_void_on_device(entry.location, item),
            None => self.core.is_void_unread(entry.location, key),
        };
        self.core.tier.is_none() || is_void()
    }

    /// No item in the segment of an entry on a device has a newer version.
    fn newest_version_near(&self, entry: &Entry<'_, '_>) -> u64 {
        let tier = self.core.tier.as_ref();
        tier.map_or(0, |tier| tier.newest_version_at(entry.location))
    }
}
