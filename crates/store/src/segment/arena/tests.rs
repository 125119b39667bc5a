use super::*;
use crate::schedule::atomic::AtomicBool;

const SEGMENTS: u32 = 16;
const RUN: u32 = 5;
const ROUNDS: u32 = 20_000;

struct World {
    arena: Arena,
    epochs: Epochs,
    is_owned: Vec<AtomicBool>,
}

impl World {
    fn new() -> World {
        let config = StoreConfig {
            memory_bytes: u64::from(SEGMENTS) << 16,
            segment_bytes: 1 << 16,
            huge_pages: false,
            ..StoreConfig::default()
        };
        World {
            arena: Arena::new(&config).unwrap(),
            epochs: Epochs::new(1),
            is_owned: (0..SEGMENTS).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Uses a run that was opened, and gives it back.
    fn use_run(&self, open: Open, run: u32) {
        let head = open.head();
        let owned = &self.is_owned[head as usize..(head + run) as usize];
        for segment in owned {
            assert!(!segment.swap(true, SeqCst), "it is somebody else's");
        }
        for segment in owned {
            assert!(segment.swap(false, SeqCst));
        }
        self.arena.seal(open);
        let emptying = self.arena.begin_emptying(head).expect("it is in service");
        // SAFETY: nothing was written there.
        unsafe { self.arena.retire(emptying, &self.epochs) };
        self.collect();
    }

    fn collect(&self) {
        // SAFETY: there are no other epochs.
        unsafe { self.arena.collect(&self.epochs) };
    }

    fn open_often(&self) {
        for round in 0..ROUNDS {
            let run = 1 + round % RUN;
            if let Some(open) = self.arena.open(run, 0, Queue::Probation) {
                self.use_run(open, run);
            }
        }
    }

    fn claim_often(&self) {
        for round in 0..ROUNDS {
            let first = round * 7 % (SEGMENTS - RUN);
            self.arena.claim(first..first + RUN);
            self.collect();
            if let Some(open) = self.arena.open_claimed(Queue::Probation) {
                self.use_run(open, RUN);
            }
        }
    }
}

#[test]
fn a_segment_is_opened_by_one_at_a_time() {
    let world = World::new();
    std::thread::scope(|scope| {
        scope.spawn(|| world.open_often());
        scope.spawn(|| world.open_often());
        world.claim_often();
    });
    assert_eq!(world.arena.counts().free, SEGMENTS, "all are back");
}

/// Page faults of this thread so far.
fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let behind_name = stat.rsplit_once(") ").unwrap().1;
    // The tenth field of proc(5), of which two are before.
    behind_name.split(' ').nth(7).unwrap().parse().unwrap()
}

#[test]
fn what_is_filled_next_is_backed_with_memory() {
    let world = World::new();
    let fill = |head: u32| {
        let before = page_faults();
        let start = world.arena.address(world.arena.start(head));
        // SAFETY: the segment has just been opened, and is this test's alone.
        unsafe { start.write_bytes(7, world.arena.segment_bytes()) };
        page_faults() - before
    };
    let first = world.arena.open(1, 0, Queue::Probation).unwrap();
    assert!(
        fill(first.head()) >= 16,
        "each page of 4 KiB is touched for the first time"
    );
    assert!(world.arena.wants_backing());
    assert!(world.arena.back_next());
    while world.arena.back_next() {}
    assert!(!world.arena.wants_backing());
    let second = world.arena.open(1, 0, Queue::Probation).unwrap();
    assert_eq!(fill(second.head()), 0);
}
