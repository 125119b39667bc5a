use super::*;
use crate::device::FaultyDevice;
use crate::options::StoreConfig;
use crate::store::Store;
use crate::tier::TierConfig;

const SEGMENT_BYTES: u32 = 64 << 10;

fn store() -> Arc<Store> {
    let config = StoreConfig {
        memory_bytes: 1 << 20,
        segment_bytes: SEGMENT_BYTES,
        huge_pages: false,
        ..StoreConfig::default()
    };
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES,
        ..TierConfig::new(vec![Arc::new(FaultyDevice::new(2 << 20))])
    };
    Store::open(config, tier).unwrap()
}

/// Else it could be full before the deaths have been told that give slots back, with no slot left to tell them in.
#[test]
fn what_leaves_memory_stays_out_of_a_slot_that_is_kept_for_deaths() {
    let store = store();
    let core = &*store.core;
    let tier = core.tier.as_ref().unwrap();
    let incoming = Incoming {
        hash: 1,
        key: b"key",
        value: b"value",
        fields: Fields::default(),
        state: State::default(),
    };
    let append = |source| tier.append(core, &incoming, source, |_| true);
    assert!(tier.open_for_deaths(core, Source::Deaths));
    assert_eq!(append(Source::Memory), Appended::Busy);
    assert_eq!(append(Source::Cleaner), Appended::Done);
    tier.seal_open();
    assert_eq!(append(Source::Memory), Appended::Done);
}
