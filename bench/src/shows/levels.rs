//! What a server holds for its fabric clients: it must hold nothing for those that are gone.

use super::Network;
use super::helpers::Helper;
use farcache_harness::control::Control;
use farcache_harness::server_process::ServerProcess;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// Figures of `stats fabric` that tell what there is now.
const FABRIC: [&str; 5] = [
    "sessions",
    "tokens",
    "endpoints",
    "rendezvous_in",
    "rendezvous_out",
];
/// Figures of the general stats that do.
const GENERAL: [&str; 2] = ["curr_connections", "values_pinned"];
/// What the system tells of its open descriptors.
const DESCRIPTORS: &str = "descriptors";
/// How long a server may take to let go of what dead clients held.
const SETTLE_MAX: Duration = Duration::from_secs(15);
/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What there was at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels(BTreeMap<String, u64>);

impl Levels {
    /// Asks the server.
    ///
    /// # Errors
    /// Those of the connection, and a figure that is missing.
    pub fn take(server: &ServerProcess) -> io::Result<Self> {
        // The connection that asks is open every time, and so counts alike.
        let mut control = Control::connect(&server.target())?;
        let mut levels = BTreeMap::new();
        for (group, names) in [("fabric", &FABRIC[..]), ("", &GENERAL[..])] {
            let stats = control.stats(group)?;
            for name in names {
                levels.insert((*name).to_owned(), number(&stats, name)?);
            }
        }
        levels.insert(DESCRIPTORS.into(), server.descriptors()? as u64);
        Ok(Levels(levels))
    }

    /// Takes the levels once the first clients have come and gone: UCX opens some devices for them
    /// and keeps them open.
    ///
    /// # Errors
    /// The errors of [`Levels::take`]; or the first clients have left something else behind.
    pub fn after_first_client(network: Network, server: &ServerProcess) -> io::Result<Self> {
        let mut before = Levels::take(server)?;
        before.0.remove(DESCRIPTORS);
        Helper::come_and_go(network, server.address())?;
        let left = before.wait_for_return(server)?;
        match left.is_empty() {
            true => Levels::take(server),
            false => Err(io::Error::other(format!(
                "the first clients left behind: {}",
                left.join(", ")
            ))),
        }
    }

    /// One of them.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn get(&self, name: &str) -> u64 {
        self.0[name]
    }

    /// Those that are above what they were, with both figures.
    pub fn above(&self, before: &Levels) -> Vec<String> {
        let grown = |(name, was): (&String, &u64)| {
            let now = self.get(name);
            (now > *was).then(|| format!("{name}: {was} before, {now} now"))
        };
        before.0.iter().filter_map(grown).collect()
    }

    /// Waits until all are back, for some seconds; says which are not.
    ///
    /// # Errors
    /// Those of [`Levels::take`].
    pub fn wait_for_return(&self, server: &ServerProcess) -> io::Result<Vec<String>> {
        let deadline = Instant::now() + SETTLE_MAX;
        loop {
            let above = Levels::take(server)?.above(self);
            if above.is_empty() || Instant::now() > deadline {
                return Ok(above);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// One number of a group of stats.
///
/// # Errors
/// A name that is absent, or no number.
pub fn number(stats: &BTreeMap<String, String>, name: &str) -> io::Result<u64> {
    let number = stats.get(name).and_then(|value| value.parse().ok());
    number.ok_or_else(|| io::Error::other(format!("no number in stats: {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_grew_is_named() {
        let levels = |pairs: &[(&str, u64)]| {
            Levels(
                pairs
                    .iter()
                    .map(|(name, level)| ((*name).into(), *level))
                    .collect(),
            )
        };
        let before = levels(&[("sessions", 0), ("endpoints", 2)]);
        let now = levels(&[("sessions", 1), ("endpoints", 1)]);
        assert_eq!(now.above(&before), ["sessions: 0 before, 1 now"]);
        assert!(before.above(&before).is_empty());
        assert_eq!(now.get("sessions"), 1);
    }

    #[test]
    fn a_figure_that_is_missing_is_an_error() {
        let stats = BTreeMap::from([("a".to_owned(), "7".to_owned()), ("b".into(), "x".into())]);
        assert_eq!(number(&stats, "a").unwrap(), 7);
        assert!(number(&stats, "b").is_err() && number(&stats, "c").is_err());
    }
}
