//! What UCX is told.

use super::layout;
use super::named;
use std::path::Path;

/// Where Linux lists devices that speak verbs.
const VERBS_DEVICES: &str = "/sys/class/infiniband";

/// The user's choice, as far as it is not made by `UCX_*` variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// UCX's settings by name without `UCX_`, and their values, such as `("TLS", "tcp,self")`.
    pub ucx: Vec<(String, String)>,
}

impl Settings {
    /// Settings that a program gives.
    pub fn new(ucx: &[(&str, &str)]) -> Settings {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        Settings {
            ucx: ucx.iter().map(owned).collect(),
        }
    }

    /// The settings, with defaults for what they leave open.
    pub(super) fn list(self, defaults: Vec<(&str, String)>) -> Vec<(String, String)> {
        let mut list = self.ucx;
        for (name, value) in defaults {
            if list.iter().all(|(chosen, _)| chosen != name) {
                list.push((name.into(), value));
            }
        }
        list
    }
}

/// Variables by which users decide settings that have a shorter name in a program.
const VARIABLES: [(&str, &str); 5] = [
    ("DIR", "UCX_POSIX_DIR"),
    ("MAX_POLL", "UCX_TCP_MAX_POLL"),
    ("MEMORY_INVALIDATE", "UCX_CMA_MEMORY_INVALIDATE"),
    ("PUT_ENABLE", "UCX_TCP_PUT_ENABLE"),
    (named::BY_PROCESS, "UCX_POSIX_USE_PROC_LINK"),
];

/// The transports of a UCX whose TCP ends the process when a peer dies while it connects, unless
/// somebody names others: before 1.14, without which its pull request 8175 is.
const WITHOUT_TCP: &str = "^tcp";

/// The transports between users of a host that share memory by name: CMA reads the memory of one's
/// own user alone, and System V's memory belongs to one user.
const BY_NAME: &str = "^cma,sysv";
const BY_NAME_WITHOUT_TCP: &str = "^cma,sysv,tcp";

/// How dead peers are noticed and survived unless somebody says otherwise.
#[derive(Clone, Copy, Debug)]
struct Situation<'a> {
    /// UCX's version.
    version: (u32, u32, u32),
    /// Whether the machine has devices that speak verbs.
    has_verbs: bool,
    /// The transports chosen; all where there is no choice.
    transports: Option<&'a str>,
    /// Whether memory is shared by name, with other users of this host.
    shares_by_name: bool,
}

/// The names of this machine's devices that speak verbs, in order.
#[must_use]
pub fn rdma_devices() -> Vec<String> {
    let entries = Path::new(VERBS_DEVICES).read_dir();
    let entries = entries.into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Our own choice for UCX of this version, beside the program's.
pub(super) fn defaults(version: (u32, u32, u32), chosen: &Settings) -> Vec<(&'static str, String)> {
    let is_decided = |(name, _): &(&str, String)| {
        let mut variables = VARIABLES.iter().filter(|(known, _)| known == name);
        variables.any(|(_, variable)| std::env::var_os(variable).is_some())
    };
    let transports = transports(chosen);
    let folder = named::folder();
    let mut list = owned(defaults_in(Situation {
        version,
        shares_by_name: folder.is_some(),
        has_verbs: !rdma_devices().is_empty(),
        transports: transports.as_deref(),
    }));
    if may_share_memory(chosen) {
        // The first of a name counts.
        list.extend(folder.into_iter().flat_map(named::settings));
        list.extend(owned(layout::defaults()));
    }
    list.retain(|setting| !is_decided(setting));
    list
}

fn owned(settings: Vec<(&'static str, &str)>) -> Vec<(&'static str, String)> {
    let settings = settings.into_iter();
    settings
        .map(|(name, value)| (name, value.to_owned()))
        .collect()
}

/// The transports chosen, by the user or else by the program.
fn transports(chosen: &Settings) -> Option<String> {
    let by_program = || {
        let (_, value) = chosen.ucx.iter().find(|(name, _)| name == "TLS")?;
        Some(value.clone())
    };
    std::env::var("UCX_TLS").ok().or_else(by_program)
}

/// Whether UCX may use shared memory under these settings.
pub(super) fn may_share_memory(chosen: &Settings) -> bool {
    shares_memory(transports(chosen).as_deref())
}

fn shares_memory(transports: Option<&str>) -> bool {
    const ALL: [&str; 3] = ["sm", "shm", "mm"];
    const EACH: [&str; 3] = ["posix", "sysv", "xpmem"];
    let Some(transports) = transports else {
        return true;
    };
    let (is_excluded, list) = match transports.strip_prefix('^') {
        Some(excluded) => (true, excluded),
        None => (false, transports),
    };
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    let has = |name: &&str| words.contains(name);
    match is_excluded {
        true => !ALL.iter().any(has) && !["posix", "sysv"].iter().all(has),
        false => has(&"all") || ALL.iter().chain(&EACH).any(has),
    }
}

/// Endpoints are not kept alive: UCX dereferences a null pointer when it is about to ask after an
/// endpoint whose peer died while it connected (docs/journal/2026-11-25-dead-while-connecting.md),
/// and before 1.14 it aborts over verbs when such an endpoint is closed before it is wired up
/// (docs/journal/2026-11-22-closing-before-wire-up.md). The life line tells of a death sooner.
/// UCX's own limits for unanswered verbs are tens of seconds; these come to about two.
///
/// Without verbs, what sends without a copy is TCP alone, and UCX aborts now and then when a peer
/// dies while it does (docs/journal/2026-11-22-killed-peers.md): there it copies. It also aborts
/// where one connection's event closes another whose event came with it: there it takes one event
/// at a time. And UCX before 1.14 aborts when a peer dies while TCP connects (same page): there TCP
/// is left to those who name it.
///
/// Within a host, large bodies are read from the other process's memory (CMA) instead of being
/// copied through the shared queue, which a process that is killed while it writes there blocks for
/// everyone (same page). UCX leaves CMA out where dead peers are to be reported unless it is told
/// that memory can be invalidated; nothing here uses memory keys that would have to be.
///
/// UCX warns of settings for transports that are not in use.
fn defaults_in(mut situation: Situation<'_>) -> Vec<(&'static str, &'static str)> {
    let (major, minor, _) = situation.version;
    let survives_wire_up = (major, minor) >= (1, 14);
    let mut settings = Vec::new();
    if situation.transports.is_none()
        && let Some(transports) = own_choice(survives_wire_up, situation.shares_by_name)
    {
        situation.transports = Some(transports);
        settings.push(("TLS", transports));
    }
    let verbs = situation.has_verbs && situation.may_use(&["rc", "ud", "ib"]);
    settings.push(("KEEPALIVE_INTERVAL", "inf"));
    if verbs {
        settings.extend([("RC_TIMEOUT", "100ms"), ("RC_RETRY_COUNT", "3")]);
        settings.push(("UD_TIMEOUT", "4s"));
    } else if situation.may_use(&["tcp"]) {
        settings.extend([("ZCOPY_THRESH", "inf"), ("PUT_ENABLE", "n")]);
    }
    if situation.may_use(&["tcp"]) {
        settings.push(("MAX_POLL", "1"));
    }
    if situation.may_use(&["sm", "shm", "cma"]) {
        settings.push(("MEMORY_INVALIDATE", "y"));
    }
    settings
}

/// The transports where nobody has chosen any; all where that is none.
fn own_choice(has_tcp: bool, shares_by_name: bool) -> Option<&'static str> {
    match (has_tcp, shares_by_name) {
        (true, false) => None,
        (true, true) => Some(BY_NAME),
        (false, false) => Some(WITHOUT_TCP),
        (false, true) => Some(BY_NAME_WITHOUT_TCP),
    }
}

impl Situation<'_> {
    /// Whether a transport whose name begins like this may be used.
    fn may_use(&self, names: &[&str]) -> bool {
        let Some(transports) = self.transports else {
            return true;
        };
        if let Some(excluded) = transports.strip_prefix('^') {
            return !excluded.split(',').any(|name| names.contains(&name.trim()));
        }
        let is_one = |word: &str| word == "all" || names.iter().any(|name| word.starts_with(name));
        transports.split(',').any(|word| is_one(word.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation(minor: u32, has_verbs: bool, transports: Option<&str>) -> Situation<'_> {
        Situation {
            version: (1, minor, 0),
            has_verbs,
            transports,
            shares_by_name: false,
        }
    }

    #[test]
    fn memory_that_is_shared_by_name_is_not_read_by_cma() {
        let by_name = |minor, transports| {
            defaults_in(Situation {
                shares_by_name: true,
                ..situation(minor, false, transports)
            })
        };
        let has = |list: &[(&str, &str)], name| list.iter().any(|(known, _)| *known == name);
        assert!(by_name(13, None).contains(&("TLS", BY_NAME_WITHOUT_TCP)));
        assert!(by_name(14, None).contains(&("TLS", BY_NAME)));
        assert!(!has(&by_name(13, None), "MEMORY_INVALIDATE"));
        assert!(!has(&by_name(13, Some("sm,self")), "TLS"), "the user's");
    }

    #[test]
    fn what_is_said_goes_before_defaults() {
        let settings = Settings::new(&[("RC_TIMEOUT", "7s"), ("TLS", "rc")]);
        let list = settings.list(owned(defaults_in(situation(13, true, Some("rc")))));
        let value = |name| {
            let found = list.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("RC_TIMEOUT"), Some("7s"));
        assert_eq!(value("TLS"), Some("rc"));
        assert_eq!(value("KEEPALIVE_INTERVAL"), Some("inf"));
        assert_eq!((list.len(), value("ZCOPY_THRESH")), (5, None));
    }

    #[test]
    fn endpoints_are_never_kept_alive() {
        for (minor, has_verbs) in [(13, false), (13, true), (14, false), (19, true)] {
            let settings = defaults_in(situation(minor, has_verbs, None));
            assert!(settings.contains(&("KEEPALIVE_INTERVAL", "inf")));
        }
    }

    #[test]
    fn tcp_is_left_out_where_it_aborts_and_nobody_names_it() {
        let transports = |situation| {
            let settings = defaults_in(situation).into_iter();
            settings
                .filter(|(name, _)| *name == "TLS")
                .collect::<Vec<_>>()
        };
        assert_eq!(transports(situation(13, false, None)), [("TLS", "^tcp")]);
        assert_eq!(transports(situation(13, true, None)), [("TLS", "^tcp")]);
        assert_eq!(transports(situation(14, false, None)), []);
        assert_eq!(transports(situation(13, false, Some("tcp,self"))), []);
        let names_poll = |situation| defaults_in(situation).contains(&("MAX_POLL", "1"));
        assert!(names_poll(situation(14, false, None)));
        assert!(names_poll(situation(13, true, Some("all"))));
        assert!(!names_poll(situation(13, false, None)));
    }

    #[test]
    fn shared_memory_is_found_among_the_transports() {
        for with in ["all", "shm,self", "tcp, posix", "^tcp", "^sysv", "^cma"] {
            assert!(shares_memory(Some(with)), "{with}");
        }
        for without in ["tcp,self", "rc,ud", "^sm", "^shm,tcp", "^mm", "^posix,sysv"] {
            assert!(!shares_memory(Some(without)), "{without}");
        }
        assert!(shares_memory(None));
    }

    #[test]
    fn nothing_is_said_of_transports_that_are_not_used() {
        let names = |situation| {
            let names = defaults_in(situation).into_iter().map(|(name, _)| name);
            names.collect::<Vec<_>>()
        };
        let alone = ["KEEPALIVE_INTERVAL"];
        assert_eq!(names(situation(13, false, Some("self,posix"))), alone);
        let within = ["KEEPALIVE_INTERVAL", "MEMORY_INVALIDATE"];
        assert_eq!(names(situation(13, false, Some("shm,self"))), within);
        assert_eq!(names(situation(13, false, Some("^tcp,sysv"))), within);
        assert_eq!(names(situation(13, false, Some("^tcp,cma"))), alone);
        assert_eq!(names(situation(13, false, Some("^sysv"))).len(), 5);
        assert_eq!(names(situation(13, false, Some("self, tcp"))).len(), 4);
        assert_eq!(
            names(situation(13, true, Some("rc_verbs,ud_verbs"))).len(),
            4
        );
        assert_eq!(names(situation(13, true, Some("all"))).len(), 6);
    }
}
