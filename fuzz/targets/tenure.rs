//! Which keys a server owned, as it notes it on its SSD: reading any bytes never panics, what is
//! read was written so, and what two of them say is gained lies on the later one's arcs.
#![no_main]

use farcache_cluster::map::{Gained, Tenure};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let (one, other) = input.split_at(input.len() / 2);
    let [one, other] = [one, other].map(|bytes| {
        let tenure = Tenure::decode(bytes)?;
        assert_eq!(tenure.encode(usize::MAX), bytes);
        Some(tenure)
    });
    let whole = Tenure::decode(input);
    if let Some(tenure) = &whole {
        assert_eq!(tenure.encode(usize::MAX), input);
        assert_eq!(tenure.gained(tenure, None), Gained::Nothing);
    }
    if let (Some(one), Some(other)) = (one, other)
        && let Gained::Arcs(_, arcs) = one.gained(&other, None)
    {
        assert!(arcs.iter().all(|arc| arc.first <= arc.last));
        assert!(arcs.is_sorted_by(|before, next| before.last < next.first));
    }
});
