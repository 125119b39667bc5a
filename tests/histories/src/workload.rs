//! What a client process does: threads with a client each, and operations until standard input
//! ends. Each operation is told of twice, before it is begun and when it has ended, by one line
//! each, which a kill does not take back.

use crate::Outcome;
use crate::deeds::{Chooser, End};
use crate::now_ns;
use farcache_client::distribution::Distribution;
use farcache_client::hash::HashAlgorithm;
use farcache_client::{Client, ClientConfig, parse_redundancy};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// Argument that makes the program a client process.
pub const CLIENT_ARGUMENT: &str = "be-client";

/// Most threads of one process: its number and the thread's make the first number of its pieces.
pub const THREADS_MAX: u32 = 8;

/// Numbers of pieces for each thread.
const PIECES_PER_THREAD: u32 = 1 << 16;

/// How often the last reads look for what cannot be read.
const LAST_READS_MAX: u32 = 3;

/// How long each of them may take: nothing fails any more, but the machine may be busy.
pub const LAST_READ_MS_MAX: u64 = 6_000;

/// What a client process is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The servers, as the client takes them.
    pub servers: String,
    /// The policy, or `none`.
    pub redundancy: String,
    /// `tcp`, `fabric` or `auto`.
    pub transport: String,
    /// Its number among all that the run starts.
    pub number: u32,
    /// From which what it does is chosen.
    pub seed: u64,
    /// How many threads.
    pub threads: u32,
    /// The longest pause of a thread between two operations.
    pub pause_us_max: u64,
    /// How long an operation may take.
    pub timeout_ms: u64,
    /// The keys.
    pub keys: Vec<String>,
    /// Whether it reads each key once and ends.
    pub only_reads: bool,
}

impl Task {
    /// As arguments.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        vec![
            CLIENT_ARGUMENT.into(),
            self.servers.clone(),
            self.redundancy.clone(),
            self.transport.clone(),
            self.number.to_string(),
            self.seed.to_string(),
            self.threads.to_string(),
            self.pause_us_max.to_string(),
            self.timeout_ms.to_string(),
            self.keys.join(","),
            self.only_reads.to_string(),
        ]
    }

    /// Of arguments.
    ///
    /// # Errors
    /// They are no task.
    pub fn parse(arguments: &[String]) -> Outcome<Task> {
        let [
            servers,
            redundancy,
            transport,
            number,
            seed,
            threads,
            pause,
            timeout,
            keys,
            only_reads,
        ] = arguments
        else {
            return Err(format!("{} arguments are no task", arguments.len()).into());
        };
        Ok(Task {
            servers: servers.clone(),
            redundancy: redundancy.clone(),
            transport: transport.clone(),
            number: number.parse()?,
            seed: seed.parse()?,
            threads: threads.parse()?,
            pause_us_max: pause.parse()?,
            timeout_ms: timeout.parse()?,
            keys: keys.split(',').map(str::to_owned).collect(),
            only_reads: only_reads.parse()?,
        })
    }

    fn client(&self) -> Outcome<Client> {
        let mut config = ClientConfig::new(&self.servers)?;
        config.placement.distribution = Distribution::KetamaWeighted;
        config.placement.key_hash = HashAlgorithm::Md5;
        config.transport = self.transport.parse()?;
        config.timeout = Duration::from_millis(self.timeout_ms);
        config.connect_timeout = config.timeout;
        if self.redundancy != "none" {
            config.redundancy = Some(parse_redundancy(&self.redundancy)?);
        }
        Ok(Client::new(&config)?)
    }
}

/// Does what the task says.
///
/// # Errors
/// There can be no such client.
pub fn be_client(task: &Task) -> Outcome<()> {
    if task.only_reads {
        return read_all(task);
    }
    let is_over = AtomicBool::new(false);
    let clients: Outcome<Vec<Client>> = (0..task.threads).map(|_| task.client()).collect();
    std::thread::scope(|scope| {
        for (thread, client) in clients?.into_iter().enumerate() {
            let is_over = &is_over;
            scope.spawn(move || work(task, thread as u32, &client, is_over));
        }
        // It ends when whoever started this closes it, or ends.
        _ = std::io::stdin().read(&mut [0]);
        is_over.store(true, SeqCst);
        Ok(())
    })
}

fn work(task: &Task, thread: u32, client: &Client, is_over: &AtomicBool) {
    let caller = task.number * THREADS_MAX + thread;
    let random = SmallRng::seed_from_u64(task.seed ^ (u64::from(caller) << 32));
    let mut chooser = Chooser::new(random, caller * PIECES_PER_THREAD);
    for count in 0.. {
        if is_over.load(SeqCst) {
            return;
        }
        let at = chooser.random().random_range(0..task.keys.len());
        let key = &task.keys[at];
        let deed = chooser.next(key);
        tell(format!("c {caller} {count} {} {key} {deed}\n", now_ns()));
        let end = chooser.perform(client, key, &deed);
        tell_end(caller, count, &end);
        let pause = chooser.random().random_range(0..=task.pause_us_max);
        std::thread::sleep(Duration::from_micros(pause));
    }
}

/// Reads each key; again and again if there is no answer.
fn read_all(task: &Task) -> Outcome<()> {
    let client = task.client()?;
    let caller = task.number * THREADS_MAX;
    let random = SmallRng::seed_from_u64(task.seed);
    let mut chooser = Chooser::reader(random);
    let deed = farcache_linearizability::Deed::Read;
    let mut count = 0;
    for key in &task.keys {
        for _ in 0..LAST_READS_MAX {
            count += 1;
            tell(format!("c {caller} {count} {} {key} {deed}\n", now_ns()));
            let end = chooser.perform(&client, key, &deed);
            tell_end(caller, count, &end);
            if matches!(end, End::Told(_)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(())
}

fn tell_end(caller: u32, count: u32, end: &End) {
    let now = now_ns();
    tell(match end {
        End::Told(answer) => format!("r {caller} {count} {now} {answer}\n"),
        End::Unknown(why) => format!("u {caller} {count} {now} {why}\n"),
        End::Nothing(why) => format!("n {caller} {count} {now} {why}\n"),
    });
}

/// Writes a line at once. Lines are shorter than what a pipe takes in one piece.
fn tell(line: String) {
    let mut out = std::io::stdout().lock();
    // Who reads it has gone: so will this process.
    _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
