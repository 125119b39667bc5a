//! Values that lie on several servers, stored and read by this server for clients that leave it to
//! it: the plans of `farcache-redundancy`, run by a worker, which waits for nobody meanwhile.
//!
//! | file | what it does |
//! |---|---|
//! | `run` | one plan: what it asks goes out, what comes back goes in |
//! | `plan` | a read or a write, and what it wants |
//! | `cargo` | what a plan stores, and what owners bring it |
//! | `settling` | the end of a write that others have come in the way of |
//! | `telling` | which versions are complete |
//! | `packets` | what an owner is asked, and what it has answered |
//! | `order` | what a client has asked for, and what it is told |
//! | `figures` | what plans have come to |
//! | `own` | this server's own part |
//! | `worker/coding.rs` | joins them with the worker's peers and sessions |

mod cargo;
pub mod figures;
pub mod order;
pub mod own;
mod packets;
mod plan;
pub mod run;
mod settling;
mod telling;

use crate::waiting::Asker;
use farcache_cluster::{ClusterMap, Owners, ServerId};
use farcache_proto::binary::Placed;
use farcache_redundancy::coding::Workshop;
use farcache_redundancy::plan::RequestId;
use farcache_redundancy::{Clock, SKEW_MAX, Uses, Writer};
use farcache_session::Failure;
use figures::Figures;
use order::Order;
use run::Run;
use slab::Slab;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use telling::Telling;

/// A plan's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartTag {
    /// Place of the plan among those that run.
    slot: usize,
    /// Number of the plan: another one may have its place by now.
    number: u64,
    /// The plan's name for the request.
    id: RequestId,
}

/// What became of a request to an owner.
pub enum Sent {
    /// It is on its way.
    UnderWay,
    /// This is its answer, which was at hand.
    Answered(Vec<u8>),
}

/// The way to a key's owners.
pub trait Way {
    /// Asks an owner by a packet, which is made of these pieces.
    ///
    /// # Errors
    /// It cannot be asked.
    fn ask(&mut self, to: ServerId, tag: PartTag, pieces: &[&[u8]]) -> Result<Sent, Failure>;

    /// The owners of a key that has so many, and what they are told of that, by the map that counts
    /// now.
    fn place(&self, key: &[u8], owners: u8) -> (Owners, Placed);

    /// Whether an owner's process had ended when it was last asked, a moment ago.
    fn is_gone(&mut self, server: ServerId) -> bool;

    /// Since when an owner has been reached without a break, where it can be: it has been the same
    /// process so long.
    fn up_since(&mut self, server: ServerId) -> Option<Instant>;
}

/// What plans share.
pub struct Tools {
    workshop: Workshop,
    clock: Clock,
    telling: Telling,
    uses: Uses,
    next_number: u64,
}

impl Tools {
    /// The number of a plan.
    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}

/// What has come of a plan.
pub struct Told {
    /// Who waits for it.
    pub asker: Asker,
    /// The packet that its client is sent.
    pub reply: Vec<u8>,
}

/// One worker's plans.
pub struct Coding {
    tools: Tools,
    figures: Arc<Figures>,
    runs: Slab<Box<Run>>,
    /// Places of plans that have something to code, once what they have asked for is on its way.
    to_code: Vec<usize>,
    told: Vec<Told>,
}

impl Coding {
    /// None yet.
    pub fn new(figures: &Arc<Figures>) -> Coding {
        let number = RandomState::new().hash_one("writer") % u64::from(Writer::COUNT);
        let writer = Writer::new(number as u16).expect("below the count");
        Coding {
            tools: Tools {
                workshop: Workshop::default(),
                clock: Clock::new(writer, SKEW_MAX),
                telling: Telling::default(),
                uses: Uses::default(),
                next_number: 0,
            },
            figures: Arc::clone(figures),
            runs: Slab::new(),
            to_code: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Begins the plan for a client's request.
    pub fn begin(
        &mut self,
        asker: Asker,
        request: &[u8],
        (map, me): (&ClusterMap, Option<ServerId>),
        way: &mut dyn Way,
        now: Instant,
    ) {
        let order = match Order::read(request, map) {
            Ok(order) => order,
            Err(reply) => return self.told.push(Told { asker, reply }),
        };
        let number = self.tools.number();
        let place = self.runs.vacant_entry();
        let slot = place.key();
        let tag = PartTag {
            slot,
            number,
            id: RequestId(0),
        };
        let run = Run::begin(order, (tag, asker), me, &mut self.tools, way, now);
        place.insert(Box::new(run));
        self.go_on(slot, way, now);
    }

    /// An owner has answered, or will not.
    pub fn answer(
        &mut self,
        tag: PartTag,
        answer: Result<Vec<u8>, Failure>,
        way: &mut dyn Way,
        now: Instant,
    ) {
        let run = self.runs.get_mut(tag.slot);
        if let Some(run) = run.filter(|run| run.number() == tag.number) {
            run.answer(tag.id, answer);
            self.go_on(tag.slot, way, now);
        }
    }

    /// Whether something is to be coded.
    pub fn has_to_code(&self) -> bool {
        !self.to_code.is_empty()
    }

    /// Codes what is to be coded.
    pub fn code(&mut self, way: &mut dyn Way, now: Instant) {
        for slot in std::mem::take(&mut self.to_code) {
            if let Some(run) = self.runs.get_mut(slot) {
                run.code(&mut self.tools);
                self.go_on(slot, way, now);
            }
        }
    }

    /// Gives up what is late, and tells what no request has told.
    pub fn expire(&mut self, way: &mut dyn Way, now: Instant) {
        self.tools.telling.tell_left_over(way, now);
        let (runs, tools) = (self.runs.iter_mut(), &mut self.tools);
        let late = runs.filter_map(|(slot, run)| run.expire(tools, now).then_some(slot));
        for slot in late.collect::<Vec<_>>() {
            self.go_on(slot, way, now);
        }
    }

    /// When there is something to be done by [`Coding::expire`].
    pub fn next_deadline(&self) -> Option<Instant> {
        let runs = self.runs.iter().map(|(_, run)| run.next_deadline());
        runs.chain(self.tools.telling.due()).min()
    }

    /// What has come of plans since the last call.
    pub fn take_told(&mut self) -> Vec<Told> {
        let told = std::mem::take(&mut self.told);
        told.iter().for_each(|one| self.figures.count(&one.reply));
        told
    }

    fn go_on(&mut self, slot: usize, way: &mut dyn Way, now: Instant) {
        let run = &mut self.runs[slot];
        let has_ended = run.go_on(&mut self.tools, way, now);
        self.told.extend(run.take_told());
        if has_ended {
            self.runs.remove(slot);
        } else if run.has_to_code() && !self.to_code.contains(&slot) {
            self.to_code.push(slot);
        }
    }
}

/// The time since the Unix epoch.
fn unix_time() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}
