//! `lru_crawler metadump` and `mgdump`: every item of the store, a piece at a time.

use super::run::{Flow, Run};
use super::{Context, State, Status};
use farcache_base::time::NEVER;
use farcache_proto::base64::push_encoded;
use farcache_proto::{number, percent};
use farcache_store::{Item, ScanCursor};

/// Items visited before the size of the replies is looked at again.
const ITEMS_PER_STEP: usize = 256;

/// Steps after which other connections get their turn, even if there was little to show.
const STEPS_PER_TURN: usize = 16;

/// Bytes of replies after which a dump waits for its client.
const REPLY_BYTES_MAX: usize = 64 << 10;

/// What is told of each item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DumpFormat {
    /// `key=... exp=... la=... cas=... fetch=... cls=... size=...`
    Metadata,
    /// `mg <key>`, to be sent to another server.
    Keys,
}

impl DumpFormat {
    /// The answer where dumps are not allowed.
    pub(super) fn refusal(self) -> &'static str {
        match self {
            DumpFormat::Metadata => "ERROR metadump not allowed",
            DumpFormat::Keys => "ERROR key dump not allowed",
        }
    }

    fn end(self) -> &'static [u8] {
        match self {
            DumpFormat::Metadata => b"END\r\n",
            DumpFormat::Keys => b"EN\r\n",
        }
    }
}

/// A dump under way.
pub(super) struct Dump {
    format: DumpFormat,
    cursor: ScanCursor,
}

impl Dump {
    pub(super) fn new(format: DumpFormat) -> Self {
        Dump {
            format,
            cursor: ScanCursor::default(),
        }
    }
}

impl Run<'_, '_> {
    /// Goes on with a dump until it ends, its client has enough to read, or it was long at work.
    pub(super) fn dump(&mut self, dump: &mut Dump) -> Flow {
        let context = self.context;
        for _ in 0..STEPS_PER_TURN {
            if self.replies.len() >= REPLY_BYTES_MAX {
                break;
            }
            let buffer = self.replies.buffer();
            let mut visit = |item: &Item<'_>| push_item(item, dump.format, context, buffer);
            if !context
                .store
                .scan(&mut dump.cursor, ITEMS_PER_STEP, &mut visit)
            {
                self.push(dump.format.end());
                return Flow::Enter(State::Command);
            }
        }
        Flow::Stop(Status::Yield)
    }
}

fn push_item(item: &Item<'_>, format: DumpFormat, context: &Context<'_>, buffer: &mut Vec<u8>) {
    match format {
        DumpFormat::Metadata => push_metadata(item, context, buffer),
        DumpFormat::Keys => push_request(item, buffer),
    }
}

fn push_metadata(item: &Item<'_>, context: &Context<'_>, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(b"key=");
    percent::push_encoded(buffer, item.key());
    buffer.extend_from_slice(b" exp=");
    match item.expiry() {
        NEVER => buffer.extend_from_slice(b"-1"),
        expiry => number::push(buffer, context.clock.unix(expiry)),
    }
    buffer.extend_from_slice(b" la=");
    number::push(buffer, context.clock.unix(item.last_access()));
    push_cas_to_size(item, buffer);
    buffer.extend_from_slice(b" flags=");
    number::push(buffer, item.flags());
    buffer.push(b'\n');
}

/// Writes what `metadump` and `me` say alike: token, whether it was read, class and size.
pub(super) fn push_cas_to_size(item: &Item<'_>, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(b" cas=");
    number::push(buffer, item.cas());
    buffer.extend_from_slice(if item.was_fetched() {
        b" fetch=yes"
    } else {
        b" fetch=no"
    });
    buffer.extend_from_slice(b" cls=1 size=");
    number::push(buffer, item.size_bytes());
}

fn push_request(item: &Item<'_>, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(b"mg ");
    if item.key_is_binary() {
        push_encoded(buffer, item.key());
        buffer.extend_from_slice(b" b");
    } else {
        buffer.extend_from_slice(item.key());
    }
    buffer.extend_from_slice(b"\r\n");
}
