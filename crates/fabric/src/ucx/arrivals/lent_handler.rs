//! The handler that whole messages are shown to while UCX is at work.

use crate::whole::{Handler, Whole};
use std::any::Any;
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// A handler that is here for as long as somebody lends it.
#[derive(Debug, Default)]
pub(super) struct LentHandler {
    handler: Option<NonNull<Handler<'static>>>,
    /// What the handler panicked with: nothing may unwind through UCX.
    panic: Option<Box<dyn Any + Send>>,
}

impl LentHandler {
    /// Takes a handler in.
    ///
    /// # Safety
    /// Until [`LentHandler::give_back`] nobody else uses the handler, and it stays where it is.
    #[inline]
    pub unsafe fn lend(&mut self, handler: &mut Handler<'_>) {
        let handler = NonNull::from(handler);
        // SAFETY: only the lifetime changes, and the caller promises that it is long enough.
        let handler =
            unsafe { transmute::<NonNull<Handler<'_>>, NonNull<Handler<'static>>>(handler) };
        self.handler = Some(handler);
    }

    /// Shows it no more messages; what it has panicked with, if it has.
    #[inline]
    pub fn give_back(&mut self) -> Option<Box<dyn Any + Send>> {
        self.handler = None;
        self.panic.take()
    }

    /// Whether there is one.
    #[inline]
    pub fn is_lent(&self) -> bool {
        self.handler.is_some()
    }

    /// Shows it a message, if it is there; whether it has taken that.
    #[inline]
    pub fn show(&mut self, message: Whole<'_>) -> bool {
        let Some(mut handler) = self.handler else {
            return false;
        };
        // SAFETY: who lends it promised that it is there, and that nobody else uses it.
        let handler = unsafe { handler.as_mut() };
        catch_unwind(AssertUnwindSafe(|| handler(message))).unwrap_or_else(|panic| {
            // It goes on from where UCX was called, and no other message is handled before.
            self.handler = None;
            self.panic = Some(panic);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Kind};

    const FRAME: Frame = Frame {
        kind: Kind::Packets,
        session: 1,
        key: 2,
        credits: 0,
        head_bytes: 0,
        body_bytes: 0,
    };

    #[test]
    fn messages_are_shown_while_the_handler_is_lent() {
        let mut seen = 0;
        let mut lent = LentHandler::default();
        assert!(!lent.show(Whole::new(&FRAME, &[])));
        let mut handler = |_: Whole<'_>| {
            seen += 1;
            seen == 1
        };
        // SAFETY: it is given back before it goes.
        unsafe { lent.lend(&mut handler) };
        assert!(lent.show(Whole::new(&FRAME, &[])));
        assert!(!lent.show(Whole::new(&FRAME, &[])));
        assert!(lent.give_back().is_none());
        assert!(!lent.show(Whole::new(&FRAME, &[])));
        assert_eq!(seen, 2);
    }

    #[test]
    fn a_handler_that_panics_is_shown_no_more() {
        let mut lent = LentHandler::default();
        let mut handler = |_: Whole<'_>| panic!("on purpose");
        // SAFETY: it is given back before it goes.
        unsafe { lent.lend(&mut handler) };
        assert!(lent.show(Whole::new(&FRAME, &[])));
        assert!(!lent.show(Whole::new(&FRAME, &[])));
        let panic = lent.give_back().expect("it has panicked");
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
        assert!(lent.give_back().is_none());
    }
}
