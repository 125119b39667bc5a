//! The command line.

use crate::net::listen::Place;
use crate::settings::Settings;
use clap::Parser;

/// A memcached-compatible key-value store.
#[derive(Clone, Debug, Parser)]
#[command(name = "farcached", version, disable_help_flag = true)]
pub struct Options {
    /// TCP port
    #[arg(short = 'p', long = "port", default_value_t = 11211)]
    pub port: u16,
    /// Worker threads
    #[arg(short = 't', long = "threads")]
    pub threads: Option<usize>,
    /// Item memory in megabytes
    #[arg(short = 'm', long = "memory-limit", default_value_t = 64)]
    pub memory_mb: u64,
    /// Addresses to listen on
    #[arg(short = 'l', long = "listen", value_delimiter = ',')]
    pub listen: Vec<String>,
    /// Most connections
    #[arg(short = 'c', long = "conn-limit", default_value_t = 1024)]
    pub connections_max: usize,
    /// Microseconds to poll before sleeping
    #[arg(long = "poll-us", default_value_t = 50)]
    pub poll_us: u32,
}

impl Options {
    /// The settings that they ask for.
    pub fn settings(&self) -> Settings {
        Settings {
            tcp_port: self.port,
            memory_bytes: self.memory_mb << 20,
            threads: self.threads.unwrap_or_else(cores),
            connections_max: self.connections_max,
            interfaces: self.listen.clone(),
            poll_us: self.poll_us,
            ..Settings::default()
        }
    }

    /// Where to listen.
    ///
    /// # Errors
    /// A message that names the malformed address.
    pub fn places(&self) -> Result<Vec<Place>, String> {
        self.listen.iter().map(|text| Place::parse(text)).collect()
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(4, usize::from)
}
