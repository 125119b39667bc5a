//! loom model of a line: whatever threads do to it at the same time, it tells no ghost that nobody
//! remembered, and goes on working.

use super::*;
use loom::sync::Arc;
use loom::thread;

/// The reclaimer remembers, a writer takes from the word that it writes.
#[test]
fn a_line_invents_no_ghost_and_goes_on_working() {
    loom::model(|| {
        let line = Arc::new(Line::empty());
        line.remember(7);
        let (one, other) = (line.clone(), line.clone());
        let reclaimer = thread::spawn(move || one.remember(8));
        let writer = thread::spawn(move || (other.take(7), other.take(9)));
        reclaimer.join().unwrap();
        let (_, invented) = writer.join().unwrap();
        assert!(!invented && !line.take(9));
        line.remember(5);
        assert!(line.take(5), "what is remembered alone is kept");
        line.take(7);
        line.take(8);
        assert!(!line.take(7) && !line.take(8), "once each");
    });
}
