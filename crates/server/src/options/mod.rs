//! The command line: memcached's options, with their short and long names and meaning.
//!
//! What an option does here stands in `docs/options.md`.

mod cluster;
mod devices;
mod extended;
mod plan;
mod ports;
mod ranges;
mod refusal;
mod sizes;

pub use plan::Plan;
pub use refusal::{Refusal, status_of};

use crate::logging::LogFormat;
use clap::{ArgAction, Parser};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A memcached-compatible key-value store.
///
/// Speaks memcached's text, meta and binary protocols over TCP, UDP, unix sockets and TLS, and
/// takes memcached's options. Options without a meaning for its store are accepted and reported.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "farcached",
    version,
    disable_help_flag = true,
    disable_version_flag = true
)]
#[command(args_override_self = true)]
pub struct Options {
    /// TCP port to listen on; 0 turns TCP off, -1 chooses a free one [default: 11211]
    #[arg(
        short = 'p',
        long = "port",
        value_name = "num",
        allow_hyphen_values = true
    )]
    #[arg(value_parser = sizes::port)]
    pub port: Option<sizes::Port>,

    /// UDP port to listen on; 0 turns UDP off, -1 chooses a free one [default: 0]
    #[arg(
        short = 'U',
        long = "udp-port",
        value_name = "num",
        allow_hyphen_values = true
    )]
    #[arg(value_parser = sizes::port)]
    pub udp_port: Option<sizes::Port>,

    /// Unix socket to listen on (disables TCP and UDP)
    #[arg(short = 's', long = "unix-socket", value_name = "file")]
    pub unix_socket: Option<PathBuf>,

    /// Access mask of the unix socket, in octal
    #[arg(
        short = 'a',
        long = "unix-mask",
        value_name = "mask",
        default_value = "700"
    )]
    #[arg(value_parser = sizes::octal_mask)]
    pub unix_mask: u32,

    /// Enable the `shutdown` command
    #[arg(short = 'A', long = "enable-shutdown")]
    pub shutdown: bool,

    /// Address to listen on: host, host:port, `[IPv6]:port` or *; several by commas or repetition;
    /// `notls:` before one turns -Z off for it [default: every address]
    #[arg(short = 'l', long = "listen", value_name = "addr", action = ArgAction::Append)]
    pub listen: Vec<String>,

    /// Run as a daemon
    #[arg(short = 'd', long = "daemon")]
    pub daemon: bool,

    /// Maximize the core file limit
    #[arg(short = 'r', long = "enable-coredumps")]
    pub core_dumps: bool,

    /// User whose identity to assume (only when run as root)
    #[arg(short = 'u', long = "user", value_name = "user")]
    pub user: Option<String>,

    /// Memory for items, in megabytes, or with a suffix k, m, g
    #[arg(
        short = 'm',
        long = "memory-limit",
        value_name = "num",
        default_value = "64"
    )]
    #[arg(value_parser = sizes::megabytes)]
    pub memory_bytes: u64,

    /// Return an error when memory is full, instead of evicting items
    #[arg(short = 'M', long = "disable-evictions")]
    pub no_evictions: bool,

    /// With -M: evict items that have an expiry time all the same; not with --ssd
    #[arg(long = "evict-expiring")]
    pub evict_expiring: bool,

    /// Most simultaneous connections [default: 1024, or fewer where the system allows fewer open
    /// files]
    #[arg(short = 'c', long = "conn-limit", value_name = "num")]
    pub connections_max: Option<usize>,

    /// Lock all memory
    #[arg(short = 'k', long = "lock-memory")]
    pub lock_memory: bool,

    /// Log what happens to the server (-vv: also to connections; -vvv: everything)
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count)]
    pub verbose: u8,

    /// Print this help and exit
    #[arg(short = 'h', long = "help", action = ArgAction::Help)]
    pub help: Option<bool>,

    /// Print the licence and exit
    #[arg(short = 'i', long = "license")]
    pub license: bool,

    /// Print the version and exit
    #[arg(short = 'V', long = "version", action = ArgAction::Version)]
    pub version: Option<bool>,

    /// Write the process number to this file
    #[arg(short = 'P', long = "pidfile", value_name = "file")]
    pub pid_file: Option<PathBuf>,

    /// Slab growth factor: accepted, not applicable
    #[arg(
        short = 'f',
        long = "slab-growth-factor",
        value_name = "num",
        default_value_t = 1.25
    )]
    pub growth_factor: f64,

    /// Least space of an item: accepted, not applicable
    #[arg(
        short = 'n',
        long = "slab-min-size",
        value_name = "bytes",
        default_value_t = 48
    )]
    pub chunk_bytes: usize,

    /// Large memory pages: asked for with and without it
    #[arg(short = 'L', long = "enable-largepages")]
    pub large_pages: bool,

    /// Character between a key's prefix and the rest, for `stats detail`, which it turns on
    #[arg(short = 'D', value_name = "char", value_parser = sizes::delimiter)]
    pub delimiter: Option<u8>,

    /// Worker threads [default: the cores that the process may use]
    #[arg(short = 't', long = "threads", value_name = "num")]
    pub threads: Option<usize>,

    /// Most requests of one connection that are handled before others get their turn
    #[arg(
        short = 'R',
        long = "max-reqs-per-event",
        value_name = "num",
        default_value_t = 512
    )]
    pub requests_per_event: usize,

    /// Disable CAS
    #[arg(short = 'C', long = "disable-cas")]
    pub no_cas: bool,

    /// Connections that may wait to be accepted
    #[arg(
        short = 'b',
        long = "listen-backlog",
        value_name = "num",
        default_value_t = 1024
    )]
    pub backlog: i32,

    /// Protocol: ascii, binary, or auto [default: auto]
    #[arg(short = 'B', long = "protocol", value_name = "name")]
    #[arg(value_parser = sizes::protocol)]
    pub protocol: Option<farcache_session::Protocol>,

    /// Largest item, in bytes or with a suffix k, m, g (1k to 1024m)
    #[arg(
        short = 'I',
        long = "max-item-size",
        value_name = "num",
        default_value = "1m"
    )]
    #[arg(value_parser = sizes::bytes)]
    pub item_bytes_max: u64,

    /// Require SASL authentication (users: the file that MEMCACHED_SASL_PWDB names)
    #[arg(short = 'S', long = "enable-sasl")]
    pub sasl: bool,

    /// Disable the `flush_all` command
    #[arg(short = 'F', long = "disable-flush-all")]
    pub no_flush: bool,

    /// Disable `stats cachedump` and `lru_crawler metadump`
    #[arg(short = 'X', long = "disable-dumping")]
    pub no_dump: bool,

    /// Disable the `watch` command
    #[arg(short = 'W', long = "disable-watch")]
    pub no_watch: bool,

    /// Require authentication on the text protocol; lines of user:password
    #[arg(short = 'Y', long = "auth-file", value_name = "file")]
    pub auth_file: Option<PathBuf>,

    /// File that keeps what is in memory over an orderly stop: --ssd FILE of 1.5 times -m
    #[arg(short = 'e', long = "memory-file", value_name = "file")]
    pub memory_file: Option<PathBuf>,

    /// Encrypt connections with TLS (needs -o ssl_chain_cert)
    #[arg(short = 'Z', long = "enable-ssl")]
    pub tls: bool,

    /// Number of NAPI ids: accepted, not applicable
    #[arg(short = 'N', long = "napi_ids", value_name = "num")]
    pub napi_ids: Option<u32>,

    /// Extended options, separated by commas
    ///
    /// Obeyed: ext_path=FILE:SIZE (as --ssd), maxconns_fast, no_maxconns_fast (connections above -c
    /// are told so and closed, or wait), idle_timeout=SECONDS, track_sizes,
    /// watcher_logbuf_size=KILOBYTES, and for -Z ssl_chain_cert=FILE, ssl_key=FILE,
    /// ssl_ca_cert=FILE, ssl_verify_mode=0..3, ssl_min_version=tlsv1.2|tlsv1.3, ssl_keyformat=PEM,
    /// ssl_session_cache. Every other sub-option of memcached 1.6 is accepted and reported as not
    /// applicable; unknown ones are refused.
    #[arg(short = 'o', long = "extended", value_name = "options", action = ArgAction::Append)]
    pub extended: Vec<String>,

    /// File, directory or block device for items that leave memory; several by repetition
    ///
    /// SIZE has a unit: k, m, g or t. A file is made and its room taken at the start; without SIZE,
    /// a block device is used whole, a file as large as it is, a new one four times as large as -m.
    /// In a directory the file is called farcache.ssd. What is there from an earlier start is found
    /// again.
    #[arg(long = "ssd", value_name = "path[:size]", action = ArgAction::Append)]
    #[arg(value_parser = devices::device)]
    pub ssd: Vec<crate::settings::DeviceSettings>,

    /// An --ssd that may be formatted although it holds something; several by repetition
    ///
    /// Without this the server does not start where a path holds a file system, a partition table,
    /// another store or anything else that is not blank, and leaves a device aside that fell behind
    /// the others. What belongs to the store and fell not behind is never formatted, so this need
    /// not be taken away later.
    #[arg(long = "ssd-format", value_name = "path", action = ArgAction::Append)]
    pub ssd_format: Vec<PathBuf>,

    /// Start although devices are missing that were used together with those of --ssd
    ///
    /// What lies on them is lost for good, and older versions of other items may come back. Where
    /// they are given again later they are left aside.
    #[arg(long = "ssd-allow-missing")]
    pub ssd_allow_missing: bool,

    /// When a SET is answered that will go to the SSD: cache, writeback or sync
    ///
    /// cache: at once, and items are evicted while the SSD is too slow. writeback, the default: at
    /// once, and SETs wait while the SSD is too slow. sync: when the SSD has it safely.
    #[arg(long = "durability", value_name = "name", value_parser = sizes::durability)]
    pub durability: Option<farcache_store::Durability>,

    /// Check what lies on these files, directories or block devices, tell of it, and do nothing
    /// else
    ///
    /// All devices of the store must be named, as with --ssd, and no server may be using them.
    /// Nothing is written. Exit status: 0 if nothing is damaged, 1 if something is, 2 if they
    /// cannot be checked.
    #[arg(long = "check-ssd", value_name = "path", num_args = 1..)]
    #[arg(value_parser = devices::device)]
    pub check_ssd: Vec<crate::settings::DeviceSettings>,

    /// With --check-ssd: tell of it in JSON
    #[arg(long = "json", requires = "check_ssd")]
    pub json: bool,

    /// Microseconds for which a worker polls after activity before it sleeps; 0 is off
    #[arg(long = "poll-us", value_name = "num", default_value_t = 50)]
    pub poll_us: u32,

    /// Serve connections that are ready at once together, through io_uring: auto (where the system
    /// permits it), off
    #[arg(
        long = "io-uring",
        value_name = "when",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub io_uring: crate::settings::IoUringMode,

    /// Let clients come over the fabric, by UCX: auto (where the machine has it), off, require
    /// (else the server does not start)
    #[arg(
        long = "fabric",
        value_name = "when",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub fabric: crate::settings::FabricMode,

    /// Let clients with TLS (-Z) come over the fabric, which does not encrypt: its network is
    /// trusted
    #[arg(long = "fabric-with-tls")]
    pub fabric_with_tls: bool,

    /// File with the map of the cluster that the server is in: clients are told of its servers
    ///
    /// The file is read at the start and whenever it changes. Clients that know ElastiCache's auto
    /// discovery find the servers by it (`config get cluster`).
    #[arg(long = "cluster-file", value_name = "file")]
    pub cluster_file: Option<PathBuf>,

    /// The server's own name in the map: requests for keys of other servers are passed on to them
    ///
    /// Needs --cluster-file. Without it, and where the map's placement is that of the clients,
    /// every key is answered here.
    #[arg(long = "cluster-self", value_name = "num", requires = "cluster_file")]
    pub cluster_self: Option<u32>,

    /// File with a secret of 16 bytes or more that the cluster's servers share
    ///
    /// Servers that pass requests on prove to one another that they know it. Without it only
    /// servers on the same machine are let in, and none where clients have to authenticate. With
    /// --cluster-etcd, requests for keys of other servers are passed on only if there is a secret.
    #[arg(long = "cluster-secret-file", value_name = "file")]
    pub cluster_secret_file: Option<PathBuf>,

    /// Milliseconds that another server may take for a request that is passed on to it
    #[arg(
        long = "forward-timeout-ms",
        value_name = "num",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=600_000)
    )]
    pub forward_timeout_ms: u32,

    /// Bytes a second (suffixes k, m and g) that the server fetches from others to get copies and
    /// shards of values which it should have and lacks; 0 for never
    ///
    /// For clients whose policy stores a value on several servers (replicate:3, ec:3,2), and
    /// servers that know which of the map's servers they are. What is asked, and what clients do
    /// meanwhile, is not counted.
    #[arg(long = "repair-rate", value_name = "bytes", default_value = "128m", value_parser = sizes::bytes)]
    pub repair_rate: u64,

    /// Seconds from one look at what others have to the next
    ///
    /// The server looks at its start too, when the map changes, and when a server is back.
    #[arg(
        long = "repair-interval",
        value_name = "seconds",
        default_value_t = 600,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub repair_interval_s: u32,
    /// Bytes a second that come from other servers of keys that move to this one
    ///
    /// In megabytes unless there is a suffix; 0 is no limit. A server that gives keys sends no more
    /// than that to all who take from it. What a client asks for comes beside that.
    #[arg(
        long = "move-rate",
        value_name = "size",
        default_value = "64",
        value_parser = sizes::megabytes
    )]
    pub move_rate: u64,

    /// How the server takes part in a cluster.
    #[command(flatten)]
    pub cluster: cluster::ClusterOptions,

    /// Write the TCP port that was chosen to this file, once clients may connect
    #[arg(long = "port-file", value_name = "file")]
    pub port_file: Option<PathBuf>,

    /// Serve Prometheus metrics over HTTP at this address
    #[arg(long = "metrics", value_name = "addr:port", value_parser = sizes::endpoint)]
    pub metrics: Option<SocketAddr>,

    /// Format of the log
    #[arg(long = "log-format", value_name = "name", default_value = "text")]
    pub log_format: LogFormat,
}
