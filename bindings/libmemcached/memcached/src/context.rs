//! A handle and all that is kept for it.

use crate::batch::Batch;
use crate::distribution::Buckets;
use crate::instance::Instance;
use crate::record::Record;
use farcache_cluster::distribution::Placement;
use farcache_libmemcached_abi::{Handle, flags};
use std::ffi::CString;

/// An operation whose end is waited for before the next one begins, or the connections end.
pub(crate) struct Pending {
    pub(crate) server: usize,
    pub(crate) request: farcache_client::Request,
}

/// What belongs to a handle and is not shown to C. The handle owns it through `ketama.continuum`.
#[derive(Default)]
pub(crate) struct State {
    /// The servers, each at a place of its own: C keeps pointers to them.
    pub(crate) servers: Vec<Box<Instance>>,
    /// The server that was lost last.
    pub(crate) last_disconnected: Option<Box<Instance>>,
    /// The ring of a consistent distribution.
    pub(crate) ring: Option<Placement>,
    /// Of the distribution by virtual buckets.
    pub(crate) buckets: Option<Buckets>,
    /// Goes before every key.
    pub(crate) namespace: Option<CString>,
    /// The errors of the last query that failed, the newest last.
    pub(crate) errors: Vec<Record>,
    /// The file that `--CONFIGURE-FILE` named.
    pub(crate) file: Option<CString>,
    /// The connections, from the first operation on.
    pub(crate) client: Option<farcache_client::Client>,
    /// Operations that were sent, or will be, without waiting for how they end.
    pub(crate) pending: Vec<Pending>,
    /// Values that wait to be fetched.
    pub(crate) batches: std::collections::VecDeque<Batch>,
    /// A server that failed while its values were fetched.
    pub(crate) fetch_failure: Option<farcache_libmemcached_abi::Return>,
    /// Length of the value that was got last, as that of the next is likely to be no greater.
    pub(crate) expected_bytes: usize,
    /// What `--FABRIC` said.
    pub(crate) transport: farcache_client::Transport,
    /// What `--PROGRESS` said: whether a thread moves operations on.
    pub(crate) has_progress_thread: bool,
    /// What `--REDUNDANCY` said: which keys lie on several servers.
    pub(crate) redundancy: Option<farcache_client::Policy>,
    /// `MEMCACHED_BEHAVIOR_META_PROTOCOL`: servers over sockets are spoken to in meta commands.
    pub(crate) prefers_meta: bool,
}

/// A handle in use.
pub(crate) struct Context<'a> {
    pub(crate) handle: &'a mut Handle,
    pub(crate) state: &'a mut State,
}

impl<'a> Context<'a> {
    /// The handle with its state; `None` of null.
    ///
    /// # Safety
    /// The handle was created by this library and nobody else uses it now, unless it is null.
    pub(crate) unsafe fn new(handle: *mut Handle) -> Option<Self> {
        // SAFETY: as the caller promises. A created handle has a state until it is freed, and the
        // state is reached through its handle only.
        unsafe {
            let handle = handle.as_mut()?;
            let state = handle.ketama.continuum.cast::<State>().as_mut()?;
            Some(Context { handle, state })
        }
    }

    /// The handle as C knows it, for its callbacks.
    pub(crate) fn raw(&mut self) -> *mut Handle {
        std::ptr::from_mut(self.handle)
    }

    pub(crate) fn is_binary(&self) -> bool {
        self.handle.has(flags::BINARY_PROTOCOL)
    }

    pub(crate) fn namespace(&self) -> &[u8] {
        self.state
            .namespace
            .as_ref()
            .map_or(&[], |namespace| namespace.as_bytes())
    }
}
