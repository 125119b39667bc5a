//! What a server's statistics are called, where C finds them, and what they say of several servers.

use farcache_libmemcached_abi::{Analysis, Statistics, VERSION_ROOM_BYTES};
use std::ffi::CStr;

/// The names that `memcached_stat_get_value` knows, in libmemcached's order.
pub(crate) const NAMES: [&CStr; 22] = [
    c"pid",
    c"uptime",
    c"time",
    c"version",
    c"pointer_size",
    c"rusage_user",
    c"rusage_system",
    c"curr_items",
    c"total_items",
    c"bytes",
    c"curr_connections",
    c"total_connections",
    c"connection_structures",
    c"cmd_get",
    c"cmd_set",
    c"get_hits",
    c"get_misses",
    c"evictions",
    c"bytes_read",
    c"bytes_written",
    c"limit_maxbytes",
    c"threads",
];

/// The place of a statistic that is no more than a number.
fn field<'a>(of: &'a mut Statistics, name: &str) -> Option<&'a mut u64> {
    Some(match name {
        "uptime" => &mut of.uptime,
        "time" => &mut of.time,
        "pointer_size" => &mut of.pointer_size,
        "curr_items" => &mut of.curr_items,
        "total_items" => &mut of.total_items,
        "bytes" => &mut of.bytes,
        "curr_connections" => &mut of.curr_connections,
        "total_connections" => &mut of.total_connections,
        "connection_structures" => &mut of.connection_structures,
        "cmd_get" => &mut of.cmd_get,
        "cmd_set" => &mut of.cmd_set,
        "get_hits" => &mut of.get_hits,
        "get_misses" => &mut of.get_misses,
        "evictions" => &mut of.evictions,
        "bytes_read" => &mut of.bytes_read,
        "bytes_written" => &mut of.bytes_written,
        "limit_maxbytes" => &mut of.limit_maxbytes,
        "threads" => &mut of.threads,
        _ => return None,
    })
}

/// Keeps one statistic; unknown ones are passed over.
pub(crate) fn keep(of: &mut Statistics, name: &str, value: &str) {
    let seconds = || {
        let (whole, part) = value.split_once('.').unwrap_or((value, "0"));
        (whole.parse().unwrap_or(0), part.parse().unwrap_or(0))
    };
    match name {
        "pid" => of.pid = value.parse().unwrap_or(-1),
        "version" => {
            let text = value.bytes().take(VERSION_ROOM_BYTES - 1);
            for (place, byte) in of.version.iter_mut().zip(text.chain([0])) {
                *place = byte.cast_signed();
            }
        }
        "rusage_user" => (of.rusage_user_seconds, of.rusage_user_microseconds) = seconds(),
        "rusage_system" => (of.rusage_system_seconds, of.rusage_system_microseconds) = seconds(),
        name => {
            if let Some(field) = field(of, name) {
                *field = value.parse().unwrap_or(0);
            }
        }
    }
}

/// A statistic as a text; `None` of an unknown name.
pub(crate) fn shown(of: &mut Statistics, name: &str) -> Option<String> {
    Some(match name {
        "pid" => of.pid.to_string(),
        "version" => {
            let text = of.version.iter().take_while(|byte| **byte != 0);
            text.map(|byte| char::from(byte.cast_unsigned())).collect()
        }
        "rusage_user" => format!("{}.{}", of.rusage_user_seconds, of.rusage_user_microseconds),
        "rusage_system" => format!(
            "{}.{}",
            of.rusage_system_seconds, of.rusage_system_microseconds
        ),
        name => field(of, name)?.to_string(),
    })
}

/// Compares the servers with one another.
pub(crate) fn analyze(statistics: &[Statistics], to: &mut Analysis) {
    let (mut items, mut bytes, mut gets, mut hits) = (0, 0, 0, 0);
    for (server, of) in (0_u32..).zip(statistics) {
        if to.most_used_bytes < of.bytes {
            (to.most_used_bytes, to.most_consumed_server) = (of.bytes, server);
        }
        if to.longest_uptime < of.uptime as u32 {
            (to.longest_uptime, to.oldest_server) = (of.uptime as u32, server);
        }
        let free = of.limit_maxbytes.wrapping_sub(of.bytes);
        if to.least_remaining_bytes == 0 || free < to.least_remaining_bytes {
            (to.least_remaining_bytes, to.least_free_server) = (free, server);
        }
        items += of.curr_items;
        bytes += of.bytes;
        gets += of.cmd_get;
        hits += of.get_hits;
    }
    to.average_item_size = bytes.checked_div(items).unwrap_or(0) as u32;
    to.pool_hit_ratio = match gets {
        0 => 0.0,
        gets => hits as f64 / gets as f64 * 100.0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Statistics {
        // SAFETY: all zero is a valid structure.
        unsafe { std::mem::zeroed() }
    }

    #[test]
    fn every_name_is_kept_and_shown() {
        let value = |number: usize, name: &str| match name {
            "version" => "1.6.21".to_owned(),
            "rusage_user" | "rusage_system" => format!("{number}.25"),
            _ => (1000 + number).to_string(),
        };
        let names = || NAMES.iter().map(|name| name.to_str().unwrap()).enumerate();
        let mut of = none();
        for (number, name) in names() {
            keep(&mut of, name, &value(number, name));
        }
        for (number, name) in names() {
            assert_eq!(shown(&mut of, name), Some(value(number, name)), "{name}");
        }
        assert_eq!(shown(&mut of, "slabs"), None);
    }

    #[test]
    fn a_long_version_keeps_room_for_its_end() {
        let mut of = none();
        keep(&mut of, "version", &"9".repeat(100));
        let version = shown(&mut of, "version").unwrap();
        assert_eq!(version.len(), VERSION_ROOM_BYTES - 1);
        keep(&mut of, "unheard_of", "7");
        keep(&mut of, "pid", "no number");
        assert_eq!(shown(&mut of, "pid").as_deref(), Some("-1"));
    }

    #[test]
    fn servers_are_compared() {
        let of = |bytes, uptime, limit_maxbytes, gets| Statistics {
            bytes,
            uptime,
            limit_maxbytes,
            curr_items: 10,
            cmd_get: gets,
            get_hits: gets / 4,
            ..none()
        };
        let all = [
            of(500, 7, 1000, 80),
            of(300, 9, 400, 0),
            of(400, 8, 5000, 20),
        ];
        // SAFETY: all zero is a valid structure.
        let mut told: Analysis = unsafe { std::mem::zeroed() };
        analyze(&all, &mut told);
        assert_eq!((told.most_used_bytes, told.most_consumed_server), (500, 0));
        assert_eq!((told.longest_uptime, told.oldest_server), (9, 1));
        assert_eq!(
            (told.least_remaining_bytes, told.least_free_server),
            (100, 1)
        );
        assert_eq!(told.average_item_size, 40);
        assert!((told.pool_hit_ratio - 25.0).abs() < 1e-9);
    }
}
