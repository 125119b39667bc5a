//! `farcache-erasure`: our erasure coder beside Intel's ISA-L.
#![forbid(unsafe_code)]

use clap::Parser;
use farcache_bench::erasure::{Isal, Task, compare};
use farcache_erasure::Kernel;
use farcache_harness::pinning::pin_to_cpu;
use std::{error::Error, ffi::OsString};

/// Codes values in turns with our coder and with ISA-L, one thread, in cache; GB/s of value.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// ISA-L: a file, or a name that the loader knows.
    #[arg(long, default_value = "libisal.so.2")]
    isal: OsString,
    /// Schemes as data,parity.
    #[arg(long, value_parser = scheme, default_values = ["3,2", "10,4"])]
    schemes: Vec<(usize, usize)>,
    /// Sizes of the values, in bytes.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1024,4096,16384,65536,262144,1048576"
    )]
    value_bytes: Vec<usize>,
    /// Turns of each of the two; medians count.
    #[arg(long, default_value_t = 51, value_parser = clap::value_parser!(u16).range(1..))]
    turns: u16,
    /// The core to run on.
    #[arg(long, default_value_t = 0)]
    cpu: usize,
    /// Our kernel, if not the fastest: gfni512, gfni256, avx2, neon or scalar.
    #[arg(long)]
    kernel: Option<String>,
}

fn scheme(text: &str) -> Result<(usize, usize), String> {
    let number = |word: &str| word.parse().map_err(|_| format!("no number: {word}"));
    let (data, parity) = text.split_once(',').ok_or("two numbers, as in 3,2")?;
    Ok((number(data)?, number(parity)?))
}

fn kernel(name: Option<&str>) -> Result<Kernel, String> {
    let Some(name) = name else {
        return Ok(Kernel::fastest());
    };
    let mut kernels = Kernel::available();
    let found = kernels.find(|kernel| kernel.name() == name);
    found.ok_or_else(|| format!("this processor has no kernel {name}"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    pin_to_cpu(options.cpu)?;
    let kernel = kernel(options.kernel.as_deref())?;
    let isal = Isal::load(&options.isal)?;
    println!(
        "{} beside {}",
        kernel.name(),
        isal.file().unwrap_or_default()
    );
    println!("scheme  task         value B   ours  ISA-L  ratio");
    for (k, m) in options.schemes {
        for task in [Task::Encode, Task::EncodeValue, Task::Decode] {
            for &bytes in &options.value_bytes {
                let speeds = compare(&isal, kernel, (k, m), task, bytes, options.turns.into())?;
                println!(
                    "{:7} {:12} {bytes:7} {:6.1} {:6.1} {:6.2}",
                    format!("({k},{m})"),
                    format!("{task:?}"),
                    speeds.farcache,
                    speeds.isal,
                    speeds.ratio
                );
            }
        }
    }
    Ok(())
}
