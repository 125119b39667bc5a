//! The devices that the operator chose, opened before anything else can go wrong.

use crate::settings::{DEVICE_FILE_NAME, DeviceSettings, Settings};
use farcache_store::{Device, FileDevice};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size of a file that is made without a size being given, in sizes of the memory.
const NEW_FILE_PER_MEMORY: u64 = 4;

/// How long a device may be in use by a process that has ended, and how often that is looked at.
const BUSY_TIME_MAX: Duration = Duration::from_secs(3);
const BUSY_INTERVAL: Duration = Duration::from_millis(10);

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
pub(super) fn hint_to_format(device: &str) -> String {
    format!("; --ssd-format={device} lets the server overwrite what is there")
}

/// Whether a device may be formatted although it holds something.
pub(super) fn may_format(device: &DeviceSettings, settings: &Settings) -> bool {
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

#[cfg(test)]
mod tests {
    use super::super::tests::settings;
    use super::*;

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
}
