//! Whether a peer's process is gone.
//!
//! Over shared memory UCX 1.13 never completes a forced close when the peer died with its queue
//! full: it waits for room in the queue (`uct_mm_ep_flush` does not look at the flag that asks it
//! to cancel), and with it wait all operations of the endpoint. They can be given up once nobody is
//! left who could still send for them, that is, once the process is gone and what it sent has been
//! read. So a port's address says which process it is in.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// Length of an encoded process in bytes.
pub(super) const PROCESS_BYTES: usize = 40;

/// Fields of `/proc/PID/stat` behind the program's name: state, number of threads, and when it was
/// started, in ticks since boot.
const STATE_FIELD: usize = 0;
const THREADS_FIELD: usize = 17;
const STARTED_FIELD: usize = 19;

/// A process of some machine.
///
/// | offset | bytes | field |
/// |---:|---:|---|
/// | 0 | 16 | the machine's boot: the kernel's boot id |
/// | 16 | 8 | number of the PID namespace |
/// | 24 | 4 | PID |
/// | 28 | 8 | ticks from boot to its start |
/// | 36 | 4 | number of the user that it runs as |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    boot: [u8; 16],
    namespace: u64,
    pid: u32,
    started: u64,
    user: u32,
}

impl Process {
    /// This process. Where the system does not say, one that is never known to be gone.
    pub fn this() -> Process {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let status = fs::read_to_string("/proc/self/stat");
        Process {
            boot: boot
                .ok()
                .and_then(|text| parse_boot(&text))
                .unwrap_or_default(),
            namespace: namespace(),
            pid: std::process::id(),
            started: status
                .ok()
                .and_then(|text| field(&text, STARTED_FIELD))
                .unwrap_or_default(),
            user: rustix::process::geteuid().as_raw(),
        }
    }

    /// As part of an address.
    pub fn encode(&self) -> [u8; PROCESS_BYTES] {
        let mut bytes = [0; PROCESS_BYTES];
        bytes[..16].copy_from_slice(&self.boot);
        bytes[16..24].copy_from_slice(&self.namespace.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.pid.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.started.to_le_bytes());
        bytes[36..].copy_from_slice(&self.user.to_le_bytes());
        bytes
    }

    /// Splits an address into the process and UCX's part.
    pub fn decode(address: &[u8]) -> Option<(Process, &[u8])> {
        let (bytes, rest) = address.split_first_chunk::<PROCESS_BYTES>()?;
        let (boot, bytes) = bytes.split_first_chunk()?;
        let (namespace, bytes) = bytes.split_first_chunk()?;
        let (pid, bytes) = bytes.split_first_chunk()?;
        let (started, bytes) = bytes.split_first_chunk()?;
        let (user, _) = bytes.split_first_chunk()?;
        let process = Process {
            boot: *boot,
            namespace: u64::from_le_bytes(*namespace),
            pid: u32::from_le_bytes(*pid),
            started: u64::from_le_bytes(*started),
            user: u32::from_le_bytes(*user),
        };
        Some((process, rest))
    }

    /// Whether it certainly runs no more; never of a process that cannot be seen from `here`.
    pub fn is_gone(&self, here: &Process) -> bool {
        self.is_seen(here) && self.is_dead()
    }

    /// Whether it is another process that can be seen from `here`.
    pub fn is_seen(&self, here: &Process) -> bool {
        self != here
            && self.boot == here.boot
            && self.namespace == here.namespace
            && self.boot != [0; 16]
            && self.namespace != 0
            && self.started != 0
    }

    /// Whether it can be seen from `here` and runs as another user: the system does not let the two
    /// map each other's memory.
    pub fn is_of_another_user(&self, here: &Process) -> bool {
        self.is_seen(here) && self.user != here.user
    }

    /// Whether it certainly runs on another machine than `here`.
    pub fn is_elsewhere(&self, here: &Process) -> bool {
        self.boot != here.boot && self.boot != [0; 16] && here.boot != [0; 16]
    }

    /// A process like this one that runs as another user.
    #[cfg(test)]
    pub fn as_another_user(&self) -> Process {
        Process {
            pid: self.pid + 1,
            user: self.user + 1,
            ..*self
        }
    }

    fn is_dead(&self) -> bool {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/stat", self.pid)) else {
            return true;
        };
        let (threads, started) = (field(&status, THREADS_FIELD), field(&status, STARTED_FIELD));
        // A zombie has no memory any more, unless it has more threads.
        let is_ending = matches!(words(&status).nth(STATE_FIELD), Some("Z" | "X"));
        started != Some(self.started) || is_ending && threads.is_some_and(|count| count <= 1)
    }
}

fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// 16 bytes out of a text like `0f8fad5b-d9cb-469f-a165-70867728950e`.
fn parse_boot(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some(number.to_be_bytes())
}

/// The words of `/proc/PID/stat` behind the name, which may itself hold anything.
fn words(status: &str) -> impl Iterator<Item = &str> {
    let behind = status.rsplit_once(')').map_or("", |(_, behind)| behind);
    behind.split_whitespace()
}

fn field(status: &str, number: usize) -> Option<u64> {
    words(status).nth(number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_has_its_golden_bytes() {
        let process = Process {
            boot: *b"0123456789abcdef",
            namespace: 0x0807_0605_0403_0201,
            pid: 0x1413_1211,
            started: 0x2827_2625_2423_2221,
            user: 0x3433_3231,
        };
        let golden = b"0123456789abcdef\x01\x02\x03\x04\x05\x06\x07\x08\x11\x12\x13\x14\
            \x21\x22\x23\x24\x25\x26\x27\x28\x31\x32\x33\x34";
        assert_eq!(process.encode(), *golden);
        let address = [&golden[..], b"rest"].concat();
        assert_eq!(Process::decode(&address), Some((process, &b"rest"[..])));
        assert_eq!(Process::decode(&golden[1..]), None);
    }

    #[test]
    fn this_process_is_not_gone() {
        let this = Process::this();
        assert!(!this.is_gone(&this) && this.started > 0 && this.boot != [0; 16]);
        let earlier = Process {
            started: this.started - 1,
            ..this
        };
        assert!(earlier.is_gone(&this), "its PID has been used again");
        let elsewhere = Process {
            boot: [1; 16],
            ..earlier
        };
        assert!(!elsewhere.is_gone(&this));
    }

    #[test]
    fn users_are_told_apart_where_they_can_be_seen() {
        let this = Process::this();
        let other = Process {
            pid: this.pid + 1,
            ..this
        };
        assert!(!other.is_of_another_user(&this));
        let stranger = Process {
            user: this.user + 1,
            ..other
        };
        assert!(stranger.is_of_another_user(&this));
        let elsewhere = Process {
            boot: [1; 16],
            ..stranger
        };
        assert!(!elsewhere.is_of_another_user(&this));
        assert!(elsewhere.is_elsewhere(&this) && !stranger.is_elsewhere(&this));
    }

    #[test]
    fn a_killed_process_is_gone_before_and_after_its_parent_looks() {
        let this = Process::this();
        let mut child = Command::new("sleep").arg("60").spawn().expect("a process");
        let status = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it lives");
        let process = Process {
            pid: child.id(),
            started: field(&status, STARTED_FIELD).expect("a number"),
            ..this
        };
        assert!(!process.is_gone(&this));
        child.kill().expect("it lives");
        while !process.is_gone(&this) {
            std::hint::spin_loop();
        }
        child.wait().expect("its end");
        assert!(process.is_gone(&this));
    }

    #[test]
    fn a_name_with_brackets_misleads_nobody() {
        let status = "7 (a) Z (b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 99 1000";
        assert_eq!(words(status).nth(STATE_FIELD), Some("S"));
        assert_eq!(field(status, THREADS_FIELD), Some(3));
        assert_eq!(field(status, STARTED_FIELD), Some(99));
    }
}
