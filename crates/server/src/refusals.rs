//! Clients that were turned away, in the log: who failed to log in, and whose TLS did not come
//! about.
//!
//! Anyone who reaches the port can fail at will, so few lines of each kind are written in
//! a while; the next line says how many were left out.

use crate::connections::Address;
use crate::logging::EVENTS;
use std::sync::Mutex;

/// Lines of one kind that are written within [`WINDOW_S`].
const LINES_MAX: u32 = 10;

/// For how long they count, in seconds.
const WINDOW_S: u64 = 10;

/// What was refused, and how much of it the log has shown lately.
#[derive(Debug, Default)]
pub struct Refusals {
    logins: Gate,
    handshakes: Gate,
}

impl Refusals {
    /// A client has shown a wrong user or password; `now_s` are seconds since the server's start.
    pub fn login_failed(&self, peer: Option<&Address>, now_s: u64) {
        if let Some(left_out) = self.logins.pass(now_s) {
            let peer = peer.map(ToString::to_string).unwrap_or_default();
            tracing::warn!(target: EVENTS, peer, left_out, "a login failed");
        }
    }

    /// A connection could not be encrypted; `now_s` as above.
    pub fn handshake_failed(&self, peer: &Address, error: &dyn std::fmt::Display, now_s: u64) {
        if let Some(left_out) = self.handshakes.pass(now_s) {
            tracing::warn!(target: EVENTS, %peer, %error, left_out, "TLS failed");
        }
    }
}

/// Lets few through.
#[derive(Debug, Default)]
struct Gate(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    begun_s: u64,
    lines: u32,
    left_out: u64,
}

impl Gate {
    /// Whether a line may be written, and how many were left out since the last one.
    fn pass(&self, now_s: u64) -> Option<u64> {
        let mut window = self.0.lock().expect("no panic while held");
        if now_s >= window.begun_s + WINDOW_S {
            (window.begun_s, window.lines) = (now_s, 0);
        }
        if window.lines == LINES_MAX {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lines_pass_in_a_while_and_the_next_tells_of_the_others() {
        let gate = Gate::default();
        let passed: Vec<_> = (0..25).filter_map(|_| gate.pass(3)).collect();
        assert_eq!(passed, [0; LINES_MAX as usize]);
        assert_eq!(gate.pass(WINDOW_S - 1), None);
        assert_eq!(gate.pass(WINDOW_S + 3), Some(16));
        assert_eq!(gate.pass(WINDOW_S + 3), Some(0));
    }
}
