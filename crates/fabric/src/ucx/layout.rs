//! How messages lie in shared memory: processes that share it must agree, and UCX does not look
//! whether they do. A sender writes as many bytes into its peer's buffers as its own have.

use super::address::{Address, checksum};
use super::named;
use super::process::Process;
use crate::error::Error;
use std::ffi::OsString;

/// Room of a message in shared memory, in bytes: several values of 4 KB. A larger message arrives
/// in pieces, which costs its receiver another copy. An odd number of cache lines, so that the
/// rooms' beginnings do not share places in the caches.
const ROOM_BYTES: &str = "33088";

/// Size of a queue's element, in bytes, twice UCX's own: the answer with a value of up to 160 bytes
/// lies in the element itself. Otherwise it lies in a room, of which both ends have to fetch a
/// cache line more.
const ELEMENT_BYTES: &str = "256";

/// Rooms that are made at a time. Beside so large ones, UCX's own 512 would be four times as much
/// memory as it thought of.
const ROOMS_AT_ONCE: &str = "128";

/// The layout of a port that shares no memory.
pub(super) const NO_LAYOUT: u32 = 0;

/// How a port shares memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Stands for the layout and the way to the memory.
    pub number: u32,
    /// Whether the memory has a name, by which other users may open it.
    pub is_by_name: bool,
}

/// What variables for UCX's transports in shared memory begin with.
const PREFIXES: [&str; 5] = ["", "MM_", "POSIX_", "SYSV_", "XPMEM_"];

/// Settings that both ends must have the same.
const SHARED: [&str; 4] = ["SEG_SIZE", "FIFO_SIZE", "FIFO_ELEM_SIZE", named::BY_PROCESS];

/// UCX prefers shared memory within a host, and waits in vain where the system does not allow it.
const OTHER_USER: &str = "its process runs as another user of this host, so memory cannot be shared with it (without shared memory, \
    by UCX_TLS=^sm, the fabric reaches it; docs/security.md says how users of a group share memory)";

/// UCX would write beyond the ends of the smaller rooms.
const OTHER_LAYOUT: &str = "its process on this host shares memory in another way (by variables like UCX_POSIX_SEG_SIZE or \
    FARCACHE_SHARED_MEMORY: they must be set for both or for neither)";

/// Whether memory could be shared with the port of this address, should UCX do so, by a process
/// that is `here` and has this layout. One that shares memory by name has the layout of those only
/// that do so, too.
///
/// # Errors
/// [`Error::Unreachable`]
pub(super) fn check_sharing(
    address: &Address<'_>,
    here: &Process,
    layout: Layout,
) -> Result<(), Error> {
    let is_open_to_users = layout.is_by_name && address.layout == layout.number;
    if address.process.is_of_another_user(here) && !is_open_to_users {
        return Err(Error::Unreachable(OTHER_USER.into()));
    }
    let is_other = address.layout != NO_LAYOUT && address.layout != layout.number;
    if is_other && !address.process.is_elsewhere(here) {
        return Err(Error::Unreachable(OTHER_LAYOUT.into()));
    }
    Ok(())
}

/// The layout that follows from these settings and the environment.
pub(super) fn layout(chosen: &[(String, String)]) -> Layout {
    Layout {
        number: layout_in(chosen, |variable| std::env::var_os(variable)),
        is_by_name: named::is_chosen(chosen),
    }
}

fn layout_in(chosen: &[(String, String)], environment: impl Fn(&str) -> Option<OsString>) -> u32 {
    let mut text = Vec::new();
    for name in names() {
        let by_program = chosen.iter().find(|(known, _)| *known == name);
        let by_program = by_program.map(|(_, value)| value.into());
        if let Some(value) = by_program.or_else(|| environment(&format!("UCX_{name}"))) {
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(value.as_encoded_bytes());
        }
    }
    checksum(&text)
}

/// Our own choice of the layout in shared memory, as far as the user has not decided: UCX's
/// settings by name without `UCX_`, and their values.
#[must_use]
pub fn defaults() -> Vec<(&'static str, &'static str)> {
    defaults_in(|variable| std::env::var_os(variable).is_some())
}

fn defaults_in(is_set: impl Fn(&str) -> bool) -> Vec<(&'static str, &'static str)> {
    let is_decided = |name| {
        let mut variables = PREFIXES.iter().map(|prefix| format!("UCX_{prefix}{name}"));
        variables.any(|variable| is_set(&variable))
    };
    let mut list = Vec::new();
    if !is_decided("SEG_SIZE") {
        list.extend([
            ("MM_SEG_SIZE", ROOM_BYTES),
            ("MM_RX_BUFS_GROW", ROOMS_AT_ONCE),
        ]);
    }
    if !is_decided("FIFO_ELEM_SIZE") {
        list.push(("MM_FIFO_ELEM_SIZE", ELEMENT_BYTES));
    }
    list
}

fn names() -> impl Iterator<Item = String> {
    let named = |prefix| SHARED.iter().map(move |name| format!("{prefix}{name}"));
    PREFIXES.iter().flat_map(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Layout = Layout {
        number: 1,
        is_by_name: false,
    };

    fn chosen(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.into(), value.into())]
    }

    #[test]
    fn processes_of_one_machine_must_agree() {
        let process = Process::this();
        let ucx = &b"ucx"[..];
        let with = |layout| Address {
            process,
            layout,
            ucx,
        };
        assert_eq!(check_sharing(&with(1), &process, OWN), Ok(()));
        assert_eq!(check_sharing(&with(NO_LAYOUT), &process, OWN), Ok(()));
        let Err(Error::Unreachable(why)) = check_sharing(&with(2), &process, OWN) else {
            panic!("their rooms differ");
        };
        assert!(why.contains("UCX_POSIX_SEG_SIZE"));
    }

    #[test]
    fn another_user_is_reached_where_both_share_memory_by_name() {
        let here = Process::this();
        let address = Address {
            process: here.as_another_user(),
            layout: 1,
            ucx: b"ucx",
        };
        const BY_NAME: Layout = Layout {
            is_by_name: true,
            ..OWN
        };
        const OTHER: Layout = Layout {
            number: 2,
            ..BY_NAME
        };
        assert!(check_sharing(&address, &here, OWN).is_err());
        assert_eq!(check_sharing(&address, &here, BY_NAME), Ok(()));
        assert!(check_sharing(&address, &here, OTHER).is_err());
        let by_name = layout_in(&chosen(named::BY_PROCESS, "n"), |_| None);
        assert_ne!(by_name, layout_in(&[], |_| None));
    }

    #[test]
    fn only_settings_of_the_queues_count() {
        let none = |_: &str| None;
        let plain = layout_in(&[], none);
        assert_eq!(plain, layout_in(&chosen("KEEPALIVE_INTERVAL", "1s"), none));
        let large = layout_in(&chosen("MM_SEG_SIZE", "33088"), none);
        assert_ne!(plain, large);
        assert_ne!(large, layout_in(&chosen("MM_SEG_SIZE", "8256"), none));
    }

    #[test]
    fn what_the_user_has_decided_is_left_alone() {
        let names = |set: &'static [&str]| {
            let list = defaults_in(|variable| set.contains(&variable)).into_iter();
            list.map(|(name, _)| name).collect::<Vec<_>>()
        };
        let rooms = ["MM_SEG_SIZE", "MM_RX_BUFS_GROW"];
        assert_eq!(names(&["UCX_TLS"]).len(), 3);
        assert_eq!(names(&["UCX_SYSV_FIFO_ELEM_SIZE"]), rooms);
        assert_eq!(names(&["UCX_POSIX_SEG_SIZE"]), ["MM_FIFO_ELEM_SIZE"]);
        assert!(names(&["UCX_SEG_SIZE", "UCX_MM_FIFO_ELEM_SIZE"]).is_empty());
    }

    #[test]
    fn the_users_variables_count_too() {
        let of = |set: &'static str| {
            layout_in(&[], move |variable| (variable == set).then(|| "1".into()))
        };
        let plain = of("UCX_TLS");
        for variable in [
            "UCX_POSIX_SEG_SIZE",
            "UCX_MM_FIFO_SIZE",
            "UCX_SYSV_FIFO_ELEM_SIZE",
        ] {
            assert_ne!(of(variable), plain, "{variable}");
        }
        assert_ne!(of("UCX_POSIX_SEG_SIZE"), of("UCX_SYSV_SEG_SIZE"));
    }
}
