//! Where the SSD tier lies: `--ssd`, memcached's `-o ext_path`, and `-e`.

use super::refusal::Refusal;
use super::{Options, sizes};
use crate::settings::{DeviceSettings, Settings};
use std::path::PathBuf;

/// Smallest device of the SSD tier, in bytes: some segments to write to while others are cleaned.
const DEVICE_BYTES_MIN: u64 = 16 << 20;

/// A device as `PATH` or `PATH:SIZE`.
pub(super) fn device(text: &str) -> Result<DeviceSettings, String> {
    let (path, bytes) = match text.rsplit_once(':') {
        Some((path, tail)) if looks_like_size(tail) => (path, Some(size(tail)?)),
        _ => (text, None),
    };
    match (path, bytes) {
        ("", _) => Err("a path is missing".to_owned()),
        (_, Some(0)) => Err("a size of 0".to_owned()),
        (path, bytes) => Ok(DeviceSettings {
            path: PathBuf::from(path),
            bytes,
        }),
    }
}

/// memcached's `ext_path`, which always has a size.
pub(super) fn external_path(text: &str) -> Result<DeviceSettings, String> {
    let wrong = |message: &str| format!("-o ext_path={text}: {message}");
    let device = device(text).map_err(|message| wrong(&message))?;
    match device.bytes {
        Some(_) => Ok(device),
        None => Err(wrong(
            "a size is missing, as in ext_path=/mnt/ssd/cache:64g",
        )),
    }
}

/// Whether what follows a colon is meant as a size: then a mistake in it is told, and not taken for
/// a part of the path.
fn looks_like_size(tail: &str) -> bool {
    let digits = tail.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = &tail[digits.len()..];
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && unit.len() <= 2
}

fn size(text: &str) -> Result<u64, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("the size {text} needs a unit: k, m, g or t"));
    }
    sizes::bytes(text).map_err(|error| format!("size {text}: {error}"))
}

/// The devices of `--ssd`, then that of `-e`: large enough for what is in memory and for
/// cleaning.
pub(super) fn chosen(options: &Options) -> Vec<DeviceSettings> {
    let memory_file = options.memory_file.iter().map(|path| DeviceSettings {
        path: path.clone(),
        bytes: Some((options.memory_bytes / 2 * 3).max(DEVICE_BYTES_MIN)),
    });
    options.ssd.iter().cloned().chain(memory_file).collect()
}

/// Whether they can be used so.
pub(super) fn check(options: &Options, settings: &Settings) -> Result<(), Refusal> {
    if options.durability.is_some() && settings.devices.is_empty() {
        return Err(Refusal::bad_value("--durability needs --ssd"));
    }
    if options.ssd_allow_missing && settings.devices.is_empty() {
        return Err(Refusal::bad_value("--ssd-allow-missing needs --ssd"));
    }
    if options.evict_expiring && !settings.devices.is_empty() {
        return Err(Refusal::bad_value(
            "--evict-expiring cannot be combined with --ssd",
        ));
    }
    for path in &settings.devices_to_format {
        if !settings.devices.iter().any(|device| device.is_at(path)) {
            let path = path.display();
            let message = format!("--ssd-format: {path} is not given with --ssd");
            return Err(Refusal::bad_value(message));
        }
    }
    for (index, device) in settings.devices.iter().enumerate() {
        let path = device.path.display();
        if settings.devices[..index]
            .iter()
            .any(|other| other.path == device.path)
        {
            return Err(Refusal::bad_value(format!("--ssd: {path} is given twice")));
        }
        if device.bytes.is_some_and(|bytes| bytes < DEVICE_BYTES_MIN) {
            let least = DEVICE_BYTES_MIN >> 20;
            let message = format!("--ssd: {path} must have at least {least}m");
            return Err(Refusal::bad_value(message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_have_a_size() {
        for (text, path, bytes) in [
            ("/mnt/ssd", "/mnt/ssd", None),
            ("/mnt/ssd/file:64g", "/mnt/ssd/file", Some(64 << 30)),
            ("file:10M", "file", Some(10 << 20)),
            ("/dev/nvme0n1:2t", "/dev/nvme0n1", Some(2 << 40)),
            (
                "/dev/disk/by-path/pci-0:1f.2",
                "/dev/disk/by-path/pci-0:1f.2",
                None,
            ),
            ("a:b:1k", "a:b", Some(1024)),
        ] {
            let expected = DeviceSettings {
                path: path.into(),
                bytes,
            };
            assert_eq!(device(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        for (text, named) in [
            ("", "path"),
            (":1g", "path"),
            ("/f:0m", "0"),
            ("/f:100", "unit"),
            ("/f:10x", "10x"),
            ("/f:10gb", "10gb"),
            ("/f:99999999999t", "too large"),
        ] {
            let message = device(text).expect_err(text);
            assert!(message.contains(named), "{text}: {message}");
        }
        assert!(external_path("/f").expect_err("no size").contains("size"));
        assert!(external_path("/f:1g").is_ok());
    }
}
