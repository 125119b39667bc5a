//! Commands with which an operator inspects or adjusts a running server.

use super::Tokens;
use super::reject::Reject;
use crate::number::{parse_i32, parse_i64, parse_u32};

/// Most networks that a client may name; there are fewer.
const NETWORKS_MAX: usize = 8;

/// An operator's command, or one about the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admin<'a> {
    /// `flush_all`
    FlushAll {
        /// When, as the client gave it; an error is answered only after the command was
        /// counted, and where flushing is allowed.
        exptime: Result<i64, Reject>,
        /// No reply is wanted.
        quiet: bool,
    },
    /// `verbosity`
    Verbosity {
        /// The new level.
        level: u32,
        /// No reply is wanted.
        quiet: bool,
    },
    /// `cache_memlimit`
    MemoryLimit {
        /// The new limit, in MiB.
        mebibytes: u32,
        /// No reply is wanted.
        quiet: bool,
    },
    /// `shutdown`
    Shutdown {
        /// Whether the mode is one that exists (`graceful`, or none).
        is_valid: bool,
        /// No reply is wanted.
        quiet: bool,
    },
    /// `watch`; an error is answered only where watching is allowed.
    Watch(Result<WatchFlags, Reject>),
    /// `refresh_certs`: read the certificates anew.
    RefreshCertificates {
        /// No reply is wanted.
        quiet: bool,
    },
    /// `lru_crawler metadump`
    MetaDump {
        /// Slab classes (or `all`, `hash`) to dump.
        classes: &'a [u8],
    },
    /// `lru_crawler mgdump`
    KeyDump {
        /// Slab classes (or `all`, `hash`) to dump.
        classes: &'a [u8],
    },
    /// `lru_crawler crawl`
    Crawl {
        /// Slab classes (or `all`) to crawl.
        classes: &'a [u8],
    },
    /// `slabs reassign`, with the classes' ids.
    SlabsReassign(i32, i32),
    /// `debugtime`: moves the time, in builds for tests.
    DebugTime {
        /// How; none where that is not understood.
        change: Option<TimeChange>,
        /// No reply is wanted.
        quiet: bool,
    },
    /// `fabric <version> <network>...`: let this client in to the fabric; Farcache's own.
    Fabric {
        /// Version of the fabric's format.
        version: u32,
        /// Names of the networks that the client can use, at least one.
        networks: Tokens<'a>,
    },
    /// `config get cluster`: which servers the cluster has.
    ClusterConfiguration,
    /// `redundancy repair`: look now for copies and shards that the server lacks; Farcache's own.
    Repair,
    /// A setting of memcached's LRU or slabs that has no counterpart here, well-formed.
    Tuning {
        /// No reply is wanted.
        quiet: bool,
    },
}

/// What `debugtime` does to the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeChange {
    /// `p`: it stands still.
    Pause,
    /// `r`: it goes on.
    Resume,
    /// `<seconds>`: so many have passed.
    Advance(u32),
}

/// What a watcher wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchFlags(u16);

impl WatchFlags {
    const NAMES: [&'static [u8]; 10] = [
        b"rawcmds",
        b"evictions",
        b"fetchers",
        b"mutations",
        b"sysevents",
        b"connevents",
        b"proxyreqs",
        b"proxyevents",
        b"proxyuser",
        b"deletions",
    ];

    /// Whether events of this name (`fetchers`, `mutations`, ...) are wanted.
    pub fn has(self, name: &str) -> bool {
        WatchFlags::bit(name.as_bytes()).is_some_and(|bit| self.0 & bit != 0)
    }

    fn bit(name: &[u8]) -> Option<u16> {
        WatchFlags::NAMES
            .iter()
            .position(|known| *known == name)
            .map(|index| 1 << index)
    }

    /// The events named; `fetchers` if none is.
    fn parse(tokens: Tokens<'_>) -> Option<Self> {
        let mut bits = 0;
        for name in tokens {
            bits |= WatchFlags::bit(name)?;
        }
        Some(WatchFlags(if bits == 0 {
            WatchFlags::bit(b"fetchers")?
        } else {
            bits
        }))
    }
}

/// Parses an operator's command; none if it is no command. Tokens behind those needed are passed
/// over, as in memcached.
pub(super) fn parse<'a>(
    name: &[u8],
    tokens: Tokens<'a>,
    quiet: bool,
) -> Option<Result<Admin<'a>, Reject>> {
    let parsed = match name {
        b"flush_all" => Ok(parse_flush_all(tokens, quiet)),
        b"verbosity" => parse_verbosity(tokens, quiet),
        b"cache_memlimit" => parse_memory_limit(tokens, quiet),
        b"shutdown" => Ok(parse_shutdown(tokens, quiet)),
        // Watchers are told of what is wrong in any case.
        b"watch" => {
            return Some(Ok(Admin::Watch(
                WatchFlags::parse(tokens).ok_or(Reject::ERROR),
            )));
        }
        b"refresh_certs" => Ok(Admin::RefreshCertificates { quiet }),
        b"lru_crawler" => parse_crawler(tokens),
        b"lru" => parse_lru(tokens, quiet),
        b"slabs" => parse_slabs(tokens, quiet),
        b"extstore" => parse_extstore(tokens, quiet),
        b"debugtime" => Ok(parse_debug_time(tokens, quiet)),
        b"fabric" => parse_fabric(tokens),
        // Anything else of this name is no command, as in memcached.
        b"config" if tokens.eq([&b"get"[..], b"cluster"]) => Ok(Admin::ClusterConfiguration),
        b"redundancy" if tokens.eq([&b"repair"[..]]) => Ok(Admin::Repair),
        _ => return None,
    };
    Some(parsed.map_err(|reject| reject.unless(quiet)))
}

fn parse_flush_all(tokens: Tokens<'_>, quiet: bool) -> Admin<'_> {
    let is_timed = tokens.count() > usize::from(quiet);
    let refusal = Reject::loud("CLIENT_ERROR invalid exptime argument").unless(quiet);
    let exptime = match tokens.clone().next() {
        Some(token) if is_timed => parse_i64(token).ok_or(refusal),
        _ => Ok(0),
    };
    Admin::FlushAll { exptime, quiet }
}

fn parse_verbosity(mut tokens: Tokens<'_>, quiet: bool) -> Result<Admin<'_>, Reject> {
    let level = tokens.next().and_then(parse_u32);
    let level = level.ok_or(Reject::BAD_FORMAT)?;
    Ok(Admin::Verbosity { level, quiet })
}

fn parse_memory_limit(mut tokens: Tokens<'_>, quiet: bool) -> Result<Admin<'_>, Reject> {
    let mebibytes = tokens.next().and_then(parse_u32).ok_or(Reject::ERROR)?;
    Ok(Admin::MemoryLimit { mebibytes, quiet })
}

fn parse_shutdown(mut tokens: Tokens<'_>, quiet: bool) -> Admin<'_> {
    let is_valid = matches!(
        (tokens.next(), tokens.next()),
        (None | Some(b"graceful"), None)
    );
    Admin::Shutdown { is_valid, quiet }
}

fn parse_debug_time(mut tokens: Tokens<'_>, quiet: bool) -> Admin<'_> {
    let change = match tokens.next() {
        Some(b"p") => Some(TimeChange::Pause),
        Some(b"r") => Some(TimeChange::Resume),
        other => other.and_then(parse_u32).map(TimeChange::Advance),
    };
    Admin::DebugTime { change, quiet }
}

fn parse_crawler(mut tokens: Tokens<'_>) -> Result<Admin<'_>, Reject> {
    const TUNED: Result<Admin<'_>, Reject> = Ok(Admin::Tuning { quiet: false });
    let (verb, argument, extra) = (tokens.next(), tokens.next(), tokens.next());
    let number = |token| parse_u32(token).ok_or(Reject::BAD_FORMAT);
    match (verb, argument, extra) {
        (Some(b"enable" | b"disable"), None, None) => TUNED,
        (Some(b"crawl"), Some(classes), None) => Ok(Admin::Crawl { classes }),
        (Some(b"metadump"), Some(classes), None) => Ok(Admin::MetaDump { classes }),
        (Some(b"mgdump"), Some(classes), None) => Ok(Admin::KeyDump { classes }),
        (Some(b"tocrawl"), Some(items), None) => number(items).and(TUNED),
        (Some(b"sleep"), Some(microseconds), None) => match number(microseconds)? {
            0..=1_000_000 => TUNED,
            _ => Err(Reject::loud(
                "CLIENT_ERROR sleep must be one second or less",
            )),
        },
        _ => Err(Reject::ERROR),
    }
}

/// `lru tune|mode|temp_ttl ...`: checked as memcached checks them.
fn parse_lru(mut tokens: Tokens<'_>, quiet: bool) -> Result<Admin<'_>, Reject> {
    let verb = tokens.next().ok_or(Reject::ERROR)?;
    let first = tokens.next();
    let is_valid = match (verb, first) {
        (b"mode", Some(mode)) => matches!(mode, b"flat" | b"segmented"),
        (b"temp_ttl", Some(ttl)) => parse_i32(ttl).is_some(),
        (b"tune", Some(hot)) => check_tune(hot, tokens)?,
        _ => false,
    };
    match is_valid {
        true => Ok(Admin::Tuning { quiet }),
        false => Err(Reject::ERROR),
    }
}

/// `lru tune <percent hot> <percent warm> <max hot factor> <max warm age factor>`
fn check_tune(hot: &[u8], mut tokens: Tokens<'_>) -> Result<bool, Reject> {
    let numbers = (
        parse_u32(hot),
        tokens.next().and_then(parse_u32),
        factor(&mut tokens),
        factor(&mut tokens),
    );
    let (Some(hot), Some(warm), Some(hot_factor), Some(warm_factor)) = numbers else {
        return Ok(false);
    };
    let refuse = |message| Err(Reject::loud(message));
    match (
        hot.saturating_add(warm) > 80,
        hot_factor > 0.0 && warm_factor > 0.0,
    ) {
        (true, _) => refuse("ERROR hot and warm pcts must not exceed 80"),
        (false, false) => refuse("ERROR hot/warm age factors must be greater than 0"),
        (false, true) => Ok(true),
    }
}

fn factor(tokens: &mut Tokens<'_>) -> Option<f64> {
    std::str::from_utf8(tokens.next()?).ok()?.parse().ok()
}

fn parse_fabric(mut tokens: Tokens<'_>) -> Result<Admin<'_>, Reject> {
    let version = tokens.next().and_then(parse_u32).ok_or(Reject::ERROR)?;
    match (1..=NETWORKS_MAX).contains(&tokens.take(NETWORKS_MAX + 1).count()) {
        true => Ok(Admin::Fabric {
            version,
            networks: tokens,
        }),
        false => Err(Reject::ERROR),
    }
}

fn parse_slabs(mut tokens: Tokens<'_>, quiet: bool) -> Result<Admin<'_>, Reject> {
    match (tokens.next(), tokens.next()) {
        (Some(b"reassign"), Some(source)) => {
            let (Some(destination), None) = (tokens.next(), tokens.next()) else {
                return Err(Reject::ERROR);
            };
            let number = |token| parse_i32(token).ok_or(Reject::BAD_FORMAT);
            Ok(Admin::SlabsReassign(number(source)?, number(destination)?))
        }
        (Some(b"automove"), Some(what)) => {
            check_automove(what, tokens)?;
            Ok(Admin::Tuning { quiet })
        }
        _ => Err(Reject::ERROR),
    }
}

/// `slabs automove <level>`, `ratio <ratio>`, `freeratio <ratio>` and `window <seconds>`
fn check_automove(what: &[u8], mut tokens: Tokens<'_>) -> Result<(), Reject> {
    match what {
        b"ratio" | b"freeratio" => factor(&mut tokens).map(drop).ok_or(Reject::ERROR),
        b"window" => match tokens.next().and_then(parse_u32) {
            Some(3..=1800) => Ok(()),
            Some(_) => Err(Reject::loud(
                "CLIENT_ERROR automove window too low or too high",
            )),
            None => Err(Reject::BAD_FORMAT),
        },
        level => match parse_u32(level) {
            Some(0..=2) => Ok(()),
            Some(_) => Err(Reject::ERROR),
            None => Err(Reject::BAD_FORMAT),
        },
    }
}

/// `extstore <setting> <value>`: checked as memcached checks them.
fn parse_extstore(mut tokens: Tokens<'_>, quiet: bool) -> Result<Admin<'_>, Reject> {
    let (setting, mut values) = (tokens.next().ok_or(Reject::ERROR)?, tokens);
    let mut number = || values.next().and_then(parse_u32);
    let is_valid = match setting {
        b"free_memchunks" => number().is_some_and(|class| class < 64) && number().is_some(),
        b"item_size" | b"item_age" | b"low_ttl" | b"recache_rate" | b"compact_under"
        | b"drop_under" | b"max_sleep" | b"drop_unread" => number().is_some(),
        b"max_frag" => factor(&mut tokens).is_some(),
        _ => false,
    };
    match is_valid {
        true => Ok(Admin::Tuning { quiet }),
        false => Err(Reject::ERROR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_asked_for_by_exactly_these_words() {
        let parse = |line| parse(b"config", Tokens::new(line), false);
        for line in [&b"get cluster"[..], b" get  cluster "] {
            assert_eq!(parse(line), Some(Ok(Admin::ClusterConfiguration)));
        }
        for line in [
            &b""[..],
            b"get",
            b"cluster",
            b"get cluste",
            b"get clusters",
            b"get cluster noreply",
            b"set cluster",
            b"GET cluster",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_repair_is_asked_for_by_exactly_these_words() {
        let parse = |line| parse(b"redundancy", Tokens::new(line), false);
        assert_eq!(parse(b" repair"), Some(Ok(Admin::Repair)));
        for line in [&b""[..], b"repairs", b"repair now", b"Repair"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn the_fabric_is_asked_for_by_version_and_networks() {
        let parse = |line| parse(b"fabric", Tokens::new(line), false).expect("known");
        let Ok(Admin::Fabric { version, networks }) = parse(b"1 ucx memory") else {
            panic!("valid");
        };
        assert_eq!(version, 1);
        assert!(networks.eq([&b"ucx"[..], b"memory"]));
        for line in [&b""[..], b"1", b"x ucx", b"1 a b c d e f g h i"] {
            assert_eq!(parse(line), Err(Reject::ERROR));
        }
    }
}
