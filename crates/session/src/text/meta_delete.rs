//! `md` and `ma`.

use super::meta_token::{MetaKey, checked, push_key, push_number, push_token, push_ttl};
use super::mutate::NOT_NUMERIC;
use super::run::Run;
use farcache_base::time::Seconds;
use farcache_proto::meta::{Flags, is_decrement};
use farcache_store::{
    ArithmeticOptions, ArithmeticOutcome, DeleteOptions, DeleteOutcome, Suspended, settled,
};

/// What `ma` answers to any flag it cannot use.
const BAD_FLAG: &str = "CLIENT_ERROR invalid or duplicate flag";

impl Run<'_, '_> {
    pub(super) fn meta_delete(&mut self, key: &[u8], flags: &Flags<'_>) -> Result<(), Suspended> {
        match checked(key, flags) {
            Ok(key) => self.meta_delete_checked(&key, flags)?,
            Err(message) => self.reject_meta(message),
        }
        Ok(())
    }

    fn meta_delete_checked(
        &mut self,
        key: &MetaKey<'_>,
        flags: &Flags<'_>,
    ) -> Result<(), Suspended> {
        let options = DeleteOptions {
            compare_cas: flags.compare_cas(),
            new_cas: flags.new_cas(),
            invalidate: flags.has(b'I'),
            expiry: flags.has(b'T').then(|| self.expiry(flags.ttl)),
            clear_value: flags.has(b'x'),
            flags: flags.client_flags,
        };
        if options.invalidate || options.clear_value {
            self.charge_change(key.bytes())?;
        }
        let outcome = self.context.store.delete(key.bytes(), &options)?;
        let counters = self.context.counters;
        let code = match outcome {
            DeleteOutcome::Deleted => {
                self.context.show_deleted(key.bytes());
                if !options.invalidate {
                    counters.delete_hits.bump();
                }
                if flags.has(b'q') {
                    return Ok(());
                }
                b"HD"
            }
            DeleteOutcome::NotFound | DeleteOutcome::Exists => {
                counters.delete_misses.bump();
                if outcome == DeleteOutcome::Exists {
                    b"EX"
                } else {
                    b"NF"
                }
            }
        };
        self.push(code);
        self.end_with_opaque_and_key(key, flags);
        Ok(())
    }

    pub(super) fn meta_arithmetic(
        &mut self,
        key: &[u8],
        flags: &Flags<'_>,
    ) -> Result<(), Suspended> {
        match (is_decrement(flags.mode), checked(key, flags)) {
            (None, _) => self.reject_meta("CLIENT_ERROR invalid mode for ma M token"),
            (_, Err(_)) if flags.has(b'b') => self.reject_meta(BAD_FLAG),
            (_, Err(message)) => self.reject_meta(message),
            (Some(decrement), Ok(key)) => self.meta_arithmetic_checked(&key, flags, decrement)?,
        }
        Ok(())
    }

    fn meta_arithmetic_checked(
        &mut self,
        key: &MetaKey<'_>,
        flags: &Flags<'_>,
        decrement: bool,
    ) -> Result<(), Suspended> {
        let options = ArithmeticOptions {
            delta: flags.delta,
            decrement,
            initial: flags
                .has(b'N')
                .then(|| (flags.initial, self.final_expiry(flags))),
            expiry: flags.has(b'T').then(|| self.expiry(flags.ttl)),
            // memcached takes a token of 0 for none.
            compare_cas: flags.compare_cas().filter(|cas| *cas != 0),
            new_cas: flags.new_cas(),
            cas_wanted: flags.has(b'c'),
            key_is_binary: key.is_binary(),
        };
        let outcome = settled(self.context.store.arithmetic(key.bytes(), &options))?;
        self.count_arithmetic(outcome.as_ref().ok(), decrement);
        let code = match outcome {
            Ok(ArithmeticOutcome::Done { .. }) if flags.has(b'q') => return Ok(()),
            Ok(ArithmeticOutcome::Done {
                value, cas, expiry, ..
            }) => {
                self.answer_arithmetic(key, flags, value, cas, expiry);
                return Ok(());
            }
            Ok(ArithmeticOutcome::NotFound) => b"NF",
            Ok(ArithmeticOutcome::Exists) => b"EX",
            Ok(ArithmeticOutcome::NotNumeric) => {
                self.push_line(NOT_NUMERIC);
                return Ok(());
            }
            Err(_) => {
                self.push_line("SERVER_ERROR out of memory");
                return Ok(());
            }
        };
        self.push(code);
        self.end_with_opaque_and_key(key, flags);
        Ok(())
    }

    fn answer_arithmetic(
        &mut self,
        key: &MetaKey<'_>,
        flags: &Flags<'_>,
        value: u64,
        cas: u64,
        expiry: Seconds,
    ) {
        let context = self.context;
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value).as_bytes();
        let buffer = self.replies.buffer();
        if flags.has(b'v') {
            buffer.extend_from_slice(b"VA ");
            farcache_proto::number::push(buffer, digits.len());
        } else {
            buffer.extend_from_slice(b"HD");
        }
        for token in flags.tokens() {
            match token[0] {
                b'c' => push_number(buffer, b'c', cas),
                b't' => push_ttl(buffer, expiry, context),
                b'O' => push_token(buffer, token),
                b'k' => push_key(buffer, key.bytes(), key.is_binary()),
                _ => {}
            }
        }
        buffer.extend_from_slice(b"\r\n");
        if flags.has(b'v') {
            buffer.extend_from_slice(digits);
            buffer.extend_from_slice(b"\r\n");
        }
    }
}
