//! Requests for keys that another server of the cluster owns: they are passed on to it as they
//! came, and its reply is passed back as it came.

use crate::Context;
use crate::arriving::Admitted;
use crate::moving::Moves;
use crate::others::{Failure, Peer};
use farcache_base::version::Version;
use farcache_peers::listing::Entry;
use farcache_proto::binary::Placed;
use farcache_store::Listed;

/// Who owns keys, and the way to them.
pub trait Forward {
    /// Epoch of the map by which it tells owners.
    fn epoch(&self) -> u64;

    /// The server that decides on a key; none where it is this one, or each of them. This one
    /// itself where nobody decides yet, and the request is to be made again.
    fn owner(&self, key: &[u8]) -> Option<Peer>;

    /// Whether this server decides on each of these keys, and no other has anything of them. Takes
    /// less time than asking for each of them.
    fn owns_each(&self, keys: &[&[u8]]) -> bool;

    /// Whether this server decides on every key that there may be, and no other has anything of
    /// them.
    fn owns_every(&self) -> bool;

    /// Why a value is not gathered that [`takes_value`](Self::takes_value) has refused.
    fn refusal(&self) -> Failure {
        Failure::TooMuch
    }

    /// Whether a value of so many bytes may be gathered in order to be passed on.
    fn takes_value(&self, bytes: usize) -> bool;

    /// What `owner` has replied to this request; none where it has not yet, and the session is to
    /// be suspended ([`farcache_store::Suspended::OnPeer`]) until it has. A reply is given once.
    fn ask(&self, owner: Peer, request: &[u8]) -> Option<Result<Vec<u8>, Failure>>;

    /// What has come of a request to store or read a value at several servers, which is made of its
    /// head and its value; as [`ask`](Self::ask).
    fn spread(&self, head: &[u8], value: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
        let _ = (head, value);
        Some(Err(Failure::NoPeers))
    }

    /// Whether the requests come from another server.
    fn is_for_peer(&self) -> bool {
        false
    }

    /// What a list tells the server `asker` of an item; none where it does not own the key, or the
    /// item is no part of a value.
    fn entry<'a>(&self, asker: Peer, item: &Listed<'a>) -> Option<Entry<'a>> {
        let _ = (asker, item);
        None
    }

    /// Whether an item with a version counts although it is from before the server began to catch
    /// up: the server was one of its key's owners all along.
    fn has_owned(&self, item: &Listed<'_>) -> bool {
        let _ = item;
        false
    }

    /// Whether the server was an owner of the key of a value on several servers since before it
    /// began to catch up, however few owners that has: what it does not have of the key it has
    /// forgotten.
    fn was_owner(&self, key: &[u8]) -> bool {
        let _ = key;
        false
    }

    /// Whether a client has placed a key by the owners that the map names.
    fn is_placed(&self, key: &[u8], placed: Placed) -> bool {
        let _ = (key, placed);
        true
    }

    /// What is being carried out is refused, where it came from another server.
    fn refuse(&self) {}

    /// The keys that are on their way to or from this server; none where there are none.
    fn moves(&self) -> Option<&dyn Moves> {
        None
    }
}

impl Context<'_> {
    /// Whether keys may come that another server decides on, or has something of.
    #[inline]
    pub(crate) fn may_forward(&self) -> bool {
        self.forward.is_some_and(|forward| !forward.owns_every())
    }

    /// Whether no other server decides on one of these keys.
    #[inline]
    pub(crate) fn owns_each(&self, keys: &[&[u8]]) -> bool {
        self.forward.is_none_or(|forward| forward.owns_each(keys))
    }

    /// The server that decides on a key, where that is another one.
    #[inline]
    pub(crate) fn owner_elsewhere(&self, key: &[u8]) -> Option<Peer> {
        self.forward?.owner(key)
    }

    /// Whether clients are not shown what a key has, a value or (none) a tombstone of this version:
    /// it is from before the server began to catch up, and others may have changed it.
    pub(crate) fn is_unconfirmed(
        &self,
        key: &[u8],
        version: Version,
        value: Option<&[u8]>,
    ) -> bool {
        let item = Listed {
            key,
            version,
            value,
            is_used: true,
        };
        self.store.is_unconfirmed(version)
            && !self.forward.is_some_and(|forward| forward.has_owned(&item))
    }

    /// Up to which version a key of which the store has nothing counts as deleted, though the store
    /// catches up; none where that is not known.
    pub(crate) fn horizon_all_along(&self, key: &[u8]) -> Option<Version> {
        let store = self.store.store();
        let forward = self.forward.filter(|_| store.is_catching_up())?;
        forward.was_owner(key).then(|| store.horizon())?
    }

    /// Whether a client has placed a key by the owners that the map names, if there is a map.
    pub(crate) fn is_placed(&self, key: &[u8], placed: Placed) -> bool {
        let forward = self.forward;
        forward.is_none_or(|forward| forward.is_placed(key, placed))
    }

    /// Whether another server decides on a key whose value has been arriving here. Who asked on
    /// behalf of a client is told so, and asks there.
    pub(crate) fn has_left(&self, key: &[u8]) -> bool {
        let has_left = self.owner_elsewhere(key).is_some();
        if has_left && let Some(forward) = self.forward {
            forward.refuse();
        }
        has_left
    }

    /// Stores or reads a value at several servers; as [`Forward::spread`].
    pub(crate) fn spread(&self, head: &[u8], value: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
        match self.forward {
            Some(forward) => forward.spread(head, value),
            None => Some(Err(Failure::NoPeers)),
        }
    }

    /// Asks the owner of a key that [`Context::owner_elsewhere`] has told.
    pub(crate) fn ask(&self, owner: Peer, request: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
        let forward = self.forward.expect("who owns a key elsewhere was told");
        forward.ask(owner, request)
    }
}

/// A large value that is arriving for another server, behind the head of its request.
pub(crate) struct ForeignValue {
    /// None where it is for several servers.
    owner: Option<Peer>,
    request: Vec<u8>,
    received_bytes: usize,
    _admitted: Admitted,
}

impl ForeignValue {
    /// Makes room for the `bytes` that follow this head.
    ///
    /// # Errors
    /// [`Failure::TooMuch`], or why nothing is passed on.
    pub(crate) fn begin(
        owner: Option<Peer>,
        head: &[u8],
        bytes: usize,
        context: &Context<'_>,
    ) -> Result<ForeignValue, Failure> {
        if let Some(forward) = context.forward.filter(|it| !it.takes_value(bytes)) {
            return Err(forward.refusal());
        }
        let admitted = context.service.arriving_for_others.admit(bytes);
        let admitted = admitted.ok_or(Failure::TooMuch)?;
        let mut request = vec![0; head.len() + bytes];
        request[..head.len()].copy_from_slice(head);
        Ok(ForeignValue {
            owner,
            request,
            received_bytes: head.len(),
            _admitted: admitted,
        })
    }

    /// Room for the bytes still missing.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.request[self.received_bytes..]
    }

    /// This many bytes have been written to the front of [`ForeignValue::buffer`].
    pub(crate) fn received(&mut self, bytes: usize) {
        self.received_bytes += bytes;
        debug_assert!(self.received_bytes <= self.request.len());
    }

    /// Copies what it can use from the front of `input`; returns how many bytes that was.
    pub(crate) fn take(&mut self, input: &[u8]) -> usize {
        let room = self.buffer();
        let bytes = room.len().min(input.len());
        room[..bytes].copy_from_slice(&input[..bytes]);
        self.received(bytes);
        bytes
    }

    /// Whether every byte has arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.received_bytes == self.request.len()
    }

    /// Asks the owner; as [`Forward::ask`].
    pub(crate) fn ask(&self, context: &Context<'_>) -> Option<Result<Vec<u8>, Failure>> {
        match self.owner {
            Some(owner) => context.ask(owner, &self.request),
            None => context.spread(&self.request, &[]),
        }
    }
}

/// The way of requests that must not be passed on: they came from another server already, or over
/// a transport that has nowhere to wait.
pub struct Refusing<'a> {
    /// Who owns keys.
    pub forward: &'a dyn Forward,
    /// Whether some request was refused.
    pub has_refused: std::cell::Cell<bool>,
    is_for_peer: bool,
}

impl<'a> Refusing<'a> {
    /// Nothing was refused yet.
    pub fn new(forward: &'a dyn Forward) -> Self {
        Refusing {
            forward,
            has_refused: std::cell::Cell::new(false),
            is_for_peer: false,
        }
    }

    /// Refuses to pass on requests that another server has sent.
    pub(crate) fn of_peer(forward: &'a dyn Forward) -> Self {
        Refusing {
            is_for_peer: true,
            ..Refusing::new(forward)
        }
    }
}

impl Forward for Refusing<'_> {
    fn epoch(&self) -> u64 {
        self.forward.epoch()
    }

    fn owner(&self, key: &[u8]) -> Option<Peer> {
        self.forward.owner(key)
    }

    fn owns_each(&self, keys: &[&[u8]]) -> bool {
        self.forward.owns_each(keys)
    }

    fn owns_every(&self) -> bool {
        self.forward.owns_every()
    }

    fn takes_value(&self, _bytes: usize) -> bool {
        self.has_refused.set(true);
        false
    }

    fn ask(&self, _owner: Peer, _request: &[u8]) -> Option<Result<Vec<u8>, Failure>> {
        self.has_refused.set(true);
        Some(Err(Failure::NotForwarded))
    }

    fn is_for_peer(&self) -> bool {
        self.is_for_peer
    }

    fn entry<'b>(&self, asker: Peer, item: &Listed<'b>) -> Option<Entry<'b>> {
        self.forward.entry(asker, item)
    }

    fn has_owned(&self, item: &Listed<'_>) -> bool {
        self.forward.has_owned(item)
    }

    fn was_owner(&self, key: &[u8]) -> bool {
        self.forward.was_owner(key)
    }

    fn is_placed(&self, key: &[u8], placed: Placed) -> bool {
        self.forward.is_placed(key, placed)
    }

    fn refuse(&self) {
        self.has_refused.set(true);
    }

    fn moves(&self) -> Option<&dyn Moves> {
        self.forward.moves()
    }
}
