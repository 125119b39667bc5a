//! Keys that move to this server, or from it.
//!
//! Of a key that moves here the old owner may hold what this server has not got yet. A request
//! whose answer depends on that has it brought first, and is suspended meanwhile. A request that
//! changes the key *settles* it first: then nothing older comes in any more.

use crate::Context;
use crate::others::{FORWARDED_BYTES_MAX, Failure, Peer};
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_base::time::{NEVER, Seconds};
use farcache_peers::moves::{
    Fetch, Fetched, Instance, MovedItem, Place, PulledHead, marked, unmarked,
};
use farcache_store::{Access, Held, Interrupt, Item, ScanCursor, SetMode, SetOptions, Suspended};

/// Longest value that is sent together with others.
const VALUE_BYTES_MAX: usize = 64 << 10;
/// About how much is sent with one answer.
const BATCH_BYTES: usize = 64 << 10;
/// How many steps of a scan are made for one answer, whatever they find: the worker's clients wait
/// meanwhile.
const STEPS_MAX: usize = 64;
/// Items that a step looks at; of those on a device, how many are read together.
const STEP_ITEMS: usize = 16;

/// Where the item of a moving key may be brought from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The old owner.
    pub peer: Peer,
    /// Which run of its program has acknowledged the move.
    pub instance: Instance,
}

/// The keys that move to or from a server.
pub trait Moves {
    /// From where a key that this server decides on is to be brought, if something of it may still
    /// come.
    fn source(&self, key: &[u8]) -> Option<Source>;

    /// What `source` has answered to the question for this key ([`Fetched`]); none where it has not
    /// yet, and the session is to be suspended until it has. An answer is given once.
    fn fetch(&self, source: Source, key: &[u8]) -> Option<Result<Vec<u8>, Failure>>;

    /// Nothing of this key comes in any more.
    fn settle(&self, key: &[u8]);

    /// Stores what `source` had of a key, of so many bytes, unless the key has been settled.
    /// `store` must not wait, and says whether it has kept anything.
    fn admit(&self, source: Source, key: &[u8], bytes: usize, store: &mut dyn FnMut() -> bool);

    /// Nothing more comes from this source: it was started anew.
    fn lose(&self, source: Source);

    /// Whether this key moves from this server to `to`, which decides on it.
    fn gives(&self, key: &[u8], to: Peer) -> bool;

    /// Whether any key moves from this server to `to`.
    fn gives_any(&self, to: Peer) -> bool;

    /// An item of so many bytes is sent to `to`, because a request asked for it or not.
    fn note_given(&self, to: Peer, is_asked_for: bool, bytes: usize);

    /// What is sent to `to` has been gone through so far, in parts of 2^32; none at the end.
    fn note_progress(&self, to: Peer, progress: Option<u32>);
}

/// What a request needs to know of the item that its key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing: it is replaced, whatever it is.
    Nothing,
    /// What it is; it stays.
    ToRead,
    /// What it is, in order to change it.
    ToChange,
}

impl<'a> Context<'a> {
    fn moves(&self) -> Option<&'a dyn Moves> {
        self.forward?.moves()
    }

    /// Brings what the old owner of a moving key has of it, where a request needs that, and keeps
    /// it from coming in later, where the request changes it. Comes before the request is carried
    /// out.
    ///
    /// # Errors
    /// [`Suspended`], where that must be waited for; nothing has happened then that matters.
    pub(crate) fn bring(&self, key: &[u8], need: Need) -> Result<(), Suspended> {
        let Some(moves) = self.moves() else {
            return Ok(());
        };
        if !(1..=KEY_BYTES_MAX).contains(&key.len()) {
            return Ok(());
        }
        let Some(source) = moves.source(key) else {
            return Ok(());
        };
        if need != Need::Nothing && self.store.get(key, Access::Peek)?.is_none() {
            let answer = moves.fetch(source, key).ok_or(Suspended::OnPeer)?;
            self.take(moves, source, key, &answer)?;
        }
        if need != Need::ToRead {
            moves.settle(key);
        }
        Ok(())
    }

    /// Asks the old owner of a key ahead of time, for a read that comes later.
    pub(crate) fn begin_to_bring(&self, key: &[u8]) {
        if let Some(moves) = self.moves()
            && (1..=KEY_BYTES_MAX).contains(&key.len())
            && let Some(source) = moves.source(key)
            && let Ok(None) = self.store.get(key, Access::Peek).map(|item| item.map(drop))
        {
            // Whether it is there already does not matter yet.
            _ = moves.fetch(source, key);
        }
    }

    /// Whether a read of this key has to wait for its old owner.
    pub(crate) fn must_bring(&self, key: &[u8]) -> bool {
        let source = self.moves().and_then(|moves| moves.source(key));
        source.is_some() && !matches!(self.store.get(key, Access::Peek), Ok(Some(_)))
    }

    /// Stores what has come of a key. Where nothing can be had, the item counts as evicted.
    fn take(
        &self,
        moves: &dyn Moves,
        source: Source,
        key: &[u8],
        answer: &Result<Vec<u8>, Failure>,
    ) -> Result<(), Suspended> {
        let Ok(bytes) = answer else {
            return Ok(());
        };
        match Fetched::decode(bytes) {
            Some(Fetched::Item(item)) if item.key == key => {
                let mut ended = Ok(());
                moves.admit(source, key, item.bytes(), &mut || {
                    let options = moved_options(&item, self.clock.now);
                    let value = item.value.unwrap_or_default();
                    let stored = self.store.set(key, value, &options);
                    if let Err(Interrupt::Suspended(suspended)) = stored {
                        ended = Err(suspended);
                    }
                    stored.is_ok()
                });
                ended
            }
            Some(Fetched::OtherInstance) => {
                moves.lose(source);
                Ok(())
            }
            Some(Fetched::Nothing) => {
                moves.settle(key);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// How an item that was brought is stored: if there is none.
#[must_use]
pub fn moved_options(item: &MovedItem<'_>, now: Seconds) -> SetOptions {
    let expiry = item.expires_in_s.map(|left| now.saturating_add(left));
    SetOptions {
        mode: SetMode::Add,
        flags: item.flags,
        expiry: expiry.unwrap_or(NEVER),
        key_is_binary: item.key_is_binary,
        new_cas: item.cas,
        win_sent: item.is_win_sent,
        ..SetOptions::default()
    }
}

/// An item as it is sent; none where it stays here.
fn moved<'i>(item: &'i Item<'_>, now: Seconds) -> Option<MovedItem<'i>> {
    // A stale item is to be made anew, and one with a version belongs to its copies.
    if item.is_stale() || item.version().is_some() {
        return None;
    }
    let expiry = Some(item.expiry()).filter(|expiry| *expiry != NEVER);
    Some(MovedItem {
        key: item.key(),
        value: Some(item.value()),
        flags: item.flags(),
        expires_in_s: expiry.map(|expiry| expiry.saturating_sub(now).max(1)),
        cas: item.told_token(),
        key_is_binary: item.key_is_binary(),
        is_win_sent: item.is_win_sent(),
    })
}

/// Answers a peer that asks for an item; false where this server's map does not give it the key.
///
/// # Errors
/// [`Suspended`], where the item must be read first.
pub(crate) fn give(
    fetch: &Fetch<'_>,
    to: Peer,
    context: &Context<'_>,
    bytes: &mut Vec<u8>,
) -> Result<bool, Suspended> {
    let instance = context.host.acknowledged().map(|said| said.instance);
    if instance != Some(fetch.instance) {
        Fetched::OtherInstance.push(bytes);
        return Ok(true);
    }
    let Some(moves) = context.moves().filter(|moves| moves.gives(fetch.key, to)) else {
        return Ok(false);
    };
    let item = context.store.get(fetch.key, Access::Peek)?;
    let sent = item
        .as_ref()
        .and_then(|item| moved(item, context.clock.now));
    let is_short = |item: &MovedItem<'_>| item.bytes() as u64 <= FORWARDED_BYTES_MAX / 2;
    match sent.filter(is_short) {
        Some(item) => {
            moves.note_given(to, true, item.bytes());
            Fetched::Item(item).push(bytes);
        }
        None => Fetched::Nothing.push(bytes),
    }
    Ok(true)
}

/// Where a pull stands: which items are gone through, and how far.
struct Sweep {
    pass: usize,
    cursor: ScanCursor,
}

/// What is gone through, in this order: first what is asked for most.
const PASSES: [Held; 3] = [Held::Used, Held::Unused, Held::OnDevice];

impl Sweep {
    /// The pass stands in a byte that cursors leave 0.
    fn at(place: &Place) -> Sweep {
        let mut cursor = unmarked(*place);
        let pass = usize::from(std::mem::take(&mut cursor[0]));
        match ScanCursor::decode(cursor) {
            Some(cursor) => Sweep { pass, cursor },
            None => Sweep {
                pass: PASSES.len(),
                cursor: ScanCursor::default(),
            },
        }
    }

    fn place(&self) -> Place {
        let mut place = self.cursor.encode();
        place[0] = self.pass as u8;
        marked(place)
    }
}

/// Answers a peer that asks for the items from a place on, which moves on; false where this
/// server's map gives it none.
///
/// # Errors
/// [`Suspended`], where items must be read first.
pub(crate) fn give_next(
    instance: Instance,
    place: &mut Place,
    to: Peer,
    context: &Context<'_>,
    bytes: &mut Vec<u8>,
) -> Result<bool, Suspended> {
    if context.host.acknowledged().map(|said| said.instance) != Some(instance) {
        bytes.extend_from_slice(&PulledHead::OtherInstance.encode());
        return Ok(true);
    }
    let Some(moves) = context.moves().filter(|moves| moves.gives_any(to)) else {
        return Ok(false);
    };
    let passes = match context.store.has_devices() {
        true => PASSES.len(),
        false => PASSES.len() - 1,
    };
    let mut sweep = Sweep::at(place);
    let (mut items, mut progress, mut steps) = (Vec::new(), 0, 0);
    while sweep.pass < passes && items.len() < BATCH_BYTES && steps < STEPS_MAX {
        // What was read from a device is for these items, and the next are read together.
        steps = match PASSES[sweep.pass] {
            Held::OnDevice => STEPS_MAX,
            _ => steps + 1,
        };
        match sweep_on(&mut sweep, moves, to, context, &mut items) {
            Ok(reached) => progress = reached.unwrap_or(0),
            Err(suspended) if sweep.place() == marked(*place) => return Err(suspended),
            // What there is goes first.
            Err(_) => {
                context.store.forget_reads();
                break;
            }
        }
    }
    let parts = passes as u64;
    let whole = (((sweep.pass as u64) << 32) + u64::from(progress)) / parts;
    *place = sweep.place();
    let next = (sweep.pass < passes).then_some(*place);
    let progress = u32::try_from(whole).unwrap_or(u32::MAX);
    moves.note_progress(to, next.map(|_| progress));
    bytes.extend_from_slice(&PulledHead::Items { next, progress }.encode());
    bytes.append(&mut items);
    Ok(true)
}

/// Looks at a few more items; returns how far the pass is, none at its end.
fn sweep_on(
    sweep: &mut Sweep,
    moves: &dyn Moves,
    to: Peer,
    context: &Context<'_>,
    items: &mut Vec<u8>,
) -> Result<Option<u32>, Suspended> {
    let held = PASSES[sweep.pass];
    let mut visit = |item: &Item<'_>| {
        if !moves.gives(item.key(), to) {
            return;
        }
        if let Some(mut moved) = moved(item, context.clock.now) {
            if moved.bytes() > VALUE_BYTES_MAX {
                moved.value = None;
            } else {
                moves.note_given(to, false, moved.bytes());
            }
            moved.push(items);
        }
    };
    let cursor = &mut sweep.cursor;
    let mut scan = |most| context.store.scan_held(held, cursor, most, &mut visit);
    let scanned = match held {
        Held::OnDevice => {
            scan(STEP_ITEMS).or_else(|suspended| match context.store.exceeds_read_share() {
                true => {
                    context.store.forget_reads();
                    scan(1)
                }
                false => Err(suspended),
            })
        }
        _ => scan(STEP_ITEMS),
    };
    let reached = scanned?;
    if reached.is_none() {
        sweep.pass += 1;
        sweep.cursor = ScanCursor::default();
    }
    Ok(reached)
}
