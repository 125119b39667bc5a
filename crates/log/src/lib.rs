//! A log of segments on SSDs: what leaves a store's memory, and is found again after a restart.
//!
//! The log takes items, writes them in segments, makes them durable, gets slots back and recovers
//! what it finds. It does not know the index: whoever has that is its [`Owner`], which is asked
//! where an item may go and told when one is lost. `docs/design/tier.md` says how it works and what
//! it guarantees.
//!
//! | part | what it does |
//! |---|---|
//! | `device` | files and block devices, and how they are read and written |
//! | `format` | every byte on a device |
//! | `plan` | what opening the devices is going to do, found out without writing |
//! | `guard` | who may look at tables that others may take out of their slots |
//! | `slots`, `table` | what each slot holds; its items, in memory |
//! | `tombstones` | copies that died, of which no segment tells yet |
//! | `log` | the body of a log, with the segment that is written next |
//! | `read` | one record: where it lies, and whether what was read is it |
//! | `owner` | what is asked of whoever has the index |
//! | `recovery`, `scan` | what lies on the devices when the log is opened |
//! | `flusher` | the thread that writes segments, makes them durable and gets slots back |
//! | `check` | looks at devices without a log |

mod check;
mod counters;
mod device;
mod fence;
#[cfg(test)]
mod fixture;
mod flusher;
mod format;
mod guard;
mod log;
mod options;
mod owner;
mod physical;
mod plan;
mod read;
mod recovery;
mod scan;
mod slots;
mod stats;
mod superblocks;
mod table;
mod tombstones;

use farcache_memory::{epoch, item, location, region, schedule};

pub use check::{CheckFinding, CheckKind, CheckReport, check_devices};
pub use counters::{Counter, Counters};
pub use device::{Buffer, Device, Fault, FaultyDevice, FileDevice, Outcome};
pub use fence::{Fence, KeyArcs, join_oldest};
pub use flusher::{Flushed, Flusher, FlusherThread, Telling, ToTell};
pub use format::TENURE_BYTES_MAX;
pub use guard::Guard;
pub use log::{Appended, Fillings, Incoming, Log, LogUse, Source};
pub use options::{Durability, EngineChoice, TierConfig, TierEvent, TierEventKind, TierStats};
pub use owner::{Entered, Found, Intake, Moved, Owner, Wish};
pub use physical::Recovered;
pub use plan::{TierPlan, TierRefusal, Unusable};
pub use read::{Arrived, Reader, Ticket, Unread};
pub use recovery::recover;
