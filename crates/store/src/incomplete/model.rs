//! loom model of a bucket: whatever threads store and tell at the same time, no version is lost
//! while there is room, and none stays that was told.

use super::*;
use loom::sync::Arc;
use loom::thread;

fn version(number: u64) -> Version {
    Version::from_bits(number << 14).unwrap()
}

#[test]
fn a_bucket_keeps_what_was_not_told() {
    loom::model(|| {
        let bucket = Arc::new(Bucket::empty());
        let (one, other) = (bucket.clone(), bucket.clone());
        let teller = thread::spawn(move || {
            one.note(version(5));
            one.note_complete(version(5));
        });
        let writer = thread::spawn(move || other.note(version(6)));
        teller.join().unwrap();
        writer.join().unwrap();
        assert!(bucket.has(version(6)) && !bucket.has(version(5)));
    });
}
