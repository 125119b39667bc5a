//! What a server says of itself in etcd: reading any text never panics, and what is read is read
//! again from what is written.
#![no_main]

use farcache_membership::members::Offer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(offer) = Offer::read(input) else {
        return;
    };
    assert!(offer.weight > 0 && offer.life.0 > 0);
    assert_eq!(Offer::read(offer.written().as_bytes()), Ok(offer));
});
