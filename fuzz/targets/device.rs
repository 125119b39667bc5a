//! A device whose bytes somebody has changed: opening the store over it and reading everything
//! never panics. Where the input says so the checksums are made right again, so that what they
//! guard is reached.
#![no_main]

use farcache_fuzz::image::{KEYS, changed, open};
use farcache_store::{Access, StoreHandle};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|input: &[u8]| {
    let Some(device) = changed(input) else {
        return;
    };
    let Some(store) = open(&Arc::new(device)) else {
        return;
    };
    let mut handle = store.handle();
    for number in 0..KEYS {
        let read = |handle: &StoreHandle| {
            handle
                .get(&number.to_le_bytes(), Access::Use)
                .map(|item| item.map(|item| item.value().len()))
        };
        let _ = handle.run_blocking(read);
        handle.quiescent();
    }
});
