//! `ohb_memlat`: latency of the client library, one operation at a time.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::load::keys::KEY_BYTES_MIN;
use farcache_bench::ohb::client::{ClientSession, Transport};
use farcache_bench::ohb::items::Items;
use farcache_bench::ohb::latency::{Extent, measure};
use farcache_bench::ohb::report::{LatencyReport, LatencyRow};
use farcache_bench::ohb::session::Benchmark;
use farcache_bench::sizes::Sizes;
use farcache_harness::pinning::pin_to_cpu;
use farcache_harness::server_process::{resident_bytes_of, resident_peak_bytes_of};
use std::process::ExitCode;
use std::time::Duration;

/// A benchmark, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Choice {
    /// Values are stored.
    Set,
    /// Values are fetched.
    Get,
    /// One operation in ten stores, the others fetch.
    Mix,
    /// SET, GET and MIX, one after the other.
    All,
}

impl Choice {
    fn benchmarks(self) -> Vec<Benchmark> {
        match self {
            Choice::Set => vec![Benchmark::Set],
            Choice::Get => vec![Benchmark::Get],
            Choice::Mix => vec![Benchmark::Mix],
            Choice::All => Benchmark::ALL.to_vec(),
        }
    }
}

/// Measures how long the client library takes for one operation at a time, by size of the value.
/// Every item is stored and compared, byte by byte, before anything is measured.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Servers: host:port, several with commas between.
    #[arg(long, alias = "server", default_value = "127.0.0.1:11211")]
    servers: String,
    /// What carries the operations.
    #[arg(long, value_enum, default_value = "auto")]
    transport: Transport,
    /// Benchmarks to run.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "all")]
    benchmarks: Vec<Choice>,
    /// Sizes of the values: 64,4K or 1-512K, which doubles.
    #[arg(long, default_value = "1-512K")]
    sizes: Sizes,
    /// Operations measured for each size, at most.
    #[arg(long, default_value_t = 10_000)]
    iterations: u64,
    /// Operations before them that do not count; a tenth of the iterations by default.
    #[arg(long)]
    warmup: Option<u64>,
    /// Seconds after which a size ends even if iterations are left.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Number of keys, used in turn; a thousand by default, or as many values as fill 64 MB.
    #[arg(long)]
    keys: Option<usize>,
    /// Size of each key in bytes.
    #[arg(long, default_value_t = 16)]
    key_bytes: usize,
    /// The items are stored already: do not store and compare them first.
    #[arg(long)]
    stored: bool,
    /// Fetch each value into memory that is made anew, instead of that of the value before.
    #[arg(long)]
    new_buffers: bool,
    /// Microseconds for which the client polls before it sleeps; what the library does by default.
    #[arg(long)]
    poll_us: Option<u64>,
    /// Core to run on.
    #[arg(long, alias = "cpu")]
    cpus: Option<usize>,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

/// Share of a measurement's time that may be spent on the warm-up.
const WARMUP_SHARE: f64 = 0.2;

impl Options {
    fn check(&self) -> Result<(), String> {
        let keys = KEY_BYTES_MIN..=farcache_base::limits::KEY_BYTES_MAX;
        if !keys.contains(&self.key_bytes) {
            return Err(format!(
                "--key-bytes must be from {} to {}",
                keys.start(),
                keys.end()
            ));
        }
        if self.iterations == 0 || self.keys == Some(0) {
            return Err("--iterations and --keys must be above 0".into());
        }
        let stores = |choice: &Choice| choice.benchmarks() != [Benchmark::Get];
        if self.stored && self.benchmarks.iter().any(stores) {
            return Err("--stored goes with --benchmarks get only".into());
        }
        Ok(())
    }

    fn extent(&self) -> Extent {
        Extent {
            iterations: self.iterations,
            warmup: self.warmup.unwrap_or(self.iterations.div_ceil(10)),
            time_max: Duration::from_secs_f64(self.seconds),
            warmup_time_max: Duration::from_secs_f64(self.seconds * WARMUP_SHARE),
        }
    }

    fn measure_size(
        &self,
        session: &mut ClientSession,
        benchmark: Benchmark,
        value_bytes: usize,
    ) -> std::io::Result<LatencyRow> {
        let items = Items::new(value_bytes, self.key_bytes, self.keys, !self.stored);
        if !self.stored {
            session.register(items.memory())?;
            items.store(session)?;
            items.verify(session)?;
        }
        measure(session, &items, benchmark, self.extent())
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    options.check()?;
    options.cpus.map_or(Ok(()), pin_to_cpu)?;
    let poll = options.poll_us.map(Duration::from_micros);
    let transport = options.transport.name();
    let mut session = ClientSession::open_polling(&options.servers, transport, poll)?;
    session.set_new_buffers(options.new_buffers);
    session.connect()?;
    let resident_bytes_before = resident_bytes_of("self")?;
    let mut rows = Vec::new();
    for choice in &options.benchmarks {
        for benchmark in choice.benchmarks() {
            for &value_bytes in &options.sizes.0 {
                rows.push(options.measure_size(&mut session, benchmark, value_bytes)?);
            }
        }
    }
    let report = LatencyReport {
        servers: options.servers.clone(),
        carried_by: session.carried_by(),
        resident_bytes_before,
        resident_bytes_peak: resident_peak_bytes_of("self")?,
        rows,
    };
    match options.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{report}"),
    }
    Ok(())
}

fn main() -> ExitCode {
    farcache_harness::closed_pipe::end_quietly();
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ohb_memlat: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
#[path = "../../tests/man_page/mod.rs"]
mod man_page;

#[test]
fn the_manual_page_is_up_to_date() {
    let more = man_page::More {
        examples: "ohb_memlat --servers 127.0.0.1:11211 --transport fabric\n\
             ohb_memlat --servers 127.0.0.1:11211 --transport tcp --benchmarks get --sizes 64,4K,1M",
        failure: None,
        see_also: &[
            "farcached",
            "ohb_memthr",
            "ohb_memlat_nb",
            "farcache-fabric",
        ],
    };
    man_page::check::<Options>("ohb_memlat", &more);
}
