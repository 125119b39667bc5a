//! The SSD tier from the operator's side: its devices are opened before anything else can go wrong,
//! its store is recovered at the start and written out at the end, and what happens to it is
//! logged.

use crate::panics;
use crate::settings::{DEVICE_FILE_NAME, DeviceSettings, Settings};
use farcache_store::{
    Device, FileDevice, Store, StoreConfig, TierConfig, TierEvent, TierEventKind, TierPlan,
    TierRefusal,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Size of a file that is made without a size being given, in sizes of the memory.
const NEW_FILE_PER_MEMORY: u64 = 4;

/// How long an orderly stop writes out what is in memory, at most. What is not durable then is
/// lost.
const SHUTDOWN_TIME_MAX: Duration = Duration::from_secs(90);

/// How long a device may be in use by a process that has ended, and how often that is looked at.
const BUSY_TIME_MAX: Duration = Duration::from_secs(3);
const BUSY_INTERVAL: Duration = Duration::from_millis(10);

/// How often the tier is asked what happened.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The tier's devices, each owned by this process from now on.
pub type Devices = Vec<Arc<dyn Device>>;

/// Opens the devices that the operator chose.
///
/// # Errors
/// What is wrong with one of them, with its name.
pub fn open_devices(settings: &Settings) -> io::Result<Devices> {
    let open = |device: &DeviceSettings| {
        let path = file_of(&device.path);
        let opened = open_device(&path, device, settings);
        opened.map_err(|error| {
            let path = path.display();
            let hint = match error.kind() {
                io::ErrorKind::AlreadyExists => hint_to_format(&path.to_string()),
                _ => String::new(),
            };
            let message = format!("cannot use {path} for the SSD tier: {error}{hint}");
            io::Error::new(error.kind(), message)
        })
    };
    settings.devices.iter().map(open).collect()
}

/// What is given, or the file in the directory that is given.
fn file_of(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join(DEVICE_FILE_NAME),
        false => path.to_owned(),
    }
}

/// What to do where a device is not blank.
fn hint_to_format(device: &str) -> String {
    format!("; --ssd-format={device} lets the server overwrite what is there")
}

/// Whether a device may be formatted although it holds something.
fn may_format(device: &DeviceSettings, settings: &Settings) -> bool {
    let mut permitted = settings.devices_to_format.iter();
    permitted.any(|path| device.is_at(path))
}

fn open_device(
    path: &Path,
    device: &DeviceSettings,
    settings: &Settings,
) -> io::Result<Arc<dyn Device>> {
    let is_new = match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error),
    };
    let default = settings.memory_bytes.saturating_mul(NEW_FILE_PER_MEMORY);
    let bytes = device.bytes.or(is_new.then_some(default));
    let open = match may_format(device, settings) {
        true => FileDevice::open_any,
        false => FileDevice::open,
    };
    Ok(Arc::new(open_when_free(|| open(path, bytes))?))
}

/// Opens a device; waits a little for a process that has just ended to let go of it, which the
/// kernel does only when the transfers under way have ended.
fn open_when_free(open: impl Fn() -> io::Result<FileDevice>) -> io::Result<FileDevice> {
    let deadline = Instant::now() + BUSY_TIME_MAX;
    loop {
        match open() {
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
            {
                std::thread::sleep(BUSY_INTERVAL);
            }
            opened => return opened,
        }
    }
}

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

fn log_events(store: &Store) {
    let events = store.take_tier_events();
    events.iter().for_each(log_event);
    let mut kinds = events.iter().map(|event| event.kind);
    let has_lost_one = kinds.any(|kind| kind == TierEventKind::OutOfService);
    let stats = store.tier_stats().filter(|_| has_lost_one);
    if stats.is_some_and(|stats| stats.device_bytes == 0) {
        tracing::error!(
            "no SSD is left in service: nothing that is stored from now on survives the end of the server, and with \
             --durability sync every change is answered with an error"
        );
    }
}

fn log_event(event: &TierEvent) {
    let TierEvent {
        kind,
        device,
        detail,
    } = event;
    match kind {
        TierEventKind::Formatted => tracing::info!(%device, %detail, "the SSD is formatted"),
        TierEventKind::Overwritten => {
            tracing::warn!(%device, %detail, "the SSD is formatted, as --ssd-format says; what it held is lost");
        }
        TierEventKind::LeftAside => {
            tracing::warn!(%device, %detail, "the SSD is left aside, as it is; --ssd-format uses it anew");
        }
        TierEventKind::Missing => {
            tracing::warn!(%device, %detail, "going on without that, as --ssd-allow-missing says");
        }
        TierEventKind::SegmentsDropped => {
            tracing::warn!(%device, %detail, "torn or damaged segments dropped from the SSD");
        }
        TierEventKind::ReadFailed => tracing::error!(%device, %detail, "the SSD cannot be read"),
        TierEventKind::Corrupt => tracing::error!(%device, %detail, "the SSD returned wrong bytes"),
        TierEventKind::WriteFailed => {
            tracing::error!(%device, %detail, "the SSD cannot be written");
        }
        TierEventKind::OutOfService => {
            tracing::error!(%device, %detail, "the SSD is out of service: its items are misses");
        }
    }
}

/// The thread that logs what happens to the tier.
pub struct EventLog {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl EventLog {
    /// Starts it; none where there is no tier.
    ///
    /// # Errors
    /// When threads are exhausted.
    pub fn start(store: &Arc<Store>) -> io::Result<Option<EventLog>> {
        if store.tier_stats().is_none() {
            return Ok(None);
        }
        let (stop, stopped) = channel();
        let store = Arc::clone(store);
        let thread = std::thread::Builder::new()
            .name("tier-log".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(LOG_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    panics::contain(|| log_events(&store));
                }
            })?;
        Ok(Some(EventLog { stop, thread }))
    }

    /// Ends it.
    pub fn stop(self) {
        drop(self.stop);
        // A panic there has been contained.
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(path: &Path, bytes: Option<u64>) -> Settings {
        Settings {
            memory_bytes: 8 << 20,
            devices: vec![DeviceSettings {
                path: path.to_owned(),
                bytes,
            }],
            ..Settings::default()
        }
    }

    #[test]
    fn a_directory_gets_a_file_of_four_times_the_memory() {
        let directory = tempfile::tempdir().expect("a directory");
        let devices = open_devices(&settings(directory.path(), None)).expect("opened");
        assert_eq!(devices[0].bytes(), 32 << 20);
        assert!(directory.path().join(DEVICE_FILE_NAME).is_file());
    }

    #[test]
    fn a_file_keeps_its_size_and_serves_one_process() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let first = open_devices(&settings(&path, Some(20 << 20))).expect("opened");
        let second = open_devices(&settings(&path, None)).err().expect("in use");
        assert!(second.to_string().contains("in use"), "{second}");
        drop(first);
        let again = open_devices(&settings(&path, None)).expect("opened");
        assert_eq!(again[0].bytes(), 20 << 20);
    }

    #[test]
    fn what_holds_something_else_is_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("letters");
        std::fs::write(&path, b"Dear reader").expect("written");
        let error = open_devices(&settings(&path, Some(20 << 20))).err();
        let message = error.expect("refused").to_string();
        assert!(
            message.contains("it holds data")
                && message.contains("--ssd-format=")
                && message.contains("letters"),
            "{message}"
        );
        assert_eq!(std::fs::read(&path).expect("there"), b"Dear reader");
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
    fn what_cannot_be_made_is_named() {
        let error = open_devices(&settings(Path::new("/no/such/place"), None)).err();
        assert!(
            error
                .expect("refused")
                .to_string()
                .contains("/no/such/place")
        );
    }

    #[test]
    fn the_store_comes_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = settings(directory.path(), None);
        let config = || StoreConfig {
            memory_bytes: settings.memory_bytes,
            segment_bytes: StoreConfig::segment_bytes_for(settings.memory_bytes),
            ..StoreConfig::default()
        };
        let open = || {
            let devices = open_devices(&settings).expect("opened");
            open_store(config(), devices, &settings, 0).expect("a store")
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
