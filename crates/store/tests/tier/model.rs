//! The store with a tier against a simple map: whatever sequence of operations, restarts among
//! them, both answer alike.

use crate::common::*;
use farcache_store::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

const KEYS: u32 = 40;
const NEVER: u32 = 0;

#[derive(Clone, Debug)]
enum Operation {
    Set {
        key: u32,
        bytes: usize,
        expiry: u32,
    },
    Append {
        key: u32,
        bytes: usize,
    },
    Count {
        key: u32,
    },
    Delete {
        key: u32,
    },
    Touch {
        key: u32,
        expiry: u32,
    },
    Swap {
        key: u32,
        right: bool,
    },
    Get {
        key: u32,
    },
    /// Stores other things, so that memory runs out.
    Press,
    Wait {
        seconds: u32,
    },
    Flush,
    Fence {
        first: u32,
        last: u32,
    },
    Restart,
}

#[derive(Clone, Debug, PartialEq)]
struct Item {
    value: Vec<u8>,
    expiry: u32,
}

struct Pair {
    device: Arc<FaultyDevice>,
    store: Option<(Arc<Store>, StoreHandle)>,
    model: HashMap<u32, Item>,
    now: u32,
    epoch_unix: i64,
    versions: u32,
}

impl Pair {
    fn new() -> Pair {
        let mut pair = Pair {
            device: device(16 << 20),
            store: None,
            model: HashMap::new(),
            now: 100,
            epoch_unix: 1_000_000,
            versions: 0,
        };
        pair.start();
        pair
    }

    fn start(&mut self) {
        let tier = TierConfig {
            epoch_unix: self.epoch_unix,
            engine: EngineChoice::Threads,
            ..tier(&self.device)
        };
        let config = StoreConfig {
            evict: false,
            key_hash: Some(KeyHash(number_of)),
            ..config(2 << 20)
        };
        let store = Store::open(config, tier).unwrap();
        let handle = store.handle();
        handle.set_now(self.now);
        self.store = Some((store, handle));
    }

    /// A new process, whose seconds begin elsewhere.
    fn restart(&mut self) {
        let (store, handle) = self.store.take().unwrap();
        drop(handle);
        assert!(store.shutdown(PATIENCE), "{:?}", stats(&store));
        drop(store);
        // Its first instant is 2.
        let shift = self.now - 2;
        self.epoch_unix += i64::from(shift);
        self.now -= shift;
        for item in self.model.values_mut().filter(|item| item.expiry != NEVER) {
            item.expiry = item.expiry.saturating_sub(shift).max(1);
        }

        self.start();
    }

    fn run<R>(&mut self, request: impl FnMut(&StoreHandle) -> Result<R, Suspended>) -> R {
        let (_, handle) = self.store.as_mut().unwrap();
        let outcome = handle.run_blocking(request).unwrap();
        handle.quiescent();
        outcome
    }

    fn live(&mut self, number: u32) -> Option<&mut Item> {
        let now = self.now;
        let item = self.model.get_mut(&number);
        item.filter(|item| item.expiry == NEVER || item.expiry > now)
    }

    fn apply(&mut self, operation: &Operation) {
        self.versions += 1;
        match *operation {
            Operation::Set {
                key: number,
                bytes,
                expiry,
            } => {
                let value = value(number, self.versions, bytes);
                let expiry = self.instant(expiry);
                let options = SetOptions::set(0, expiry);
                let outcome =
                    self.run(|handle| settled(handle.set(&key(number), &value, &options)));
                assert!(matches!(outcome, Ok(SetOutcome::Stored { .. })));
                self.model.insert(number, Item { value, expiry });
            }
            Operation::Append { key: number, bytes } => self.append(number, bytes),
            Operation::Count { key: number } => self.count(number),
            Operation::Delete { key: number } => {
                let was_there = self.live(number).is_some();
                let plain = DeleteOptions::default();
                let outcome = self.run(|handle| handle.delete(&key(number), &plain));
                assert_eq!(outcome == DeleteOutcome::Deleted, was_there, "{number}");
                self.model.remove(&number);
            }
            Operation::Touch {
                key: number,
                expiry,
            } => {
                let expiry = self.instant(expiry);
                let touched = self.run(|handle| {
                    let touched = settled(handle.touch(&key(number), expiry, Access::Use))?;
                    Ok(touched.unwrap().map(|item| item.value().to_vec()))
                });
                let expected = self.live(number).map(|item| {
                    item.expiry = expiry;
                    item.value.clone()
                });
                assert_eq!(touched, expected);
            }
            Operation::Swap { key: number, right } => self.swap(number, right),
            Operation::Get { key: number } => self.check(number),
            Operation::Press => {
                for number in 1000..1300 {
                    let value = value(number, self.versions, 5000);
                    let plain = SetOptions::default();
                    let outcome =
                        self.run(|handle| settled(handle.set(&key(number), &value, &plain)));
                    assert!(
                        matches!(outcome, Ok(SetOutcome::Stored { .. })),
                        "{outcome:?}"
                    );
                }
            }
            Operation::Wait { seconds } => {
                self.now += seconds;
                let now = self.now;
                self.run(|handle| {
                    handle.set_now(now);
                    Ok(())
                });
            }
            Operation::Flush => {
                self.run(|handle| {
                    handle.flush_all(None);
                    Ok(())
                });
                self.model.clear();
            }
            Operation::Fence { first, last } => {
                let (store, _) = self.store.as_ref().unwrap();
                store.fence(keys_between(first, last));
                store.note_tenure(b"").unwrap();
                self.model
                    .retain(|number, _| !(first..=last).contains(number));
            }
            Operation::Restart => self.restart(),
        }
    }

    fn instant(&self, seconds: u32) -> u32 {
        if seconds == 0 {
            NEVER
        } else {
            self.now + seconds
        }
    }

    fn append(&mut self, number: u32, bytes: usize) {
        let more = value(number, self.versions, bytes);
        let options = SetOptions {
            mode: SetMode::Append,
            ..SetOptions::default()
        };
        let outcome = self
            .run(|handle| settled(handle.set(&key(number), &more, &options)))
            .unwrap();
        let was_there = self
            .live(number)
            .map(|item| item.value.extend(&more))
            .is_some();
        assert_eq!(matches!(outcome, SetOutcome::Stored { .. }), was_there);
    }

    fn count(&mut self, number: u32) {
        let options = ArithmeticOptions {
            delta: 3,
            initial: Some((10, NEVER)),
            ..ArithmeticOptions::default()
        };
        let outcome = self
            .run(|handle| settled(handle.arithmetic(&key(number), &options)))
            .unwrap();
        let Some(item) = self.live(number) else {
            assert!(
                matches!(outcome, ArithmeticOutcome::Done { value: 10, .. }),
                "{outcome:?}"
            );
            let created = Item {
                value: b"10".to_vec(),
                expiry: NEVER,
            };
            self.model.insert(number, created);
            return;
        };
        let old: Option<u64> = std::str::from_utf8(&item.value)
            .ok()
            .and_then(|text| text.parse().ok());
        match old {
            Some(old) => {
                assert!(
                    matches!(outcome, ArithmeticOutcome::Done { value, .. } if value == old + 3)
                );
                item.value = (old + 3).to_string().into_bytes();
            }
            None => assert_eq!(outcome, ArithmeticOutcome::NotNumeric),
        }
    }

    fn swap(&mut self, number: u32, right: bool) {
        let token = |handle: &StoreHandle| {
            handle
                .get(&key(number), Access::Peek)
                .map(|item| item.map(|item| item.cas()))
        };
        let token = self.run(token);
        assert_eq!(token.is_some(), self.live(number).is_some());
        let options = SetOptions {
            compare_cas: Some(token.map_or(1, |token| if right { token } else { token ^ 1 })),
            ..SetOptions::default()
        };
        let outcome = self
            .run(|handle| settled(handle.set(&key(number), b"77", &options)))
            .unwrap();
        match self.live(number) {
            None => assert_eq!(outcome, SetOutcome::NotFound),
            Some(_) if !right => assert_eq!(outcome, SetOutcome::Exists),
            Some(item) => {
                assert!(matches!(outcome, SetOutcome::Stored { .. }));
                *item = Item {
                    value: b"77".to_vec(),
                    expiry: NEVER,
                };
            }
        }
    }

    fn check(&mut self, number: u32) {
        let found = self.run(|handle| {
            let item = handle.get(&key(number), Access::Use);
            item.map(|item| item.map(|item| (item.value().to_vec(), item.expiry())))
        });
        let expected = self
            .live(number)
            .map(|item| (item.value.clone(), item.expiry));
        assert_eq!(found, expected, "key {number}");
    }

    fn check_all(&mut self) {
        (0..KEYS).for_each(|number| self.check(number));
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let bytes = || prop_oneof![3 => 0..200usize, 2 => 200..6000usize, 1 => 60_000..70_000usize];
    let expiry = || prop_oneof![3 => Just(0u32), 1 => 1..120u32];
    prop_oneof![
        6 => (0..KEYS, bytes(), expiry()).prop_map(|(key, bytes, expiry)| Operation::Set { key, bytes, expiry }),
        2 => (0..KEYS, bytes()).prop_map(|(key, bytes)| Operation::Append { key, bytes }),
        2 => (0..KEYS).prop_map(|key| Operation::Count { key }),
        2 => (0..KEYS).prop_map(|key| Operation::Delete { key }),
        2 => (0..KEYS, expiry()).prop_map(|(key, expiry)| Operation::Touch { key, expiry }),
        2 => (0..KEYS, any::<bool>()).prop_map(|(key, right)| Operation::Swap { key, right }),
        6 => (0..KEYS).prop_map(|key| Operation::Get { key }),
        3 => Just(Operation::Press),
        1 => (1..40u32).prop_map(|seconds| Operation::Wait { seconds }),
        1 => prop_oneof![3 => Just(Operation::Wait { seconds: 1 }), 1 => Just(Operation::Flush)],
        1 => (0..KEYS, 0..KEYS).prop_map(|(one, other)| Operation::Fence { first: one.min(other), last: one.max(other) }),
        1 => Just(Operation::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_with_a_tier_answers_like_a_map(operations in prop::collection::vec(operation(), 1..120)) {
        let mut pair = Pair::new();
        for operation in &operations {
            pair.apply(operation);
        }
        pair.check_all();
        pair.restart();
        pair.check_all();
    }
}
