//! Writes in a random order, compared with what is known of each key.

use crate::{delete, get, options, put, store, version};
use farcache_store::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u64),
    Delete(u8, u64),
    Plain(u8),
    Remove(u8),
    Flush,
    Fill,
}

fn step() -> impl Strategy<Value = Step> {
    let (key, number) = (0_u8..6, 1_u64..40);
    prop_oneof![
        8 => (key.clone(), number.clone()).prop_map(|(key, number)| Step::Put(key, number)),
        4 => (key.clone(), number).prop_map(|(key, number)| Step::Delete(key, number)),
        1 => key.clone().prop_map(Step::Plain),
        1 => key.prop_map(Step::Remove),
        1 => Just(Step::Flush),
        2 => Just(Step::Fill),
    ]
}

/// What is known of a key: the newest version that was ever taken, and what it left.
#[derive(Clone, Default)]
struct Known {
    newest: u64,
    value: Option<String>,
    /// What was ever taken, as number and whether it was a value.
    taken: BTreeSet<(u64, bool)>,
}

impl Known {
    /// One that is not the newest was there before, and changes nothing.
    fn take(&mut self, number: u64, value: Option<String>) -> bool {
        let is_new = number >= self.newest;
        let is_value = value.is_some();
        if is_new {
            (self.newest, self.value) = (number, value);
        }
        is_new | !self.taken.insert((number, is_value))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// With little memory, so that anything may be evicted: a key has what was stored last of what
    /// was taken, or nothing; and nothing is ever taken that is older than what was taken before.
    #[test]
    fn nothing_older_ever_comes_back(steps in proptest::collection::vec(step(), 1..60)) {
        let store = store(512 << 10);
        let mut handle = store.handle();
        let mut known: BTreeMap<u8, Known> = BTreeMap::new();
        let mut filled = 0;
        for step in steps {
            match step {
                Step::Put(key, number) => {
                    let value = format!("{number}");
                    let outcome = put(&handle, &key.to_string(), &value, number);
                    let known = known.entry(key).or_default();
                    match outcome {
                        SetOutcome::Stored { cas } => {
                            prop_assert_eq!(cas, version(number).bits());
                            prop_assert!(known.take(number, Some(value)));
                        }
                        SetOutcome::Older { current } | SetOutcome::Unsure { current } => {
                            prop_assert!(current >= version(number));
                        }
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
                Step::Delete(key, number) => {
                    let outcome = delete(&handle, &key.to_string(), number);
                    let known = known.entry(key).or_default();
                    match outcome {
                        VersionedDelete::Deleted { .. } => {
                            prop_assert!(known.take(number, None));
                        }
                        VersionedDelete::Promised { .. } => panic!("nothing is promised"),
                        VersionedDelete::Older { current }
                        | VersionedDelete::Unsure { current } => {
                            prop_assert!(current >= version(number));
                        }
                    }
                }
                Step::Plain(key) => {
                    let name = key.to_string();
                    let plain = handle.set(name.as_bytes(), b"p", &SetOptions::default());
                    prop_assert!(plain.is_ok());
                    known.entry(key).or_default().value = Some("p".into());
                }
                Step::Remove(key) => {
                    let gone = handle.delete(key.to_string().as_bytes(), &DeleteOptions::default());
                    prop_assert!(gone.is_ok());
                    known.entry(key).or_default().value = None;
                }
                Step::Flush => {
                    handle.flush_all(None);
                    known.values_mut().for_each(|known| known.value = None);
                }
                Step::Fill => for _ in 0..200 {
                    filled += 1;
                    let key = format!("other {filled}");
                    let other = handle.set(key.as_bytes(), &[7; 1000], &options(filled % 40));
                    prop_assert!(other.is_ok());
                    handle.quiescent();
                }
            }
            for (key, known) in &known {
                let found = get(&handle, &key.to_string()).map(|found| found.0);
                prop_assert!(found.is_none() || found == known.value, "{:?}", found);
            }
            handle.quiescent();
        }
    }
}
