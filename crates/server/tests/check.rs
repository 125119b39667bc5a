//! `farcached --check-ssd`: what it says, and its exit status.

use farcache_store::*;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

const DEVICE_BYTES: u64 = 16 << 20;

fn open(path: &Path) -> Arc<FileDevice> {
    Arc::new(FileDevice::open(path, Some(DEVICE_BYTES)).unwrap())
}

/// A file with a store of ten items.
fn fill(path: &Path) {
    let config = StoreConfig {
        memory_bytes: 8 << 20,
        huge_pages: false,
        ..StoreConfig::default()
    };
    let store = Store::open(config, TierConfig::new(vec![open(path)])).unwrap();
    let handle = store.handle();
    for number in 0..10u8 {
        let value = [number; 1000];
        let stored = handle.set(&[b'k', number], &value, &SetOptions::default());
        assert!(stored.is_ok());
    }
    drop(handle);
    assert!(store.shutdown(Duration::from_secs(30)));
}

fn check(arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farcached"));
    let Output { status, stdout, .. } = command.args(arguments).output().unwrap();
    let text = String::from_utf8(stdout).unwrap();
    (status.code().expect("an exit status"), text)
}

#[test]
fn its_status_says_clean_damaged_or_that_it_cannot_be_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farcache.ssd");
    let name = path.to_str().unwrap();
    let (status, text) = check(&["--check-ssd", name]);
    assert_eq!(status, 2, "nothing is there: {text}");
    fill(&path);
    let before = std::fs::read(&path).unwrap();
    for place in [name, folder.path().to_str().unwrap()] {
        let (status, text) = check(&["--check-ssd", place]);
        assert_eq!(status, 0, "{text}");
        assert!(
            text.contains("10 items") && text.ends_with("clean\n"),
            "{text}"
        );
    }
    let (status, text) = check(&["--json", "--check-ssd", name]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &report["items"], &report["status"]),
        (0, &10.into(), &0.into())
    );
    assert!(before == std::fs::read(&path).unwrap(), "it has written");

    let mut damaged = before.clone();
    // A record: the first segment begins at 1 MiB, its records 640 bytes behind that.
    damaged[(1 << 20) + 700] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    let (status, text) = check(&["--check-ssd", name]);
    assert!(
        status == 1 && text.contains("the record of item 0 is damaged"),
        "{text}"
    );
    let (status, text) = check(&["--json", "--check-ssd", name]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &report["findings"][0]["kind"]),
        (1, &"record".into())
    );

    std::fs::write(&path, before).unwrap();
    let user = open(&path);
    let (status, text) = check(&["--check-ssd", name]);
    assert!(
        status == 2 && text.contains("in use by another process"),
        "{text}"
    );
    let (status, text) = check(&["--json", "--check-ssd", name]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(status == 2 && report["error"].is_string(), "{text}");
    drop(user);
    assert_eq!(check(&["--check-ssd", name]).0, 0);
}
