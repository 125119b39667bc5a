//! `mg` and `me`.

use super::batch::count;
use super::meta_token::{MetaKey, checked, push_key, push_number, push_token, push_ttl};
use super::run::Run;
use super::{Context, Replies};
use farcache_base::time::{NEVER, Seconds, is_expired};
use farcache_proto::meta::{Flags, PlainRead};
use farcache_proto::number;
use farcache_proto::text::Tokens;
use farcache_store::{
    Access, DeleteOptions, Item, SetMode, SetOptions, SetOutcome, Suspended, settled,
};

/// Answers an `mg` that changes nothing but the item's use.
#[inline]
pub(super) fn push_plain(
    read: &PlainRead<'_>,
    item: Option<&Item<'_>>,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    match item {
        Some(item) => {
            push_head(item, read.wants_value(), replies);
            push_flags(item, read.flags, item.expiry(), context, replies);
            push_marks(item, Wish::default(), replies);
            push_end(item, read.wants_value(), replies);
        }
        None if read.is_quiet() => {}
        None => push_miss(&MetaKey::Plain(read.key), read.flags, replies),
    }
}

/// What a reader would like to become of its read.
#[derive(Clone, Copy, Default)]
struct Wish {
    /// The item was created for this reader, who is to fill it.
    created: bool,
    /// The item is close enough to its expiry for this reader to be the one that renews it.
    recache: bool,
}

/// `VA <bytes>` or `HD`.
#[inline]
fn push_head(item: &Item<'_>, wants_value: bool, replies: &mut Replies) {
    let buffer = replies.buffer();
    if wants_value {
        buffer.extend_from_slice(b"VA ");
        number::push(buffer, item.value().len());
    } else {
        buffer.extend_from_slice(b"HD");
    }
}

/// What the flags ask for, in their order. `expiry` is that from before the command's own change
/// of it, which an earlier `T` does not touch.
#[inline]
fn push_flags(
    item: &Item<'_>,
    flags: Tokens<'_>,
    expiry: Seconds,
    context: &Context<'_>,
    replies: &mut Replies,
) {
    let buffer = replies.buffer();
    for token in flags {
        match token[0] {
            b's' => push_number(buffer, b's', item.value().len()),
            b't' => push_ttl(buffer, expiry, context),
            b'c' => push_number(buffer, b'c', item.cas()),
            b'f' => push_number(buffer, b'f', item.flags()),
            b'l' => push_number(
                buffer,
                b'l',
                context.clock.now.saturating_sub(item.last_access()),
            ),
            b'h' => buffer.extend_from_slice(if item.was_fetched() { b" h1" } else { b" h0" }),
            b'O' => push_token(buffer, token),
            b'k' => push_key(buffer, item.key(), item.key_is_binary()),
            _ => {}
        }
    }
}

/// `Z`: somebody has been told to recache; `X`: stale; `W`: this reader is told to recache.
#[inline]
fn push_marks(item: &Item<'_>, wish: Wish, replies: &mut Replies) {
    let is_stale = item.is_stale();
    let was_sent = item.is_win_sent() && !wish.created;
    if !is_stale && !was_sent && !wish.created && !wish.recache {
        return;
    }
    let wants = !was_sent && !wish.created && (wish.recache || is_stale);
    let wins = wish.created || (wants && item.claim_win());
    let buffer = replies.buffer();
    // Who loses the race to claim it finds it sent.
    if was_sent || (wants && !wins) {
        buffer.extend_from_slice(b" Z");
    }
    if is_stale {
        buffer.extend_from_slice(b" X");
    }
    if wins {
        buffer.extend_from_slice(b" W");
    }
}

/// The end of the line, and the value if it is wanted.
#[inline]
fn push_end(item: &Item<'_>, wants_value: bool, replies: &mut Replies) {
    replies.buffer().extend_from_slice(b"\r\n");
    if wants_value {
        replies.push_value(item);
        replies.buffer().extend_from_slice(b"\r\n");
    }
}

/// `EN` with opaque and key.
fn push_miss(key: &MetaKey<'_>, flags: Tokens<'_>, replies: &mut Replies) {
    let buffer = replies.buffer();
    buffer.extend_from_slice(b"EN");
    for token in flags {
        match token[0] {
            b'O' => push_token(buffer, token),
            b'k' => push_key(buffer, key.bytes(), key.is_binary()),
            _ => {}
        }
    }
    buffer.extend_from_slice(b"\r\n");
}

impl Run<'_, '_> {
    /// An `mg` of any kind.
    pub(super) fn meta_get(&mut self, key: &[u8], flags: &Flags<'_>) -> Result<(), Suspended> {
        match checked(key, flags) {
            Ok(key) => self.meta_get_checked(&key, flags)?,
            Err(message) => self.reject_meta(message),
        }
        Ok(())
    }

    fn meta_get_checked(&mut self, key: &MetaKey<'_>, flags: &Flags<'_>) -> Result<(), Suspended> {
        let is_hit = self.read(key, flags)? || flags.has(b'N') && self.vivify(key, flags)?;
        self.count_meta_get(is_hit, flags.has(b'T'));
        if !is_hit && !flags.has(b'q') {
            push_miss(key, flags.tokens(), self.replies);
        }
        Ok(())
    }

    /// Answers with the item, if it is there.
    fn read(&mut self, key: &MetaKey<'_>, flags: &Flags<'_>) -> Result<bool, Suspended> {
        let store = self.context.store;
        let access = if flags.has(b'u') {
            Access::Peek
        } else {
            Access::Use
        };
        // Tokens before `T` show the expiry from before it.
        let old = match flags.has(b'T') {
            true => store.get(key.bytes(), Access::Peek)?,
            false => None,
        };
        let old_expiry = old.as_ref().map(Item::expiry);
        let item = match flags.has(b'T') {
            true => settled(store.touch(key.bytes(), self.expiry(flags.ttl), access))?
                .ok()
                .flatten(),
            false => store.get(key.bytes(), access)?,
        };
        self.context.show_fetched(key.bytes(), item.as_ref());
        let Some(item) = item else { return Ok(false) };
        if flags.has(b'T') {
            self.charge_copy(item.value().len());
        }
        let old_expiry = old_expiry.unwrap_or(item.expiry());
        let expiry_at = |letter| self.expiry_at(flags, letter, Some(old_expiry));
        let recache_before = self.expiry(flags.recache_ttl);
        let expiry_for_recache = expiry_at(b'R');
        let recache =
            flags.has(b'R') && expiry_for_recache != NEVER && expiry_for_recache < recache_before;
        self.push_item(
            &item,
            flags,
            expiry_at(b't'),
            Wish {
                created: false,
                recache,
            },
        );
        Ok(true)
    }

    /// Creates an empty item for this reader to fill; false if it cannot be had.
    fn vivify(&mut self, key: &MetaKey<'_>, flags: &Flags<'_>) -> Result<bool, Suspended> {
        let expiry = self.final_expiry(flags);
        let is_past = is_expired(expiry, self.context.clock.now);
        let options = SetOptions {
            mode: SetMode::Add,
            expiry: if is_past { NEVER } else { expiry },
            key_is_binary: key.is_binary(),
            new_cas: flags.new_cas(),
            win_sent: true,
            cas_wanted: flags.has(b'c'),
            ..SetOptions::default()
        };
        let store = self.context.store;
        match settled(store.set(key.bytes(), b"", &options))? {
            Ok(SetOutcome::Stored { .. }) => {
                let Some(item) = store.get(key.bytes(), Access::Peek)? else {
                    return Ok(false);
                };
                let expiry = self.expiry_at(flags, b't', None);
                self.push_item(
                    &item,
                    flags,
                    expiry,
                    Wish {
                        created: true,
                        recache: false,
                    },
                );
                if is_past {
                    self.remove_created(key, item.cas())?;
                }
                Ok(true)
            }
            // Another client was faster, and has the win.
            Ok(_) => self.read(key, flags),
            Err(_) => Ok(false),
        }
    }

    /// Removes what was created for this reader with an expiry that has passed, unless somebody
    /// has replaced it meanwhile.
    fn remove_created(&self, key: &MetaKey<'_>, cas: u64) -> Result<(), Suspended> {
        let options = DeleteOptions {
            compare_cas: (cas != 0).then_some(cas),
            ..DeleteOptions::default()
        };
        self.context.store.delete(key.bytes(), &options)?;
        Ok(())
    }

    fn push_item(&mut self, item: &Item<'_>, flags: &Flags<'_>, expiry: Seconds, wish: Wish) {
        // Who names the token that the item has knows its value.
        let is_known = flags.compare_cas() == Some(item.cas());
        let wants_value = flags.has(b'v') && !is_known;
        push_head(item, wants_value, self.replies);
        push_flags(item, flags.tokens(), expiry, self.context, self.replies);
        push_marks(item, wish, self.replies);
        push_end(item, wants_value, self.replies);
    }

    /// The instant that a time to live of the client means.
    pub(super) fn expiry(&self, ttl: i64) -> Seconds {
        self.context.clock.expiry(ttl)
    }

    /// The expiry of a created item: `N` and `T` both set it, in their order.
    pub(super) fn final_expiry(&self, flags: &Flags<'_>) -> Seconds {
        self.expiry_at(flags, b'\0', None)
    }

    /// The item's expiry when the flag `letter` is looked at (at the end, if it is not there):
    /// flags act one after the other. An item created by this command had none `before`.
    fn expiry_at(&self, flags: &Flags<'_>, letter: u8, before: Option<Seconds>) -> Seconds {
        let mut expiry = before.unwrap_or(NEVER);
        for token in flags.tokens() {
            match token[0] {
                found if found == letter => return expiry,
                b'T' => expiry = self.expiry(flags.ttl),
                b'N' if before.is_none() => expiry = self.expiry(flags.vivify_ttl),
                _ => {}
            }
        }
        expiry
    }

    fn count_meta_get(&self, is_hit: bool, is_touch: bool) {
        let counters = self.context.counters;
        match (is_touch, is_hit) {
            (false, _) => count(self.context, 1, usize::from(is_hit)),
            (true, hit) => {
                counters.cmd_touch.bump();
                if hit {
                    counters.touch_hits.bump()
                } else {
                    counters.touch_misses.bump()
                }
            }
        }
    }

    /// `me`: the item's innards on one line.
    pub(super) fn meta_debug(&mut self, key: &[u8], is_base64: bool) -> Result<(), Suspended> {
        let decoded = is_base64.then(|| farcache_proto::base64::decode_key(key));
        let key = match &decoded {
            None => key,
            Some(Some(decoded)) => decoded.as_bytes(),
            Some(None) => {
                self.bad_format();
                return Ok(());
            }
        };
        let item = self.context.store.get(key, Access::Peek)?;
        self.context.counters.cmd_meta.bump();
        match item {
            Some(item) => push_debug(&item, self.context, self.replies.buffer()),
            None => self.push_line("EN"),
        }
        Ok(())
    }
}

/// `ME <key> exp=<seconds> la=<seconds> cas=<token> fetch=<yes|no> cls=1 size=<bytes>`
fn push_debug(item: &Item<'_>, context: &Context<'_>, buffer: &mut Vec<u8>) {
    let now = context.clock.now;
    buffer.extend_from_slice(b"ME ");
    match item.key_is_binary() {
        true => farcache_proto::base64::push_encoded(buffer, item.key()),
        false => buffer.extend_from_slice(item.key()),
    }
    buffer.extend_from_slice(b" exp=");
    match item.expiry() {
        NEVER => buffer.extend_from_slice(b"-1"),
        expiry => number::push(buffer, i64::from(expiry) - i64::from(now)),
    }
    buffer.extend_from_slice(b" la=");
    number::push(buffer, now.saturating_sub(item.last_access()));
    super::dump::push_cas_to_size(item, buffer);
    buffer.extend_from_slice(b"\r\n");
}
