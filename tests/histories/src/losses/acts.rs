//! What happens, one after the other.

use crate::book::{Entry, length};
use crate::load::{Checked, Deed, MakeClient, Written, check, write};
use farcache_client::distribution::Distribution;
use farcache_client::hash::HashAlgorithm;
use farcache_client::{Client, ClientConfig, parse_redundancy};
use farcache_histories::Outcome;
use farcache_histories::hosts::Hosts;
use farcache_histories::scenario::{Keeps, quorums};
use farcache_histories::servers::{Plan, Return, Servers};
use farcache_histories::ways::{Network, Placement};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How long an operation may take: what it shows must not depend on how busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time between two looks at how far a load has come.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Writes that may fail for each server that is killed and each writer: one that is under way, and
/// one that finds the server gone before its connection has told of it.
const OPEN_MAX: usize = 2;

/// What a run is.
#[derive(Clone, Debug)]
pub struct Task {
    pub farcached: PathBuf,
    pub policy: String,
    pub network: Network,
    pub placement: Placement,
    pub megabytes: u64,
    pub writers: usize,
    pub seed: u64,
    pub on_ssd: bool,
    pub is_impatient: bool,
}

/// A run that goes on.
pub struct Run<'t> {
    task: &'t Task,
    hosts: Hosts,
    servers: Servers,
    random: SmallRng,
    entries: Vec<Entry>,
    /// Servers that may be away during a load, and once all have caught up.
    away_max: usize,
    lost_max: usize,
}

impl Run<'_> {
    /// Starts servers.
    ///
    /// # Errors
    /// They do not start.
    pub fn start(task: &Task) -> Outcome<Run<'_>> {
        let (owners, stored_min, needed) = quorums(&task.policy)?;
        let threshold_bytes = parse_redundancy(&task.policy)?.threshold_bytes();
        let (mut bytes, mut keys, mut part_bytes) = (0, 0, 0);
        while bytes < task.megabytes * 1_000_000 {
            let value_bytes = length(keys, FIRST);
            bytes += value_bytes as u64;
            let is_small = value_bytes < threshold_bytes;
            part_bytes += (value_bytes / if is_small { 1 } else { needed }) as u64;
            keys += 1;
        }
        // What is overwritten, and what lies between values, takes room too.
        let mebibytes = part_bytes * 2 / (1 << 20) + 96;
        let plan = Plan {
            count: owners,
            memory_mebibytes: if task.on_ssd {
                mebibytes / 6 + 64
            } else {
                mebibytes
            },
            keeps: match task.on_ssd {
                true => Keeps::Device {
                    durability: "writeback",
                },
                false => Keeps::Nothing,
            },
            device_mebibytes: mebibytes,
            network: task.network,
            options: {
                let options = task.network.server_options().iter();
                let options = options.copied().chain(["--repair-rate", "100g"]);
                options.map(str::to_owned).collect()
            },
            etcd: None,
            is_redundant: true,
        };
        let hosts = Hosts::Loopback;
        let servers = Servers::start(&task.farcached, &hosts, plan)?;
        Ok(Run {
            task,
            hosts,
            servers,
            random: SmallRng::seed_from_u64(task.seed),
            entries: vec![Entry::default(); keys],
            away_max: owners - stored_min,
            lost_max: owners - needed,
        })
    }

    /// All of it.
    ///
    /// # Errors
    /// Something acknowledged is not there, or the run itself fails.
    pub fn go(&mut self) -> Outcome<()> {
        let mut order: Vec<usize> = (0..self.servers.count()).collect();
        order.shuffle(&mut self.random);
        let (first, others) = order.split_at(self.away_max);
        self.load_while_killing(first, "load", &|_| Some(Deed::Set(FIRST)))?;
        self.check("with servers down")?;
        self.repair(first)?;
        let second = &others[..self.away_max.min(others.len())];
        self.load_while_killing(second, "overwriting", &|key| match key % 10 {
            0..4 => Some(Deed::Set(FIRST + 1)),
            4 => Some(Deed::Delete),
            _ => None,
        })?;
        self.check("with others down")?;
        self.repair(second)?;
        order.shuffle(&mut self.random);
        for server in &order[..self.lost_max] {
            self.servers.kill(*server)?;
        }
        self.check("with as many lost as the policy survives")
    }

    fn client(&self) -> impl Fn() -> Outcome<Client> + Sync + use<> {
        let (servers, task) = (self.servers.list(), self.task.clone());
        move || {
            let mut config = ClientConfig::new(&servers)?;
            config.placement.distribution = Distribution::KetamaWeighted;
            config.placement.key_hash = HashAlgorithm::Md5;
            config.transport = task.network.transport().parse()?;
            config.timeout = PATIENCE;
            config.connect_timeout = PATIENCE;
            let policy = format!("{}{}", task.policy, task.placement.settings());
            config.redundancy = Some(parse_redundancy(&policy)?);
            Ok(Client::new(&config)?)
        }
    }

    /// Kills servers, one soon after the other, once half of what is to be written is.
    fn load_while_killing(
        &mut self,
        victims: &[usize],
        what: &str,
        deed: &(dyn Fn(usize) -> Option<Deed> + Sync),
    ) -> Outcome<()> {
        let value_bytes = |key| match deed(key) {
            Some(Deed::Set(number)) => length(key, number) as u64,
            _ => 0,
        };
        let all: u64 = (0..self.entries.len()).map(value_bytes).sum();
        let pause = Duration::from_micros(self.random.random_range(0..50_000));
        let (written, make, writers) = (Written::default(), self.client(), self.task.writers);
        let make: MakeClient<'_> = &make;
        let (entries, servers) = (&mut self.entries, &mut self.servers);
        let (is_written, began) = (AtomicBool::new(false), Instant::now());
        std::thread::scope(|scope| -> Outcome<()> {
            let load = scope.spawn(|| {
                let outcome = write(entries, writers, make, deed, &written);
                is_written.store(true, SeqCst);
                outcome.map_err(|error| error.to_string())
            });
            while written.bytes.load(SeqCst) < all / 2 && !is_written.load(SeqCst) {
                std::thread::sleep(LOOK_EVERY);
            }
            for server in victims {
                servers.kill(*server)?;
                std::thread::sleep(pause);
            }
            Ok(load.join().map_err(|_| "a writer has panicked")??)
        })?;
        let seconds = began.elapsed().as_secs_f64();
        let (acknowledged, open) = (written.acknowledged.into_inner(), written.open.into_inner());
        let (megabytes, killed) = (all as f64 / 1e6, victims.len());
        println!(
            "{what}: {megabytes:.0} MB in {seconds:.1} s, {killed} servers killed halfway; \
             {acknowledged} writes acknowledged, {open} that may have taken effect"
        );
        match open > OPEN_MAX * writers * killed {
            true => Err(format!("{what}: {open} writes were not acknowledged").into()),
            false => Ok(()),
        }
    }

    /// Reads all.
    fn check(&self, when: &str) -> Outcome<()> {
        let (checked, began) = (Checked::default(), Instant::now());
        let readers = self.task.writers;
        check(&self.entries, readers, &self.client(), &|| false, &checked)?;
        let keys = checked.verdict(when)?;
        let seconds = began.elapsed().as_secs_f64();
        println!("{when}: {keys} keys are as acknowledged, read in {seconds:.1} s");
        Ok(())
    }

    /// Servers return with nothing, and are given what they lack, while others read.
    fn repair(&mut self, returned: &[usize]) -> Outcome<()> {
        let (began, is_repaired) = (Instant::now(), AtomicBool::new(false));
        for server in returned {
            self.servers
                .start_again(&self.hosts, *server, Return::Empty)?;
        }
        if self.task.is_impatient {
            return Ok(());
        }
        let (make, entries, readers) = (self.client(), &self.entries, self.task.writers);
        let (servers, hosts) = (&mut self.servers, &self.hosts);
        let (checked, passes) = (Checked::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| -> Outcome<()> {
            let reader = scope.spawn(|| {
                while !is_repaired.load(SeqCst) {
                    let is_over = || is_repaired.load(SeqCst);
                    let outcome = check(entries, readers, &make, &is_over, &checked);
                    outcome.map_err(|error| error.to_string())?;
                    passes.fetch_add(1, SeqCst);
                }
                Ok::<(), String>(())
            });
            let repaired = servers.await_repair(hosts);
            is_repaired.store(true, SeqCst);
            reader.join().map_err(|_| "a reader has panicked")??;
            repaired
        })?;
        let keys = checked.verdict("while servers are repaired")?;
        let seconds = began.elapsed().as_secs_f64();
        let count = returned.len();
        println!(
            "{count} servers returned empty and caught up in {seconds:.1} s; {keys} reads meanwhile"
        );
        Ok(())
    }
}

/// The number of each key's first write.
const FIRST: u32 = 1;
