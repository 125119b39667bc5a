//! The checker on a device whose bytes somebody has changed: it never panics, and what it says can
//! be printed.
#![no_main]

use farcache_fuzz::image::changed;
use farcache_store::{Device, check_devices};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|input: &[u8]| {
    let Some(device) = changed(input) else {
        return;
    };
    let devices = [Arc::new(device) as Arc<dyn Device>];
    if let Ok(report) = check_devices(&devices, 0) {
        let _ = report.to_string();
    }
});
