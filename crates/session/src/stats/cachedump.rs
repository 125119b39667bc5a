//! `stats cachedump <class> <limit>`: some of the items; all of them are in class 1.
//! (`lru_crawler metadump` shows every item, and more of each.)

use super::Context;
use farcache_base::time::NEVER;
use farcache_proto::number::parse_u32;
use farcache_store::{Item, ScanCursor};
use std::io::Write;

/// Classes that memcached has at most.
const CLASSES: u32 = 64;

/// The class in which `stats items` shows all items.
const CLASS_OF_ALL: u32 = 1;

/// Most bytes of one reply. Source: memcached 1.6, `do_item_cachedump`.
const DUMP_BYTES_MAX: usize = 2 << 20;

/// Items visited at a time.
const SCAN_ITEMS: usize = 256;

/// Appends the items, or why there are none.
pub(super) fn collect(arguments: [Option<&[u8]>; 2], context: &Context<'_>, out: &mut Vec<u8>) {
    match parse(arguments, context) {
        Ok((class, limit)) => {
            if class == CLASS_OF_ALL {
                dump(limit, context, out);
            }
            out.extend_from_slice(b"END\r\n");
        }
        Err(error) => out.extend_from_slice(error.as_bytes()),
    }
}

fn parse(arguments: [Option<&[u8]>; 2], context: &Context<'_>) -> Result<(u32, u32), &'static str> {
    if !context.service.options.dump {
        return Err("CLIENT_ERROR stats cachedump not allowed\r\n");
    }
    let [Some(class), Some(limit)] = arguments else {
        return Err("CLIENT_ERROR bad command line\r\n");
    };
    let numbers = parse_u32(class).zip(parse_u32(limit));
    let (class, limit) = numbers.ok_or("CLIENT_ERROR bad command line format\r\n")?;
    if class >= CLASSES {
        return Err("CLIENT_ERROR Illegal slab id\r\n");
    }
    Ok((class, limit))
}

/// Up to `limit` items; with 0, as many as fit.
fn dump(limit: u32, context: &Context<'_>, out: &mut Vec<u8>) {
    let end = out.len() + DUMP_BYTES_MAX;
    let mut left = if limit == 0 { u32::MAX } else { limit };
    let mut cursor = ScanCursor::default();
    let mut is_more = true;
    while is_more && left > 0 && out.len() < end {
        is_more = context.store.scan(&mut cursor, SCAN_ITEMS, &mut |item| {
            if left > 0 && out.len() < end {
                left -= 1;
                line(item, context, out);
            }
        });
    }
}

fn line(item: &Item<'_>, context: &Context<'_>, out: &mut Vec<u8>) {
    let expiry_unix = match item.expiry() {
        NEVER => 0,
        expiry => context.clock.unix(expiry),
    };
    out.extend_from_slice(b"ITEM ");
    out.extend_from_slice(item.key());
    // Writing to a vector does not fail.
    let _ = write!(out, " [{} b; {expiry_unix} s]\r\n", item.value().len());
}
