//! A grant arrives at the worker that will own the session; one that is never used expires.

use super::conversation::{Conversation, Stage};
use super::engine::Engine;
use super::life_line::{Mail, Reserved};
use crate::mailbox::Mailbox;
use farcache_base::time::Seconds;

/// How long a token can be used, in seconds.
pub(super) const TOKEN_SECONDS: Seconds = 10;

impl Engine {
    /// Takes what other threads have sent to `mailbox`.
    pub fn collect(&mut self, mailbox: &Mailbox, now: Seconds) {
        for mail in mailbox.collect_fabric() {
            // A session may begin and end between two sweeps.
            self.used_at = now;
            match mail {
                Mail::Reserve(reserved) => self.reserve(reserved, now),
                Mail::Release { session, key } => self.on_life_line_lost(session, key),
            }
        }
    }

    fn reserve(&mut self, reserved: Reserved, now: Seconds) {
        let number = reserved.session as usize;
        if self.conversations.len() <= number {
            self.conversations.resize_with(number + 1, || None);
        }
        self.live += 1;
        self.conversations[number] = Some(Box::new(Conversation::new(reserved, now)));
        self.count_tokens();
    }

    /// Voids the tokens that were not used in time. The clients' connections stay.
    pub(super) fn expire_tokens(&mut self, now: Seconds) {
        if self.figures.tokens.get() == 0 {
            return;
        }
        for number in 0..self.conversations.len() as u32 {
            if self.is_expired(number, now) {
                self.figures.tokens_expired.bump();
                self.expire(number);
            }
        }
    }

    fn is_expired(&self, number: u32, now: Seconds) -> bool {
        let conversation = self.conversations[number as usize].as_ref();
        conversation.is_some_and(|conversation| match conversation.stage {
            Stage::Granted { at, .. } => now > at + TOKEN_SECONDS,
            Stage::Open(_) => false,
        })
    }

    /// Shows how many sessions wait for their clients.
    pub(super) fn count_tokens(&self) {
        let granted = self.live - self.by_peer.len();
        self.figures.tokens.set(granted as u64);
    }
}
