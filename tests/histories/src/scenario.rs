//! What a seed stands for. The same seed means the same policy, servers, clients and faults; when
//! exactly a fault meets an operation, it does not decide.

use farcache_client::parse_redundancy;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::time::Duration;

/// Which faults there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Servers are killed with signal 9, and return.
    Kills,
    /// Clients are killed with signal 9.
    ClientKills,
    /// Servers and clients are stopped and go on later.
    Stops,
    /// Hosts are cut from one another, one way or both.
    Cuts,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Kills, Kind::ClientKills, Kind::Stops, Kind::Cuts];

    /// As it is written on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kills => "kills",
            Kind::ClientKills => "client-kills",
            Kind::Stops => "stops",
            Kind::Cuts => "cuts",
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let mut all = Kind::ALL.into_iter();
        all.find(|kind| kind.name() == text)
            .ok_or_else(|| format!("no kind of faults: {text}"))
    }
}

/// Where what servers have survives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Nowhere.
    Nothing,
    /// On a device.
    Device {
        /// When what is written counts, by `--durability`.
        durability: &'static str,
    },
}

/// What all runs have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The policies to choose from.
    pub policies: Vec<String>,
    /// Which faults.
    pub faults: Vec<Kind>,
    /// Client processes.
    pub clients: usize,
    /// Threads of each.
    pub threads: u32,
    /// The keys.
    pub keys: Vec<String>,
    /// The longest pause of a thread between two operations.
    pub pause: Duration,
    /// How long faults go on.
    pub time: Duration,
    /// How clients reach servers.
    pub transport: String,
    /// Further options of servers.
    pub server_options: Vec<String>,
    /// Instead of the policy, what clients go by: a fault that is planted.
    pub planted_policy: Option<String>,
}

/// What one run does.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Of which all of this was made.
    pub seed: u64,
    /// The policy whose promise is checked.
    pub policy: String,
    /// The policy that clients go by.
    pub clients_policy: String,
    /// Servers.
    pub servers: usize,
    /// Servers of a key that may be away or catch up at a time.
    pub away_max: usize,
    /// Servers of a key that may be lost once all have caught up.
    pub lost_max: usize,
    /// Where what servers have survives them.
    pub keeps: Keeps,
    /// What is in common.
    pub settings: Settings,
    /// Options of servers.
    pub server_options: Vec<String>,
}

/// Of values of so many bytes and more shards are made: small, so that both are met often.
const THRESHOLD_BYTES: usize = 2048;

impl Scenario {
    /// What the seed stands for.
    ///
    /// # Errors
    /// A policy cannot be read.
    pub fn of(seed: u64, settings: &Settings) -> Result<Scenario, farcache_client::Error> {
        let mut random = SmallRng::seed_from_u64(seed);
        let policies = &settings.policies;
        let policy = policies.choose(&mut random).cloned().unwrap_or_default();
        let (owners, stored_min, needed) = match policy.as_str() {
            "none" => (3, 1, 1),
            policy => quorums(policy)?,
        };
        // Sometimes there are more servers than owners of a key, up to five.
        let more = if owners < 5 {
            random.random_range(0..=1)
        } else {
            0
        };
        let keeps = match random.random_range(0..4) {
            0 => Keeps::Nothing,
            1 => Keeps::Device {
                durability: "writeback",
            },
            _ => Keeps::Device { durability: "sync" },
        };
        let mut server_options = vec!["--repair-rate".into(), "1g".into()];
        if settings.transport == "tcp" {
            server_options.extend(["--fabric".into(), "off".into()]);
        }
        server_options.extend(settings.server_options.iter().cloned());
        let clients_policy = settings.planted_policy.clone();
        Ok(Scenario {
            seed,
            clients_policy: with_threshold(&clients_policy.unwrap_or_else(|| policy.clone())),
            policy,
            servers: owners + more,
            away_max: owners - stored_min,
            lost_max: owners - needed,
            keeps,
            settings: settings.clone(),
            server_options,
        })
    }

    /// A source of chance for this run, one for each use.
    #[must_use]
    pub fn random(&self, purpose: u64) -> SmallRng {
        SmallRng::seed_from_u64(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ purpose)
    }
}

fn with_threshold(policy: &str) -> String {
    match policy {
        "none" => policy.into(),
        _ => format!("{policy};threshold={THRESHOLD_BYTES}"),
    }
}

/// Owners, least stores of a write, and answers that a value is made of.
fn quorums(policy: &str) -> Result<(usize, usize, usize), farcache_client::Error> {
    let parsed = parse_redundancy(policy)?;
    let quorums = parsed
        .redundancies()
        .map(|one| (one.owners(), one.stored_min(), one.needed()));
    Ok(quorums.max().unwrap_or((1, 1, 1)))
}
