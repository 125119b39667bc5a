//! Where a comparison was made: figures mean little without it.

use serde::Serialize;
use std::path::Path;
use std::process::Command;

/// The machine, its system, and the servers' versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Release of the kernel.
    pub kernel: String,
    /// TCP's congestion control, which paces large values even on the loopback.
    pub congestion_control: String,
    /// Version of memcached.
    pub memcached: String,
    /// Version of farcached.
    pub farcached: String,
}

impl Machine {
    /// Looks around; what cannot be found out is empty.
    pub fn look(memcached: &Path, farcached: &Path) -> Self {
        Machine {
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(0, |cores| cores.get()),
            memory_mib: memory_kib("MemTotal") / 1024,
            kernel: whole("/proc/sys/kernel/osrelease"),
            congestion_control: whole("/proc/sys/net/ipv4/tcp_congestion_control"),
            memcached: version(memcached),
            farcached: version(farcached),
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        format!(
            "{}, {} cores, {} MiB, Linux {}, TCP {}; {}; {}",
            self.processor,
            self.cores,
            self.memory_mib,
            self.kernel,
            self.congestion_control,
            self.memcached,
            self.farcached
        )
    }
}

/// A figure of the machine's memory in KiB, by the system's name for it; 0 where it tells none.
pub(crate) fn memory_kib(name: &str) -> u64 {
    first_number(&field("/proc/meminfo", name))
}

fn whole(path: &str) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// What follows `name` and a colon in the first such line of a file.
fn field(path: &str, name: &str) -> String {
    let text = whole(path);
    let line = text
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_default();
    line.split_once(':')
        .map_or("", |(_, value)| value.trim())
        .to_owned()
}

fn first_number(text: &str) -> u64 {
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0)
}

fn version(program: &Path) -> String {
    let output = Command::new(program).arg("-V").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described_and_absent_programs_are_no_fault() {
        let machine = Machine::look(Path::new("/no/such"), Path::new("/no/such"));
        assert!(machine.cores > 0 && machine.memory_mib > 0 && !machine.kernel.is_empty());
        assert_eq!(machine.memcached, "");
        assert!(machine.line().contains("Linux"));
    }
}
