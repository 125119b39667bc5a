//! The SSD tier from the operator's side: its devices are opened before anything else can go wrong, its store
//! is recovered at the start and written out at the end, and what happens to it is logged.

use crate::settings::{DeviceSettings, Settings};
use farcache_store::{
    Device, FileDevice, Store, StoreConfig, TierConfig, TierEvent, TierEventKind,
};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Name of the file that is made in a directory.
const FILE_NAME: &str = "farcache.ssd";

/// Size of a file that is made without a size being given, in sizes of the memory.
const NEW_FILE_PER_MEMORY: u64 = 4;

/// What the beginning of a device is looked at for: its superblock's copies, each with this magic.
/// Source: `docs/design/tier.md`.
const SUPERBLOCK_COPY_BYTES: usize = 4096;
const MAGIC: &[u8] = b"FARCSSD\0";

/// How long an orderly stop writes out what is in memory, at most. What is not durable then is lost.
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
        open_device(&path, device.bytes, settings.memory_bytes).map_err(|error| {
            let message = format!("cannot use {} for the SSD tier: {error}", path.display());
            io::Error::new(error.kind(), message)
        })
    };
    settings.devices.iter().map(open).collect()
}

/// What is given, or the file in the directory that is given.
fn file_of(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join(FILE_NAME),
        false => path.to_owned(),
    }
}

fn open_device(path: &Path, bytes: Option<u64>, memory_bytes: u64) -> io::Result<Arc<dyn Device>> {
    let is_new = match std::fs::metadata(path) {
        Ok(metadata) => metadata.is_file() && metadata.len() == 0,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error),
    };
    if !is_new && !may_be_used(path)? {
        let message = "it holds something else; clear it first if it may be overwritten";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    let bytes = bytes.or(is_new.then_some(memory_bytes.saturating_mul(NEW_FILE_PER_MEMORY)));
    Ok(Arc::new(open_when_free(path, bytes)?))
}

/// Opens a device; waits a little for a process that has just ended to let go of it, which the kernel does
/// only when the transfers under way have ended.
fn open_when_free(path: &Path, bytes: Option<u64>) -> io::Result<FileDevice> {
    let deadline = Instant::now() + BUSY_TIME_MAX;
    loop {
        match FileDevice::open(path, bytes) {
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
            {
                std::thread::sleep(BUSY_INTERVAL);
            }
            opened => return opened,
        }
    }
}

/// Whether a device is blank, or holds a tier already.
fn may_be_used(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(path)?
        .take(2 * SUPERBLOCK_COPY_BYTES as u64)
        .read_to_end(&mut beginning)?;
    let is_blank = beginning.iter().all(|byte| *byte == 0);
    let mut copies = beginning.chunks(SUPERBLOCK_COPY_BYTES);
    Ok(is_blank || copies.any(|copy| copy.starts_with(MAGIC)))
}

/// Makes the store; what is on the devices is there again.
///
/// # Errors
/// The store's.
pub fn open_store(
    config: StoreConfig,
    devices: Devices,
    settings: &Settings,
    epoch_unix: i64,
) -> io::Result<Arc<Store>> {
    if devices.is_empty() {
        return Store::new(config);
    }
    let tier = TierConfig {
        durability: settings.durability,
        epoch_unix,
        ..TierConfig::new(devices)
    };
    let store = Store::open(config, tier)?;
    log_recovery(&store);
    Ok(store)
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
    store.take_tier_events().iter().for_each(log_event);
}

fn log_event(event: &TierEvent) {
    let TierEvent {
        kind,
        device,
        detail,
    } = event;
    match kind {
        TierEventKind::Formatted => tracing::info!(%device, %detail, "SSD formatted"),
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
                    log_events(&store);
                }
            })?;
        Ok(Some(EventLog { stop, thread }))
    }

    /// Ends it.
    pub fn stop(self) {
        drop(self.stop);
        // A panic there has ended the process.
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
        assert!(directory.path().join(FILE_NAME).is_file());
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
            message.contains("letters") && message.contains("something else"),
            "{message}"
        );
        assert_eq!(std::fs::read(&path).expect("there"), b"Dear reader");
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
