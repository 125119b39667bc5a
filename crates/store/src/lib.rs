//! The store: items in segments, found through one shared index.
//!
//! Knows nothing of protocols or networks. A [`Store`] is shared; each thread that uses it opens a
//! [`StoreHandle`]. What a handle finds is borrowed from it and ends with
//! [`StoreHandle::quiescent`], the point at which the thread holds no reference into the store.
//!
//! | part | what it does |
//! |---|---|
//! | `index` | from a key's hash to the place of its item, without locks for readers |
//! | `segment` | the arena's parts: which are free, open, sealed; appending to them |
//! | `ghosts` | what was evicted a short while ago |
//! | `admission` | what is not worth a write to a full device |
//! | `reclaimer` | what reclaiming keeps between passes |
//! | `incomplete` | which versions are not known to be at all servers that are to have them |
//! | `superseded` | which versions keys had before something newer came |
//! | `core` | the shared body of all these, with values that stay in place for slow readers |
//! | `tier` | what joins the index with the log on the devices (`farcache-log`) |
//! | `reclaim` | expiry, cleaning and eviction, by whole segments |
//! | `store`, `handle` | the store as its owner and as each thread sees it |
//! | `operations`, `scan` | set, delete, arithmetic, touch, also by versions; walking through all |

mod admission;
mod bell;
mod core;
mod dirty;
mod events;
mod fences;
mod flush;
mod ghosts;
mod handle;
mod incomplete;
mod index;
mod operations;
mod options;
mod reclaim;
mod reclaimer;
mod scan;
mod segment;
mod stats;
mod store;
mod superseded;
mod suspended;
mod tier;
mod versions;

use farcache_memory::{epoch, item, prefetch, region, schedule, sync};

pub use farcache_base::version::Keeping;
pub use farcache_log::{
    CheckFinding, CheckKind, CheckReport, Device, Durability, EngineChoice, Fault, FaultyDevice,
    FileDevice, TierConfig, TierEvent, TierEventKind, TierPlan, TierRefusal, TierStats, Unusable,
    check_devices,
};
pub use {
    core::{Evicted, PinnedValue, Predecessor, StalledValues},
    dirty::DurableMark,
    fences::{KeyArcs, KeyHash},
    handle::{Item, ReadId, StoreHandle},
    operations::{Reservation, Uncommitted},
    options::{
        Access, ArithmeticOptions, ArithmeticOutcome, DeleteOptions, DeleteOutcome, Forgotten,
        Newest, SetMode, SetOptions, SetOutcome, StoreConfig, StoreError, TombstoneOptions,
        VersionedDelete,
    },
    scan::{Held, Listed, ScanCursor},
    stats::StoreStats,
    store::Store,
    suspended::{Interrupt, Suspended, settled},
};

/// Most keys that [`StoreHandle::get_batch`] takes at once.
pub const BATCH_MAX: usize = 32;
