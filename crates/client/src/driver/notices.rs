//! Notices: programs' functions that are called when operations end, outside of the driver's lock.

use super::Driver;
use crate::completion::Notice;
use std::cell::Cell;

thread_local! {
    /// This thread is inside of a notice. Others wait until that one has returned.
    static IS_NOTIFYING: Cell<bool> = const { Cell::new(false) };
}

/// Whether there are notices that this thread may call.
pub(super) fn may_call(driver: &Driver) -> bool {
    driver.engine.has_notices() && !IS_NOTIFYING.get()
}

/// The notices that this thread is to call.
pub(super) fn take(driver: &mut Driver) -> Vec<Notice> {
    match may_call(driver) {
        true => driver.engine.take_notices(),
        false => Vec::new(),
    }
}

/// Calls notices, one after the other, and not from within each other.
pub(super) fn call(notices: Vec<Notice>) {
    for notice in notices {
        IS_NOTIFYING.set(true);
        notice.call();
        IS_NOTIFYING.set(false);
    }
}

/// Does something within which this thread calls no notices: they wait for the next call that may.
pub(crate) fn without_notices<T>(act: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_NOTIFYING.set(self.0);
        }
    }
    let _before = Before(IS_NOTIFYING.replace(true));
    act()
}
