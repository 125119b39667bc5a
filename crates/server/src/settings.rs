//! What the operator chose, after option parsing.

use farcache_cluster::Address;
use farcache_membership::etcd::EtcdSettings;
use farcache_session::{Auth, Protocol};
use farcache_store::Durability;
use std::path::PathBuf;
use std::time::Duration;

/// Default of `-c`.
pub const CONNECTIONS_DEFAULT: usize = 1024;
/// Bytes a second of keys that move to a server, unless told otherwise (`--move-rate`).
pub const MOVE_RATE_DEFAULT: u64 = 64 << 20;

/// Whether clients may come over the fabric (`--fabric`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum FabricMode {
    /// Where the machine has a network for it.
    Auto,
    /// Never.
    #[default]
    Off,
    /// The server does not start without it.
    Require,
}

impl FabricMode {
    /// As it is given.
    pub fn name(self) -> &'static str {
        match self {
            FabricMode::Auto => "auto",
            FabricMode::Off => "off",
            FabricMode::Require => "require",
        }
    }
}

/// Whether connections that are ready at once are served together through io_uring (`--io-uring`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum IoUringMode {
    /// Where the system permits it.
    #[default]
    Auto,
    /// Never.
    Off,
}

impl IoUringMode {
    /// As it is given.
    pub fn name(self) -> &'static str {
        match self {
            IoUringMode::Auto => "auto",
            IoUringMode::Off => "off",
        }
    }
}

/// Whether clients must show a certificate (`-o ssl_verify_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Clients are not asked for a certificate.
    #[default]
    None,
    /// A certificate is asked for, and checked where given.
    Request,
    /// A client without a valid one is refused.
    Require,
}

/// How connections are encrypted (`-Z` and the `ssl_*` sub-options).
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    /// Certificate chain in PEM format.
    pub chain_cert: PathBuf,
    /// Private key in PEM format; the chain's file where not given.
    pub key: Option<PathBuf>,
    /// Certificates of the authorities that may sign client certificates, in PEM format.
    pub ca_cert: Option<PathBuf>,
    /// Whether clients must show a certificate.
    pub verify: ClientCertificates,
    /// Whether sessions may be resumed from the server's cache.
    pub session_cache: bool,
    /// Whether TLS 1.2 is refused.
    pub only_version_1_3: bool,
}

/// One device of the SSD tier, as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSettings {
    /// A file, a directory in which a file is made, or a block device.
    pub path: PathBuf,
    /// Size in bytes; what there is, or a default, where not given.
    pub bytes: Option<u64>,
}

/// Name of the file that is made in a directory that is given as a device.
pub const DEVICE_FILE_NAME: &str = "farcache.ssd";

impl DeviceSettings {
    /// Whether the path names this device, or the file in it where it is a directory.
    pub fn is_at(&self, path: &std::path::Path) -> bool {
        self.path == path || self.path.join(DEVICE_FILE_NAME) == path
    }
}

/// Settings that sessions and workers read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// TCP port as given (`-p`); 0 chooses a free one.
    pub tcp_port: u16,
    /// UDP port (`-U`); 0 is off.
    pub udp_port: u16,
    /// Addresses to listen on, as given (`-l`); empty is every address.
    pub interfaces: Vec<String>,
    /// Unix socket (`-s`), which replaces the network.
    pub unix_socket: Option<PathBuf>,
    /// Access mask of the unix socket (`-a`).
    pub unix_mask: u32,
    /// Memory for items in bytes (`-m`).
    pub memory_bytes: u64,
    /// Whether items may be evicted (off with `-M`).
    pub evictions: bool,
    /// Whether items that have an expiry may be evicted where others may not (`--evict-expiring`).
    pub evict_expiring: bool,
    /// Largest item in bytes (`-I`).
    pub item_bytes_max: usize,
    /// Whether CAS is on (off with `-C`).
    pub cas: bool,
    /// Whether `flush_all` is on (off with `-F`).
    pub flush: bool,
    /// Whether the `shutdown` command is on (`-A`).
    pub shutdown_command: bool,
    /// Whether `lru_crawler metadump` and other dumps are on (off with `-X`).
    pub dump: bool,
    /// Whether `watch` is on (off with `-W`).
    pub watch: bool,
    /// Character before which `stats detail` cuts a key (`-D`).
    pub detail_prefix: u8,
    /// Whether `stats detail` collects from the start (`-D` given).
    pub detail: bool,
    /// Worker threads (`-t`).
    pub threads: usize,
    /// Most connections (`-c`).
    pub connections_max: usize,
    /// Whether connections above the limit are told so and closed; else they wait to be accepted.
    pub connections_refused_fast: bool,
    /// Connections that may wait to be accepted (`-b`).
    pub backlog: i32,
    /// Most requests that a connection may have handled before others get their turn (`-R`).
    pub requests_per_event: usize,
    /// Which protocols connections may speak (`-B`).
    pub protocol: Protocol,
    /// Seconds after which a silent connection is closed (`-o idle_timeout`); 0 is never.
    pub idle_timeout_seconds: u32,
    /// Microseconds for which a worker polls after activity before it sleeps (`--poll-us`).
    pub poll_us: u32,
    /// Whether connections that are ready at once are served together through io_uring
    /// (`--io-uring`).
    pub io_uring: IoUringMode,
    /// Whether clients may come over the fabric (`--fabric`).
    pub fabric: FabricMode,
    /// Whether clients with TLS may come over the fabric, which does not encrypt
    /// (`--fabric-with-tls`).
    pub fabric_with_tls: bool,
    /// Whether large pages were asked for (`-L`).
    pub large_pages: bool,
    /// Whether SASL authentication is required (`-S`).
    pub sasl: bool,
    /// File with the users who may authenticate (`-Y`, or the SASL user file).
    pub auth_file: Option<PathBuf>,
    /// Encryption; none without `-Z`.
    pub tls: Option<TlsSettings>,
    /// Bytes of log lines kept for a watcher that does not read (`-o watcher_logbuf_size`).
    pub watcher_buffer_bytes: usize,
    /// Devices to which items go that leave memory (`--ssd`, `-o ext_path`, `-e`); none: they are
    /// dropped.
    pub devices: Vec<DeviceSettings>,
    /// Devices that may be formatted although they hold something (`--ssd-format`), as given.
    pub devices_to_format: Vec<PathBuf>,
    /// Whether devices may be missing that were used with these (`--ssd-allow-missing`).
    pub allow_missing_devices: bool,
    /// When a store operation may be answered (`--durability`).
    pub durability: Durability,
    /// File with the map of the cluster that the server is in (`--cluster-file`).
    pub cluster_file: Option<PathBuf>,
    /// The server's own name in that map (`--cluster-self`); none where it does not forward.
    pub cluster_self: Option<u32>,
    /// File with what the cluster's servers share (`--cluster-secret-file`).
    pub cluster_secret_file: Option<PathBuf>,
    /// How long another server may take for a request (`--forward-timeout-ms`).
    pub forward_timeout: Duration,
    /// Bytes a second that are fetched from other servers to bring copies and shards back
    /// (`--repair-rate`); 0 for never.
    pub repair_rate: u64,
    /// Time from one look at what others have to the next (`--repair-interval`).
    pub repair_interval: Duration,
    /// Bytes a second of keys that move to this server; 0 is no limit.
    pub move_rate: u64,
    /// How the server takes part in a cluster that meets in etcd (`--cluster-etcd`).
    pub cluster_etcd: Option<EtcdSettings>,
    /// Where others reach the server (`--cluster-address`); none where that is not known. Port 0
    /// is the port that the server listens at.
    pub cluster_address: Option<Address>,
    /// Slab growth factor as given (`-f`): reported, not used.
    pub growth_factor: f64,
    /// Least space of an item as given (`-n`): reported, not used.
    pub chunk_bytes: usize,
    /// Hash algorithm as given (`-o hash_algorithm`): reported, not used.
    pub hash_algorithm: String,
    /// Hash power as given (`-o hashpower`): reported, not used.
    pub hash_power: u32,
}

impl Settings {
    /// What is asked of clients before they may use the server.
    pub fn auth(&self) -> Auth {
        match self.auth_file {
            _ if self.sasl => Auth::Sasl,
            Some(_) => Auth::Text,
            None => Auth::Open,
        }
    }

    /// Where the users are who may authenticate; none where nobody has to.
    pub fn users_file(&self) -> Option<PathBuf> {
        match self.auth() {
            Auth::Open => None,
            Auth::Sasl | Auth::Text => Some(self.auth_file.clone().unwrap_or_default()),
        }
    }

    /// Whether there is a fabric: with TLS, only where the operator trusts its network.
    pub fn fabric_mode(&self) -> FabricMode {
        match self.tls {
            Some(_) if !self.fabric_with_tls => FabricMode::Off,
            _ => self.fabric,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            tcp_port: 11211,
            udp_port: 0,
            interfaces: Vec::new(),
            unix_socket: None,
            unix_mask: 0o700,
            memory_bytes: 64 << 20,
            evictions: true,
            evict_expiring: false,
            item_bytes_max: farcache_base::limits::ITEM_BYTES_DEFAULT,
            cas: true,
            flush: true,
            shutdown_command: false,
            dump: true,
            watch: true,
            detail_prefix: b':',
            detail: false,
            threads: 4,
            connections_max: 1024,
            connections_refused_fast: true,
            backlog: 1024,
            requests_per_event: 20,
            protocol: Protocol::Auto,
            idle_timeout_seconds: 0,
            poll_us: 50,
            io_uring: IoUringMode::default(),
            fabric: FabricMode::Off,
            fabric_with_tls: false,
            large_pages: false,
            sasl: false,
            auth_file: None,
            tls: None,
            watcher_buffer_bytes: 256 << 10,
            devices: Vec::new(),
            devices_to_format: Vec::new(),
            allow_missing_devices: false,
            durability: Durability::default(),
            cluster_file: None,
            cluster_self: None,
            cluster_secret_file: None,
            forward_timeout: Duration::from_secs(1),
            repair_rate: 0,
            repair_interval: Duration::from_secs(600),
            move_rate: MOVE_RATE_DEFAULT,
            cluster_etcd: None,
            cluster_address: None,
            growth_factor: 1.25,
            chunk_bytes: 48,
            hash_algorithm: "murmur3".to_owned(),
            hash_power: 0,
        }
    }
}
