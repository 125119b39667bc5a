//! Backing with memory what will be filled next, in parts: clearing a huge page may take
//! milliseconds, which the clients' requests would wait for where no processor is idle.

use super::rest::Rest;
use crate::schedule::Instant;
use crate::segment::Arena;
use std::time::Duration;

/// The parts of it that the store's thread does.
pub(super) struct BackingParts {
    rest: Rest,
    /// Begun, and not all is backed yet that is wanted ahead.
    goes_on: bool,
}

impl BackingParts {
    /// None has been done.
    pub fn new() -> BackingParts {
        BackingParts {
            rest: Rest::over(Instant::now()),
            goes_on: false,
        }
    }

    /// Does the next part, where one is wanted and it is time; returns how long there is nothing to
    /// do, or none for as long as nobody fills segments.
    pub fn go_on(&mut self, arena: &Arena) -> Option<Duration> {
        let began = Instant::now();
        if !self.goes_on && arena.wants_backing() {
            (self.goes_on, self.rest) = (true, self.rest.anew(began));
        }
        if self.goes_on && self.rest.left(began).is_zero() {
            self.goes_on = arena.back_next();
            self.rest.follow(began, Instant::now());
        }
        self.goes_on.then(|| self.rest.left(Instant::now()))
    }
}
