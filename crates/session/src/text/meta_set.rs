//! `ms`.

use super::meta_token::{MetaKey, checked, push_key, push_number, push_token};
use super::mutate::server_error;
use super::run::{Flow, Run};
use super::store::{BAD_CHUNK, skip};
use super::value::{Step, Stored};
use farcache_proto::meta::{FlagError, Flags, StoreMode};
use farcache_store::{Access, SetMode, SetOptions, SetOutcome, Suspended};

impl<'i> Run<'_, 'i> {
    /// Carries an `ms` out, whose line takes `line_bytes` with its ending.
    pub(super) fn meta_set(
        &mut self,
        key: &'i [u8],
        value_bytes: usize,
        flags: Result<Flags<'i>, FlagError>,
        line: &'i [u8],
        line_bytes: usize,
    ) -> Result<Option<Flow>, Suspended> {
        let checked = flags.map_err(FlagError::message).and_then(|flags| {
            let decoded = checked(key, &flags)?;
            let options = self.set_options(&flags, decoded.is_binary())?;
            Ok((flags, decoded, options))
        });
        match checked {
            Ok((flags, decoded, options)) => {
                match self.take_value(decoded.bytes(), value_bytes, &options, line, line_bytes)? {
                    Step::Flow(flow) => Ok(Some(flow)),
                    Step::Done(stored, skip_bytes) => {
                        self.answer_checked(&decoded, &flags, stored, value_bytes);
                        Ok(skip(skip_bytes))
                    }
                }
            }
            Err(message) => {
                self.position += line_bytes;
                self.reject_meta(message);
                Ok(skip(value_bytes + b"\r\n".len()))
            }
        }
    }

    fn set_options(
        &self,
        flags: &Flags<'_>,
        key_is_binary: bool,
    ) -> Result<SetOptions, &'static str> {
        const BAD_MODE: &str = "CLIENT_ERROR invalid mode for ms M token";
        let mode = StoreMode::from_letter(flags.mode).ok_or(BAD_MODE)?;
        let is_merge = matches!(mode, StoreMode::Append | StoreMode::Prepend);
        let is_add = mode == StoreMode::Add;
        Ok(SetOptions {
            mode: set_mode(mode),
            flags: flags.client_flags,
            expiry: self.expiry(flags.ttl),
            key_is_binary,
            // An add stores only where there is nothing to compare with.
            compare_cas: flags.compare_cas().filter(|_| !is_add),
            new_cas: flags.new_cas(),
            // A token of 0 is never older, as in memcached.
            invalidate: flags.has(b'I') && flags.compare_cas != 0 && !is_merge && !is_add,
            vivify: (is_merge && flags.has(b'N')).then(|| self.expiry(flags.vivify_ttl)),
            cas_wanted: flags.has(b'c'),
            ..SetOptions::default()
        })
    }

    /// Counts and answers an `ms` that has been parsed again.
    pub(super) fn answer_meta_set(
        &mut self,
        key: &[u8],
        flags: &Flags<'_>,
        stored: Stored,
        value_bytes: usize,
    ) {
        match checked(key, flags) {
            Ok(key) => self.answer_checked(&key, flags, stored, value_bytes),
            Err(message) => self.reject_meta(message),
        }
    }

    fn answer_checked(
        &mut self,
        key: &MetaKey<'_>,
        flags: &Flags<'_>,
        stored: Stored,
        value_bytes: usize,
    ) {
        let mode = StoreMode::from_letter(flags.mode).unwrap_or_default();
        let is_merge = matches!(mode, StoreMode::Append | StoreMode::Prepend);
        let stored = as_memcached(stored, is_merge);
        self.show_store(key.bytes(), stored, value_bytes);
        self.count_store(
            stored,
            flags.has(b'C') && matches!(mode, StoreMode::Set | StoreMode::Replace),
        );
        let (code, cas) = match stored {
            Stored::Outcome(SetOutcome::Stored { .. }) if flags.has(b'q') => return,
            Stored::Outcome(SetOutcome::Stored { cas }) => (b"HD", cas),
            Stored::Outcome(
                SetOutcome::NotStored
                | SetOutcome::Older { .. }
                | SetOutcome::Unsure { .. }
                | SetOutcome::Promised { .. },
            ) => (b"NS", 0),
            Stored::Outcome(SetOutcome::Exists) => (b"EX", 0),
            Stored::Outcome(SetOutcome::NotFound) => (b"NF", 0),
            Stored::BadChunk => return self.reject_meta(BAD_CHUNK),
            Stored::Refused(error) => {
                self.drop_outdated(key.bytes());
                return self.push_line(server_error(error));
            }
        };
        self.push(code);
        let was_stored = matches!(stored, Stored::Outcome(SetOutcome::Stored { .. }));
        let size = match flags.has(b's') && was_stored && is_merge {
            true => self.size_of(key.bytes()),
            false => value_bytes,
        };
        self.end_meta_set(key, flags, cas, size);
    }

    /// Length of the value that an append or prepend has left.
    fn size_of(&self, key: &[u8]) -> usize {
        let store = self.context.store;
        match store.get(key, Access::Peek) {
            Ok(item) => item.map_or(0, |item| item.value().len()),
            Err(_) => {
                // It has left memory in this very moment: what is done must not be done again for
                // its size.
                store.forget_reads();
                0
            }
        }
    }

    fn end_meta_set(&mut self, key: &MetaKey<'_>, flags: &Flags<'_>, cas: u64, size: usize) {
        let buffer = self.replies.buffer();
        for token in flags.tokens() {
            match token[0] {
                b'O' => push_token(buffer, token),
                b'k' => push_key(buffer, key.bytes(), key.is_binary()),
                b'c' => push_number(buffer, b'c', cas),
                b's' => push_number(buffer, b's', size),
                _ => {}
            }
        }
        buffer.extend_from_slice(b"\r\n");
    }
}

/// Appending to what is not there fails for want of an item, not of its CAS token.
fn as_memcached(stored: Stored, is_merge: bool) -> Stored {
    match stored {
        Stored::Outcome(SetOutcome::NotFound) if is_merge => Stored::Outcome(SetOutcome::NotStored),
        stored => stored,
    }
}

fn set_mode(mode: StoreMode) -> SetMode {
    match mode {
        StoreMode::Set => SetMode::Set,
        StoreMode::Add => SetMode::Add,
        StoreMode::Append => SetMode::Append,
        StoreMode::Prepend => SetMode::Prepend,
        StoreMode::Replace => SetMode::Replace,
    }
}
