//! What a seed stands for. The same seed means the same policy, servers, clients and faults; when
//! exactly a fault meets an operation, it does not decide.

use crate::ways::{Network, Placement};
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
    /// Servers are stopped for so long that others own their keys when they go on.
    Sleeps,
    /// etcd's leader is killed or stopped; all of etcd is lost, and comes back as it was or older.
    Etcd,
    /// Servers are ended in good order (SIGTERM), and return with what they had.
    Leaves,
    /// The map does not list some of the servers that are killed, until they return.
    Removals,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 8] = [
        Kind::Kills,
        Kind::ClientKills,
        Kind::Stops,
        Kind::Cuts,
        Kind::Sleeps,
        Kind::Etcd,
        Kind::Leaves,
        Kind::Removals,
    ];

    /// As it is written on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kills => "kills",
            Kind::ClientKills => "client-kills",
            Kind::Stops => "stops",
            Kind::Cuts => "cuts",
            Kind::Sleeps => "sleeps",
            Kind::Etcd => "etcd",
            Kind::Leaves => "leaves",
            Kind::Removals => "removals",
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
    /// How clients may reach servers.
    pub networks: Vec<Network>,
    /// Who may make parts of values and put them together.
    pub placements: Vec<Placement>,
    /// Further options of servers.
    pub server_options: Vec<String>,
    /// Whether servers make their map themselves and keep it in etcd.
    pub on_etcd: bool,
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
    /// How clients reach servers.
    pub network: Network,
    /// Who makes parts of values, and puts them together.
    pub placement: Placement,
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

/// Nodes of etcd.
pub const ETCD_NODES: usize = 3;

/// Servers that die are given up soon.
const ETCD_OPTIONS: [&str; 6] = [
    "--cluster-name",
    "histories",
    "--cluster-ttl",
    "2",
    "--cluster-grace",
    "1",
];

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
        let policy_is_none = policy == "none";
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
        let mut server_options = match settings.on_etcd {
            true => ETCD_OPTIONS.map(str::to_owned).into(),
            false => vec!["--repair-rate".to_owned(), "1g".to_owned()],
        };
        if settings.on_etcd && !random.random_bool(0.5) {
            server_options.push("--cluster-moves=off".into());
        }
        // A chance of its own: what a seed stood for before there were several, it still does.
        let mut random = random_of(seed, 3);
        let network = settings.networks.choose(&mut random).copied();
        let network = network.unwrap_or(Network::Tcp);
        let placement = settings.placements.choose(&mut random).copied();
        let placement = placement.unwrap_or(Placement::CeCd);
        server_options.extend(network.server_options().iter().map(|&one| one.to_owned()));
        server_options.extend(settings.server_options.iter().cloned());
        let mut settings = settings.clone();
        if !network.can_be_cut() {
            settings.faults.retain(|kind| *kind != Kind::Cuts);
        }
        let planted = settings.planted_policy.as_deref();
        Ok(Scenario {
            seed,
            clients_policy: clients_policy(planted.unwrap_or(&policy), placement),
            policy,
            network,
            placement,
            servers: owners + more,
            away_max: owners - stored_min,
            lost_max: if policy_is_none { 0 } else { owners - needed },
            keeps,
            settings,
            server_options,
        })
    }

    /// Whether a server that is ended in good order may lose what it alone had: it has no SSD, or
    /// others own its keys before it is back.
    #[must_use]
    pub fn leaving_loses(&self) -> bool {
        self.keeps == Keeps::Nothing || self.settings.on_etcd
    }

    /// Hosts of servers, of clients, and of etcd, in this order.
    #[must_use]
    pub fn hosts(&self) -> usize {
        let etcd = if self.settings.on_etcd { ETCD_NODES } else { 0 };
        self.servers + self.settings.clients + etcd
    }

    /// A source of chance for this run, one for each use.
    #[must_use]
    pub fn random(&self, purpose: u64) -> SmallRng {
        random_of(self.seed, purpose)
    }
}

fn random_of(seed: u64, purpose: u64) -> SmallRng {
    SmallRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ purpose)
}

fn clients_policy(policy: &str, placement: Placement) -> String {
    match policy {
        "none" => policy.into(),
        _ => format!(
            "{policy};threshold={THRESHOLD_BYTES}{}",
            placement.settings()
        ),
    }
}

/// Owners, least stores of a write, and answers that a value is made of.
///
/// # Errors
/// The policy cannot be read.
pub fn quorums(policy: &str) -> Result<(usize, usize, usize), farcache_client::Error> {
    let parsed = parse_redundancy(policy)?;
    let quorums = parsed
        .redundancies()
        .map(|one| (one.owners(), one.stored_min(), one.needed()));
    Ok(quorums.max().unwrap_or((1, 1, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn settings() -> Settings {
        let policies = ["replicate:3", "ec:3,2", "ec:2,1"];
        Settings {
            policies: policies.map(str::to_owned).into(),
            faults: Kind::ALL.into(),
            clients: 3,
            threads: 2,
            keys: vec!["r0".into()],
            pause: Duration::ZERO,
            time: Duration::ZERO,
            networks: vec![Network::Tcp, Network::Fabric],
            placements: vec![
                Placement::CeCd,
                Placement::SeCd,
                Placement::CeSd,
                Placement::SeSd,
            ],
            server_options: Vec::new(),
            on_etcd: false,
            planted_policy: None,
        }
    }

    #[test]
    fn the_seeds_of_the_short_form_meet_all_placements_and_networks() {
        let of = |seed| Scenario::of(seed, &settings()).expect("a scenario");
        let all: Vec<Scenario> = (94..98).map(of).collect();
        let count = |name: &dyn Fn(&Scenario) -> String| {
            all.iter().map(name).collect::<BTreeSet<String>>().len()
        };
        assert_eq!(count(&|one| one.placement.to_string()), 4);
        assert_eq!(count(&|one| one.network.to_string()), 2);
        assert_eq!(count(&|one| one.policy.clone()), 3);
    }

    #[test]
    fn leaving_loses_nothing_where_there_is_an_ssd_and_keys_stay() {
        let loses = |keeps, on_etcd| {
            let mut scenario = Scenario::of(1, &settings()).expect("a scenario");
            scenario.keeps = keeps;
            scenario.settings.on_etcd = on_etcd;
            scenario.leaving_loses()
        };
        let device = ["writeback", "sync"].map(|durability| Keeps::Device { durability });
        assert!(device.iter().all(|keeps| !loses(*keeps, false)));
        assert!(device.iter().all(|keeps| loses(*keeps, true)));
        assert!(loses(Keeps::Nothing, false));
    }

    #[test]
    fn what_cannot_be_cut_is_not_cut() {
        let mut settings = settings();
        settings.networks = vec![Network::Fabric];
        let scenario = Scenario::of(1, &settings).expect("a scenario");
        assert!(!scenario.settings.faults.contains(&Kind::Cuts));
        settings.networks = vec![Network::FabricTcp];
        let scenario = Scenario::of(1, &settings).expect("a scenario");
        assert!(scenario.settings.faults.contains(&Kind::Cuts));
    }
}
