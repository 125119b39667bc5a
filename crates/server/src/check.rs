//! `--check-ssd`: looks at what lies on devices, and tells of it.

use crate::options::Options;
use crate::settings::DeviceSettings;
use farcache_store::{CheckReport, Device, FileDevice, check_devices};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Nothing is damaged.
pub const CLEAN: u8 = 0;
/// Something is damaged.
pub const DAMAGED: u8 = 1;
/// It could not be looked at.
pub const IMPOSSIBLE: u8 = 2;

/// Checks the devices that the options name, and prints what was found; returns the exit status.
pub fn run(options: &Options, out: &mut impl Write) -> u8 {
    let outcome = check(&options.check_ssd);
    let status = match &outcome {
        Ok(report) if report.is_damaged() => DAMAGED,
        Ok(_) => CLEAN,
        Err(_) => IMPOSSIBLE,
    };
    let text = match (&outcome, options.json) {
        (Ok(report), true) => in_json(report, status).to_string(),
        (Ok(report), false) => report.to_string(),
        (Err(error), true) => json!({ "status": status, "error": error.to_string() }).to_string(),
        (Err(error), false) => format!("it cannot be checked: {error}"),
    };
    match writeln!(out, "{text}") {
        Ok(()) => status,
        Err(_) => IMPOSSIBLE,
    }
}

fn check(places: &[DeviceSettings]) -> io::Result<CheckReport> {
    let devices = places.iter().map(open).collect::<io::Result<Vec<_>>>()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs() as i64);
    check_devices(&devices, now)
}

fn open(place: &DeviceSettings) -> io::Result<Arc<dyn Device>> {
    let path = file_of(place);
    let opened = FileDevice::open_read_only(&path);
    let device = opened.map_err(|error| {
        let message = format!("{}: {error}", path.display());
        io::Error::new(error.kind(), message)
    })?;
    Ok(Arc::new(device))
}

/// The device itself; in a directory it is a file.
fn file_of(place: &DeviceSettings) -> PathBuf {
    match place.path.is_dir() {
        true => place.path.join(crate::settings::DEVICE_FILE_NAME),
        false => place.path.clone(),
    }
}

fn in_json(report: &CheckReport, status: u8) -> Value {
    let findings = report.findings.iter().map(|finding| {
        json!({
            "kind": finding.kind.name(),
            "damage": finding.kind.is_damage(),
            "device": finding.device,
            "offset": finding.offset,
            "detail": finding.detail,
        })
    });
    json!({
        "status": status,
        "segment_bytes": report.segment_bytes,
        "slots": report.slots,
        "segments": report.segments,
        "segments_dead": report.segments_dead,
        "segments_torn": report.segments_torn,
        "items": report.items,
        "bytes": report.bytes,
        "tombstones": report.tombstones,
        "tombstones_untold": report.tombstones_untold,
        "was_stopped": report.was_stopped,
        "damages": report.damages,
        "findings": findings.collect::<Vec<_>>(),
        "findings_more": report.findings_more,
    })
}
