//! The text protocol.

use crate::Fleet;

#[test]
fn a_value_is_stored_and_read_through_any_server() {
    let fleet = Fleet::start(2, &[]);
    let (mut first, mut second) = (fleet.connect(1), fleet.connect(2));
    let key = fleet.key_of(2, 0);
    first.set(&key, b"value");
    assert_eq!(second.get(&key).as_deref(), Some(&b"value"[..]));
    assert_eq!(first.get(&key).as_deref(), Some(&b"value"[..]));
    assert_eq!(first.get(&fleet.key_of(2, 1)), None);
    assert_eq!(first.stat("curr_items"), 0, "only the owner holds it");
    assert_eq!(second.stat("curr_items"), 1);
    assert_eq!(first.stat("forwarded"), 3);
    assert_eq!(second.stat("forwarded_here"), 3);
    assert_eq!(second.stat("forwarded"), 0, "owners ask nobody");
}
