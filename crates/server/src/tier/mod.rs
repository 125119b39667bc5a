//! The SSD tier from the operator's side: its devices are opened before anything else can go wrong,
//! its store is recovered at the start and written out at the end, and what happens to it is
//! logged.

mod devices;
mod events;

pub use devices::{Devices, open_devices};
pub use events::EventLog;

use crate::settings::Settings;
use devices::{hint_to_format, may_format};
use events::{log_event, log_events};
use farcache_store::{Store, StoreConfig, TierConfig, TierPlan, TierRefusal};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an orderly stop writes out what is in memory, at most. What is not durable then is
/// lost.
const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(90);

/// Makes the store; what is on the devices is there again.
///
/// # Errors
/// The store's, with the option that permits what would have to be done.
pub fn open_store(
    config: StoreConfig,
    devices: Devices,
    settings: &Settings,
    epoch_unix: i64,
) -> io::Result<Arc<Store>> {
    if devices.is_empty() {
        return Store::new(config);
    }
    let is_permitted = |number: &usize| may_format(&settings.devices[*number], settings);
    let tier = TierConfig {
        may_format: (0..devices.len()).filter(is_permitted).collect(),
        allow_missing: settings.allow_missing_devices,
        durability: settings.durability,
        epoch_unix,
        ..TierConfig::new(devices)
    };
    let plan = TierPlan::make(tier).map_err(with_hint)?;
    // Before anything is overwritten.
    plan.events().iter().for_each(log_event);
    let store = Store::open_planned(config, &plan)?;
    log_recovery(&store);
    Ok(store)
}

/// Names the option that permits what was refused.
fn with_hint(error: io::Error) -> io::Error {
    let refusal = error.get_ref().and_then(|inner| inner.downcast_ref());
    let hint = match refusal {
        Some(TierRefusal::Device { device, .. }) => hint_to_format(device),
        Some(TierRefusal::Missing { .. } | TierRefusal::Shrunk { .. }) => {
            "; --ssd-allow-missing lets the server go on without that".to_owned()
        }
        None => String::new(),
    };
    io::Error::new(error.kind(), format!("SSD tier: {error}{hint}"))
}

fn log_recovery(store: &Store) {
    let stats = store.tier_stats().unwrap_or_default();
    tracing::info!(
        items = stats.items_recovered,
        segments = stats.segments_recovered,
        dropped = stats.segments_dropped,
        milliseconds = stats.recovery_us / 1000,
        capacity_mebibytes = stats.device_bytes >> 20,
        "SSD tier opened"
    );
    log_events(store);
}

/// Writes out what is in memory; all handles must have been dropped. Nothing to do without a tier.
pub fn write_out(store: &Store) {
    if store.tier_stats().is_none() {
        return;
    }
    tracing::info!("writing memory to the SSD tier");
    let start = Instant::now();
    let evicted = store.stats().evictions;
    let is_complete = store.shutdown(SHUTDOWN_TIME_MAX);
    let milliseconds = start.elapsed().as_millis() as u64;
    let items = store.tier_stats().unwrap_or_default().items;
    let lost = items_lost(store, evicted, items);
    log_events(store);
    if !is_complete {
        tracing::error!(
            items,
            lost,
            milliseconds,
            "SSD tier closed, but not everything could be written out"
        );
    } else if lost > 0 {
        tracing::warn!(
            items,
            lost,
            milliseconds,
            "SSD tier closed; it has no room for everything, so the oldest items were evicted"
        );
    } else {
        tracing::info!(items, milliseconds, "SSD tier closed");
    }
}

/// Items that an orderly stop has dropped, and those that it has left in memory.
fn items_lost(store: &Store, evicted_before: u64, items_on_device: u64) -> u64 {
    let stats = store.stats();
    let left = stats.items.saturating_sub(items_on_device);
    stats.evictions - evicted_before + left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DeviceSettings;
    use std::path::Path;

    pub(super) fn settings(path: &Path, bytes: Option<u64>) -> Settings {
        Settings {
            memory_bytes: 8 << 20,
            devices: vec![DeviceSettings {
                path: path.to_owned(),
                bytes,
            }],
            ..Settings::default()
        }
    }

    fn store_config(settings: &Settings) -> StoreConfig {
        StoreConfig {
            memory_bytes: settings.memory_bytes,
            segment_bytes: StoreConfig::segment_bytes_for(settings.memory_bytes),
            ..StoreConfig::default()
        }
    }

    #[test]
    fn what_may_be_overwritten_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("letters");
        std::fs::write(&path, b"Dear reader").expect("written");
        let settings = Settings {
            devices_to_format: vec![path.clone()],
            ..settings(&path, Some(20 << 20))
        };
        let open = || {
            let devices = open_devices(&settings).expect("opened");
            open_store(store_config(&settings), devices, &settings, 0).expect("a store")
        };
        let options = farcache_store::SetOptions::default();
        let store = open();
        let stored = store.handle().set(b"key", b"value", &options);
        stored.expect("room");
        write_out(&store);
        drop(store);
        // It belongs to the store now, and is kept.
        assert_eq!(open().tier_stats().expect("a tier").items_recovered, 1);
    }

    #[test]
    fn a_missing_device_is_told_with_the_option_that_allows_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let two = ["a", "b"].map(|name| DeviceSettings {
            path: directory.path().join(name),
            bytes: Some(20 << 20),
        });
        let mut settings = settings(directory.path(), None);
        let open = |settings: &Settings| {
            let devices = open_devices(settings).expect("opened");
            open_store(store_config(settings), devices, settings, 0)
        };
        settings.devices = two.to_vec();
        drop(open(&settings).expect("a store"));
        settings.devices = two[..1].to_vec();
        let message = open(&settings).err().expect("refused").to_string();
        assert!(
            message.contains("1 of the 2 devices") && message.contains("--ssd-allow-missing"),
            "{message}"
        );
        settings.allow_missing_devices = true;
        drop(open(&settings).expect("a store"));
        // It fell behind, and the other one goes on.
        settings.devices = two.to_vec();
        let store = open(&settings).expect("a store");
        assert_eq!(store.tier_stats().expect("a tier").devices_failed, 1);
        drop(store);
        settings.devices = two[1..].to_vec();
        settings.allow_missing_devices = false;
        assert!(open(&settings).is_err(), "the other one is missing");
    }

    #[test]
    fn the_store_comes_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = settings(directory.path(), None);
        let open = || {
            let devices = open_devices(&settings).expect("opened");
            open_store(store_config(&settings), devices, &settings, 0).expect("a store")
        };
        let store = open();
        let options = farcache_store::SetOptions::default();
        store
            .handle()
            .set(b"key", b"value", &options)
            .expect("room");
        write_out(&store);
        drop(store);
        assert_eq!(open().tier_stats().expect("a tier").items_recovered, 1);
    }
}
