//! Whether a thread may poll: only while it has its processor to itself.
//!
//! Polling saves the time of a wake-up as long as both ends run. Where other threads want the same
//! processor it does harm: Linux gives a thread that has slept the processor at once when it is
//! woken, and lets one that has spent its share by polling wait for whole time slices, some
//! milliseconds each. One that offers its processor to others (`sched_yield`) even gives up a slice
//! each time. A container's quota of processor time ends in the same way: who polls spends it in
//! vain and is then stopped for up to a tenth of a second.
//!
//! So a thread that polls watches the time between two looks ([`Interference`]). Where it is long,
//! and the kernel has taken the processor away meanwhile, polling ends at once, and is tried again
//! after a pause ([`Backoff`]).
//!
//! How long the pause is depends on the share of its time that a thread loses while it polls. A
//! quiet processor is taken away now and then too, by a process that starts or a timer that is due.
//! That costs little, while polling often makes a request three times as fast. So one loss makes a
//! short pause. The pause doubles while polling loses more than a sixteenth of the time, and halves
//! while it loses less.
//!
//! Who has lost the processor may still poll for a moment, where that brings what it waits for
//! ([`Moments`]): the other end of a conversation that answers within microseconds is worth the
//! processor's time, which would be spent on sleeping and waking up otherwise. Nobody yields then.
//!
//! Times are those since any one moment. Nothing here asks for the time or the kernel's counts.

mod backoff;
mod interference;
mod moments;
mod permit;

pub use backoff::Backoff;
pub use interference::{Interference, Loss};
pub use moments::{MOMENT, Moments};
pub use permit::PollPermit;
