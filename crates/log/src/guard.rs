//! Who may look at a segment's table, which others may take out of its slot meanwhile.

use std::marker::PhantomData;

/// Shows that the tables of segments stay in memory for `'g`, also of those that are emptied
/// meanwhile.
///
/// What looks at a table asks for a guard, and gives out nothing that outlives it. So it is safe to
/// call, and only making the guard is not. A guard takes no room, and stays with its thread:
///
/// ```compile_fail
/// # use farcache_log::Guard;
/// fn send(guard: Guard<'static>) {
///     std::thread::spawn(move || guard);
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Guard<'g>(PhantomData<(&'g (), *const ())>);

const _: () = assert!(size_of::<Guard<'_>>() == 0);

impl<'g> Guard<'g> {
    /// # Safety
    /// For `'g`, which the caller chooses, one of these holds:
    ///
    /// - This thread is a participant of the owner's epochs
    ///   ([`Fillings::epochs`](crate::Fillings::epochs)) that has been resumed, and neither passes
    ///   a quiescent point nor is suspended.
    /// - Nobody frees tables. That is done by the log's flusher alone: between two of its rounds,
    ///   or before there is one, nobody does.
    #[inline]
    pub unsafe fn new() -> Guard<'g> {
        Guard(PhantomData)
    }
}
