//! The store against a simple map with time: whatever sequence of operations, both answer alike.

use farcache_store::*;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

const NEVER: u32 = 0;

#[derive(Clone, Debug)]
enum Operation {
    Set {
        key: u8,
        value: Vec<u8>,
        options: SetOptions,
        cas: CasChoice,
    },
    Stream {
        key: u8,
        value: Vec<u8>,
        options: SetOptions,
    },
    Get {
        key: u8,
    },
    Delete {
        key: u8,
        options: DeleteOptions,
        cas: CasChoice,
    },
    Arithmetic {
        key: u8,
        options: ArithmeticOptions,
    },
    Touch {
        key: u8,
        expiry: u32,
    },
    Flush,
    Fence {
        first: u8,
        last: u8,
    },
    FlushLater {
        seconds: u32,
    },
    Wait {
        seconds: u32,
    },
    ClaimWin {
        key: u8,
    },
}

/// Which token a conditional operation presents.
#[derive(Clone, Copy, Debug)]
enum CasChoice {
    None,
    Right,
    Wrong,
}

#[derive(Clone, Debug, PartialEq)]
struct ModelItem {
    value: Vec<u8>,
    flags: u32,
    expiry: u32,
    stale: bool,
    win_sent: bool,
    fetched: bool,
}

struct Pair {
    store: Arc<Store>,
    handle: StoreHandle,
    model: HashMap<u8, ModelItem>,
    now: u32,
    flush_at: Option<u32>,
}

fn key_bytes(key: u8) -> Vec<u8> {
    // Long and short keys, so that layouts differ.
    format!("{key}")
        .repeat(1 + usize::from(key) * 4)
        .into_bytes()
}

/// The hash of a key that fences are told by.
fn key_number(_: u8, bytes: &[u8]) -> u32 {
    let is_it = |key: &u8| key_bytes(*key) == bytes;
    (0..=u8::MAX).find(is_it).expect("a key").into()
}

/// What memcached takes for a number: the first word, with a plus sign or without.
fn number(value: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(value);
    let word = text.split_ascii_whitespace().next()?;
    let digits = word.strip_prefix('+').unwrap_or(word);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

impl Pair {
    fn new() -> Pair {
        let store = Store::new(StoreConfig {
            memory_bytes: 8 << 20,
            segment_bytes: 64 << 10,
            key_hash: Some(KeyHash(key_number)),
            ..StoreConfig::default()
        });
        let store = store.unwrap();
        let handle = store.handle();
        handle.set_now(100);
        Pair {
            store,
            handle,
            model: HashMap::new(),
            now: 100,
            flush_at: None,
        }
    }

    fn live(&mut self, key: u8) -> Option<&mut ModelItem> {
        let now = self.now;
        self.model
            .get_mut(&key)
            .filter(|item| item.expiry == NEVER || item.expiry > now)
    }

    fn token(&self, key: u8, choice: CasChoice) -> Option<u64> {
        let token = self
            .handle
            .get(&key_bytes(key), Access::Peek)
            .unwrap()
            .map_or(1, |item| item.cas());
        match choice {
            CasChoice::None => None,
            CasChoice::Right => Some(token),
            CasChoice::Wrong => Some(token ^ 1),
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match operation.clone() {
            Operation::Set {
                key,
                value,
                mut options,
                cas,
            } => {
                options.compare_cas = self.token(key, cas);
                let expected = self.model_set(key, &value, &options, cas);
                let outcome = self.handle.set(&key_bytes(key), &value, &options).unwrap();
                assert_eq!(
                    std::mem::discriminant(&outcome),
                    std::mem::discriminant(&expected)
                );
            }
            Operation::Stream {
                key,
                value,
                options,
            } => {
                let expected = self.model_set(key, &value, &options, CasChoice::None);
                let mut room = self
                    .handle
                    .reserve(&key_bytes(key), value.len(), &options)
                    .unwrap();
                let (first, last) = room.value_mut().split_at_mut(value.len() / 2);
                first.copy_from_slice(&value[..value.len() / 2]);
                last.copy_from_slice(&value[value.len() / 2..]);
                let outcome = self.handle.commit(room, &options).unwrap().unwrap();
                assert_eq!(
                    std::mem::discriminant(&outcome),
                    std::mem::discriminant(&expected)
                );
            }
            Operation::Get { key } => self.check(key, Access::Use),
            Operation::Delete {
                key,
                mut options,
                cas,
            } => {
                options.compare_cas = self.token(key, cas);
                let expected = self.model_delete(key, &options, cas);
                let outcome = self.handle.delete(&key_bytes(key), &options).unwrap();
                assert_eq!(outcome, expected);
            }
            Operation::Arithmetic { key, options } => self.arithmetic(key, &options),
            Operation::Touch { key, expiry } => {
                let found = self
                    .handle
                    .touch(&key_bytes(key), expiry, Access::Peek)
                    .unwrap();
                assert_eq!(
                    found.is_some(),
                    self.model.contains_key(&key) && {
                        let now = self.now;
                        let item = &self.model[&key];
                        item.expiry == NEVER || item.expiry > now
                    }
                );
                drop(found);
                if let Some(item) = self.live(key) {
                    item.expiry = expiry;
                }
            }
            Operation::Flush => {
                self.handle.flush_all(None);
                self.model.clear();
            }
            Operation::Fence { first, last } => {
                self.store.fence(KeyArcs {
                    hash: 1,
                    arcs: vec![(u32::from(first), u32::from(last))],
                });
                let voided = first..=last;
                self.model.retain(|name, _| !voided.contains(name));
            }
            Operation::FlushLater { seconds } => {
                self.handle.flush_all(Some(self.now + seconds));
                self.flush_at = Some(self.now + seconds);
            }
            Operation::Wait { seconds } => {
                self.now += seconds;
                self.handle.set_now(self.now);
                if self.flush_at.is_some_and(|at| at <= self.now) {
                    self.flush_at = None;
                    self.model.clear();
                }
            }
            Operation::ClaimWin { key } => {
                let won = self
                    .handle
                    .get(&key_bytes(key), Access::Peek)
                    .unwrap()
                    .map(|i| i.claim_win());
                let expected = self
                    .live(key)
                    .map(|item| !std::mem::replace(&mut item.win_sent, true));
                assert_eq!(won, expected);
            }
        }
        self.handle.quiescent();
    }

    fn model_set(&mut self, key: u8, value: &[u8], o: &SetOptions, cas: CasChoice) -> SetOutcome {
        let stored = SetOutcome::Stored { cas: 0 };
        let present = self.live(key).cloned();
        let fresh = ModelItem {
            value: value.to_vec(),
            flags: o.flags,
            expiry: o.expiry,
            stale: false,
            win_sent: o.win_sent,
            fetched: false,
        };
        let item = match (o.mode, present, cas) {
            (SetMode::Add, Some(_), _) => return SetOutcome::NotStored,
            (_, None, CasChoice::Right | CasChoice::Wrong) => return SetOutcome::NotFound,
            (_, Some(_), CasChoice::Wrong) => return SetOutcome::Exists,
            (SetMode::Replace, None, _) => return SetOutcome::NotStored,
            (SetMode::Append | SetMode::Prepend, None, _) => match o.vivify {
                None => return SetOutcome::NotStored,
                Some(expiry) => ModelItem { expiry, ..fresh },
            },
            (SetMode::Append, Some(old), _) => ModelItem {
                value: [&old.value, value].concat(),
                stale: false,
                win_sent: false,
                ..old
            },
            (SetMode::Prepend, Some(old), _) => ModelItem {
                value: [value, &old.value].concat(),
                stale: false,
                win_sent: false,
                ..old
            },
            _ => fresh,
        };
        self.model.insert(key, item);
        stored
    }

    fn model_delete(&mut self, key: u8, o: &DeleteOptions, cas: CasChoice) -> DeleteOutcome {
        let Some(item) = self.live(key) else {
            return DeleteOutcome::NotFound;
        };
        if matches!(cas, CasChoice::Wrong) {
            return DeleteOutcome::Exists;
        }
        if !o.invalidate && !o.clear_value {
            self.model.remove(&key);
            return DeleteOutcome::Deleted;
        }
        if o.clear_value {
            item.value.clear();
            item.flags = o.flags;
            item.expiry = NEVER;
        }
        item.stale = o.invalidate;
        item.win_sent = false;
        item.expiry = o.expiry.unwrap_or(item.expiry);
        DeleteOutcome::Deleted
    }

    fn arithmetic(&mut self, key: u8, options: &ArithmeticOptions) {
        let outcome = self.handle.arithmetic(&key_bytes(key), options).unwrap();
        let old = self.live(key).map(|item| {
            item.fetched = true;
            number(&item.value)
        });
        let expected = match old {
            None => options.initial,
            Some(None) => {
                assert_eq!(outcome, ArithmeticOutcome::NotNumeric);
                return;
            }
            Some(Some(old)) if options.decrement => {
                Some((old.saturating_sub(options.delta), self.model[&key].expiry))
            }
            Some(Some(old)) => Some((old.wrapping_add(options.delta), self.model[&key].expiry)),
        };
        match (outcome, expected) {
            (ArithmeticOutcome::NotFound, None) => {}
            (
                ArithmeticOutcome::Done {
                    value,
                    expiry,
                    created,
                    ..
                },
                Some((number, expires)),
            ) => {
                assert_eq!((value, expiry, created), (number, expires, old.is_none()));
                let fresh = ModelItem {
                    value: vec![],
                    flags: 0,
                    expiry,
                    stale: false,
                    win_sent: false,
                    fetched: false,
                };
                let kept = if created {
                    fresh
                } else {
                    self.model[&key].clone()
                };
                self.model.insert(
                    key,
                    ModelItem {
                        value: number.to_string().into(),
                        ..kept
                    },
                );
            }
            (outcome, expected) => panic!("{outcome:?} instead of {expected:?}"),
        }
    }

    fn check(&mut self, key: u8, access: Access) {
        let bytes = key_bytes(key);
        let mut found = Vec::new();
        self.handle
            .get_batch(&[&bytes, b"absent"], access, &mut found)
            .unwrap();
        assert!(found[1].is_none());
        let seen = found[0].as_ref().map(|item| {
            assert_eq!(item.key(), bytes);
            ModelItem {
                value: item.value().to_vec(),
                flags: item.flags(),
                expiry: item.expiry(),
                stale: item.is_stale(),
                win_sent: item.is_win_sent(),
                fetched: item.was_fetched(),
            }
        });
        drop(found);
        let now = self.now;
        let expected = self
            .model
            .get(&key)
            .filter(|item| item.expiry == NEVER || item.expiry > now);
        assert_eq!(seen.as_ref(), expected, "key {key} at {now}");
        if let (Access::Use, Some(item)) = (access, self.live(key)) {
            item.fetched = true;
        }
    }

    fn check_all(&mut self) {
        (0..KEYS).for_each(|key| self.check(key, Access::Peek));
        let mut seen = HashMap::new();
        let mut cursor = ScanCursor::default();
        while self.handle.scan(&mut cursor, 3, &mut |item| {
            assert!(
                seen.insert(item.key().to_vec(), item.value().to_vec())
                    .is_none()
            );
        }) {}
        let now = self.now;
        let live = self
            .model
            .iter()
            .filter(|(_, item)| item.expiry == NEVER || item.expiry > now);
        let expected: HashMap<_, _> = live
            .map(|(key, item)| (key_bytes(*key), item.value.clone()))
            .collect();
        assert_eq!(seen, expected);
    }
}

const KEYS: u8 = 6;

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        5 => proptest::collection::vec(any::<u8>(), 0..40),
        3 => any::<u32>().prop_map(|number| number.to_string().into_bytes()),
        1 => (60_000usize..200_000).prop_map(|len| vec![7; len]),
    ]
}

fn expiry() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(NEVER), 1 => Just(1), 2 => 101u32..200]
}

fn set_options() -> impl Strategy<Value = SetOptions> {
    let mode = prop_oneof![
        4 => Just(SetMode::Set), 1 => Just(SetMode::Add), 1 => Just(SetMode::Replace),
        1 => Just(SetMode::Append), 1 => Just(SetMode::Prepend),
    ];
    let vivify = proptest::option::of(expiry());
    let flags = prop_oneof![Just(0), any::<u32>()];
    (mode, flags, expiry(), vivify, any::<bool>(), any::<bool>()).prop_map(
        |(mode, flags, expiry, vivify, win_sent, cas_wanted)| SetOptions {
            mode,
            flags,
            expiry,
            vivify,
            win_sent,
            cas_wanted,
            ..SetOptions::default()
        },
    )
}

fn cas_choice() -> impl Strategy<Value = CasChoice> {
    prop_oneof![4 => Just(CasChoice::None), 1 => Just(CasChoice::Right), 1 => Just(CasChoice::Wrong)]
}

fn operation() -> impl Strategy<Value = Operation> {
    let key = 0..KEYS;
    let set = (key.clone(), value(), set_options(), cas_choice());
    let set = set.prop_map(|(key, value, options, cas)| Operation::Set {
        key,
        value,
        options,
        cas,
    });
    let stream = (key.clone(), value(), set_options());
    let stream = stream.prop_map(|(key, value, options)| Operation::Stream {
        key,
        value,
        options,
    });
    let kept = (proptest::option::of(expiry()), any::<u32>());
    let delete = (any::<bool>(), any::<bool>(), kept);
    let delete = delete.prop_map(|(invalidate, clear_value, (expiry, flags))| DeleteOptions {
        invalidate,
        expiry,
        clear_value,
        flags,
        ..DeleteOptions::default()
    });
    let initial = proptest::option::of((any::<u64>(), expiry()));
    let arithmetic =
        (any::<u64>(), any::<bool>(), initial).prop_map(|(delta, decrement, initial)| {
            ArithmeticOptions {
                delta,
                decrement,
                initial,
                ..ArithmeticOptions::default()
            }
        });
    prop_oneof![
        6 => set,
        2 => stream,
        5 => key.clone().prop_map(|key| Operation::Get { key }),
        2 => (key.clone(), delete, cas_choice())
            .prop_map(|(key, options, cas)| Operation::Delete { key, options, cas }),
        2 => (key.clone(), arithmetic)
            .prop_map(|(key, options)| Operation::Arithmetic { key, options }),
        2 => (key.clone(), expiry()).prop_map(|(key, expiry)| Operation::Touch { key, expiry }),
        1 => Just(Operation::Flush),
        1 => (key.clone(), key.clone()).prop_map(|(one, other)| Operation::Fence {
            first: one.min(other),
            last: one.max(other),
        }),
        1 => (1u32..20).prop_map(|seconds| Operation::FlushLater { seconds }),
        2 => (1u32..30).prop_map(|seconds| Operation::Wait { seconds }),
        1 => key.prop_map(|key| Operation::ClaimWin { key }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_answers_like_a_map(
        operations in proptest::collection::vec(operation(), 1..120)
    ) {
        let mut pair = Pair::new();
        for operation in &operations {
            pair.apply(operation);
        }
        pair.check_all();
    }
}
