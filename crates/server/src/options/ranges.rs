//! Values that make no sense, and options that exclude one another.

use super::refusal::Refusal;
use super::{Options, ports};
use crate::settings::FabricMode;
use farcache_session::Protocol;

/// Smallest and largest item size that `-I` allows, in bytes.
const ITEM_BYTES_LIMITS: std::ops::RangeInclusive<u64> = 1024..=1 << 30;

/// Whether each option, and each pair of them, makes sense.
pub(super) fn check(options: &Options) -> Result<(), Refusal> {
    let checks = [
        (
            options.threads == Some(0),
            "-t: the number of threads must be greater than 0",
        ),
        (
            options.connections_max == Some(0),
            "-c: the most connections must be greater than 0",
        ),
        (
            options.requests_per_event == 0,
            "-R: the requests per event must be greater than 0",
        ),
        (
            options.backlog <= 0,
            "-b: the backlog must be greater than 0",
        ),
        (
            options.chunk_bytes == 0,
            "-n: the chunk size must be greater than 0",
        ),
        (
            options.growth_factor <= 1.0,
            "-f: the factor must be greater than 1",
        ),
        (
            options.memory_bytes == 0,
            "-m: the memory must be greater than 0",
        ),
        (
            !ITEM_BYTES_LIMITS.contains(&options.item_bytes_max),
            "-I: the largest item must be between 1k and 1024m",
        ),
        (
            options.item_bytes_max > options.memory_bytes / 2,
            "-I: the largest item (1m by default) cannot be above half of the memory: lower -I or raise -m",
        ),
        (
            options.evict_expiring && !options.no_evictions,
            "--evict-expiring needs -M",
        ),
        (
            options.fabric_with_tls && !options.tls,
            "--fabric-with-tls needs -Z",
        ),
        (
            options.fabric == FabricMode::Require && options.tls && !options.fabric_with_tls,
            "--fabric require: with -Z, clients may use the fabric only with --fabric-with-tls",
        ),
        (
            options.sasl && options.auth_file.is_some(),
            "-S and -Y exclude each other",
        ),
        (
            options.sasl
                && options
                    .protocol
                    .is_some_and(|name| name != Protocol::Binary),
            "-S needs the binary protocol; do not use it with another -B",
        ),
        (
            options.auth_file.is_some()
                && options.protocol.is_some_and(|name| name != Protocol::Ascii),
            "-Y needs the text protocol; do not use it with another -B",
        ),
        (
            (options.sasl || options.auth_file.is_some()) && ports::asks_for_udp(options),
            "-U cannot be combined with -S or -Y: datagrams do not authenticate",
        ),
    ];
    match checks.iter().find(|(wrong, _)| *wrong) {
        Some((_, message)) => Err(Refusal::bad_value(*message)),
        None => Ok(()),
    }
}
