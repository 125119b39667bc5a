//! From options to what the server does: checks that involve several of them, and defaults.

use super::Options;
use super::extended::Extended;
use super::sizes::Port;
use crate::net::listen::Place;
use crate::settings::{CONNECTIONS_DEFAULT, DeviceSettings, FabricMode, Settings, TlsSettings};
use farcache_session::Protocol;
use std::path::PathBuf;
use std::time::Duration;

/// Smallest and largest item size that `-I` allows, in bytes.
const ITEM_BYTES_LIMITS: std::ops::RangeInclusive<u64> = 1024..=1 << 30;

/// Smallest device of the SSD tier, in bytes: some segments to write to while others are cleaned.
const DEVICE_BYTES_MIN: u64 = 16 << 20;

/// Exit status of memcached for a malformed value (`EX_USAGE` of `sysexits.h`).
const BAD_VALUE: u8 = 64;

/// Exit status of memcached for an unknown option.
const UNKNOWN: u8 = 1;

/// Why the server does not start, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub message: String,
    /// Exit status.
    pub status: u8,
}

impl Refusal {
    pub(super) fn bad_value(message: impl Into<String>) -> Self {
        Refusal {
            message: message.into(),
            status: BAD_VALUE,
        }
    }
}

/// What the options amount to.
#[derive(Debug)]
pub struct Plan {
    /// What sessions and workers read.
    pub settings: Settings,
    /// Where to listen; everywhere if empty.
    pub places: Vec<Place>,
    /// Whether to serve TCP.
    pub tcp: bool,
    /// Whether to serve UDP, at `settings.udp_port`, where 0 is a free one.
    pub udp: bool,
    /// Whether `stats sizes` is kept from the start.
    pub track_sizes: bool,
    /// Whether the most connections were chosen (`-c`), not left to the default.
    pub connections_given: bool,
    /// Options that have no effect here.
    pub not_applicable: Vec<String>,
}

impl Options {
    /// What the options amount to.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn plan(&self) -> Result<Plan, Refusal> {
        self.check_ranges()?;
        let mut settings = self.settings();
        let mut extended = Extended::default();
        for list in &self.extended {
            extended
                .apply(list, &mut settings)
                .map_err(|message| Refusal {
                    message,
                    status: UNKNOWN,
                })?;
        }
        settings.tls = self.tls_settings(&extended.tls)?;
        self.check_devices(&settings)?;
        let places = self.places()?;
        settings.cluster_address.clone_from(&self.cluster.address);
        let secret_file = settings.cluster_secret_file.as_deref();
        settings.cluster_etcd =
            self.cluster
                .etcd_settings(self.serves_tcp(), &places, secret_file)?;
        let forwards = settings.cluster_self.is_some() || settings.cluster_etcd.is_some();
        if settings.cluster_secret_file.is_some() && !forwards {
            let message = "--cluster-secret-file needs --cluster-self or --cluster-etcd";
            return Err(Refusal::bad_value(message));
        }
        Ok(Plan {
            places,
            tcp: self.serves_tcp(),
            udp: self.serves_udp(),
            track_sizes: extended.track_sizes,
            connections_given: self.connections_max.is_some(),
            not_applicable: self.not_applicable(extended.not_applicable),
            settings,
        })
    }

    fn check_ranges(&self) -> Result<(), Refusal> {
        let checks = [
            (
                self.threads == Some(0),
                "-t: the number of threads must be greater than 0",
            ),
            (
                self.connections_max == Some(0),
                "-c: the most connections must be greater than 0",
            ),
            (
                self.requests_per_event == 0,
                "-R: the requests per event must be greater than 0",
            ),
            (self.backlog <= 0, "-b: the backlog must be greater than 0"),
            (
                self.chunk_bytes == 0,
                "-n: the chunk size must be greater than 0",
            ),
            (
                self.growth_factor <= 1.0,
                "-f: the factor must be greater than 1",
            ),
            (
                self.memory_bytes == 0,
                "-m: the memory must be greater than 0",
            ),
            (
                !ITEM_BYTES_LIMITS.contains(&self.item_bytes_max),
                "-I: the largest item must be between 1k and 1024m",
            ),
            (
                self.item_bytes_max > self.memory_bytes / 2,
                "-I: the largest item (1m by default) cannot be above half of the memory: lower -I or raise -m",
            ),
            (
                self.evict_expiring && !self.no_evictions,
                "--evict-expiring needs -M",
            ),
            (
                self.fabric_with_tls && !self.tls,
                "--fabric-with-tls needs -Z",
            ),
            (
                self.fabric == FabricMode::Require && self.tls && !self.fabric_with_tls,
                "--fabric require: with -Z, clients may use the fabric only with --fabric-with-tls",
            ),
            (
                self.sasl && self.auth_file.is_some(),
                "-S and -Y exclude each other",
            ),
            (
                self.sasl && self.protocol.is_some_and(|name| name != Protocol::Binary),
                "-S needs the binary protocol; do not use it with another -B",
            ),
            (
                self.auth_file.is_some()
                    && self.protocol.is_some_and(|name| name != Protocol::Ascii),
                "-Y needs the text protocol; do not use it with another -B",
            ),
            (
                (self.sasl || self.auth_file.is_some()) && self.asks_for_udp(),
                "-U cannot be combined with -S or -Y: datagrams do not authenticate",
            ),
        ];
        match checks.iter().find(|(wrong, _)| *wrong) {
            Some((_, message)) => Err(Refusal::bad_value(*message)),
            None => Ok(()),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            tcp_port: self.tcp_port(),
            udp_port: match self.udp_port {
                Some(Port::At(port)) => port,
                _ => 0,
            },
            interfaces: self.listen.clone(),
            unix_socket: self.unix_socket.clone(),
            unix_mask: self.unix_mask,
            memory_bytes: self.memory_bytes,
            evictions: !self.no_evictions,
            evict_expiring: self.evict_expiring,
            item_bytes_max: self.item_bytes_max as usize,
            cas: !self.no_cas,
            flush: !self.no_flush,
            shutdown_command: self.shutdown,
            dump: !self.no_dump,
            watch: !self.no_watch,
            detail_prefix: self.delimiter.unwrap_or(b':'),
            detail: self.delimiter.is_some(),
            threads: self.threads.unwrap_or_else(cores),
            connections_max: self.connections_max.unwrap_or(CONNECTIONS_DEFAULT),
            backlog: self.backlog,
            requests_per_event: self.requests_per_event,
            protocol: self.protocol.unwrap_or_default(),
            poll_us: self.poll_us,
            io_uring: self.io_uring,
            large_pages: self.large_pages,
            sasl: self.sasl,
            auth_file: self.user_file(),
            fabric: self.fabric,
            fabric_with_tls: self.fabric_with_tls,
            devices: self.devices(),
            devices_to_format: self.ssd_format.clone(),
            allow_missing_devices: self.ssd_allow_missing,
            durability: self.durability.unwrap_or_default(),
            cluster_file: self.cluster_file.clone(),
            cluster_self: self.cluster_self,
            cluster_secret_file: self.cluster_secret_file.clone(),
            forward_timeout: Duration::from_millis(self.forward_timeout_ms.into()),
            repair_rate: self.repair_rate,
            repair_interval: Duration::from_secs(self.repair_interval_s.into()),
            move_rate: self.move_rate,
            growth_factor: self.growth_factor,
            chunk_bytes: self.chunk_bytes,
            ..Settings::default()
        }
    }

    /// The devices of `--ssd`, then that of `-e`: large enough for what is in memory and for
    /// cleaning.
    fn devices(&self) -> Vec<DeviceSettings> {
        let memory_file = self.memory_file.iter().map(|path| DeviceSettings {
            path: path.clone(),
            bytes: Some((self.memory_bytes / 2 * 3).max(DEVICE_BYTES_MIN)),
        });
        self.ssd.iter().cloned().chain(memory_file).collect()
    }

    fn check_devices(&self, settings: &Settings) -> Result<(), Refusal> {
        if self.durability.is_some() && settings.devices.is_empty() {
            return Err(Refusal::bad_value("--durability needs --ssd"));
        }
        if self.ssd_allow_missing && settings.devices.is_empty() {
            return Err(Refusal::bad_value("--ssd-allow-missing needs --ssd"));
        }
        if self.evict_expiring && !settings.devices.is_empty() {
            return Err(Refusal::bad_value(
                "--evict-expiring cannot be combined with --ssd",
            ));
        }
        for path in &settings.devices_to_format {
            if !settings.devices.iter().any(|device| device.is_at(path)) {
                let path = path.display();
                let message = format!("--ssd-format: {path} is not given with --ssd");
                return Err(Refusal::bad_value(message));
            }
        }
        for (index, device) in settings.devices.iter().enumerate() {
            let path = device.path.display();
            if settings.devices[..index]
                .iter()
                .any(|other| other.path == device.path)
            {
                return Err(Refusal::bad_value(format!("--ssd: {path} is given twice")));
            }
            if device.bytes.is_some_and(|bytes| bytes < DEVICE_BYTES_MIN) {
                let least = DEVICE_BYTES_MIN >> 20;
                let message = format!("--ssd: {path} must have at least {least}m");
                return Err(Refusal::bad_value(message));
            }
        }
        Ok(())
    }

    /// The number to listen at, where 0 is a free one. Like memcached: with a UDP port and no TCP
    /// port, TCP listens at the same number, or at a free one as well.
    fn tcp_port(&self) -> u16 {
        let given = self
            .port
            .or(self.udp_port.filter(|port| *port != Port::Zero));
        match given {
            Some(Port::At(port)) => port,
            Some(Port::Zero | Port::Free) => 0,
            None => Settings::default().tcp_port,
        }
    }

    fn serves_tcp(&self) -> bool {
        self.unix_socket.is_none() && self.port != Some(Port::Zero)
    }

    fn serves_udp(&self) -> bool {
        self.unix_socket.is_none() && self.asks_for_udp()
    }

    fn asks_for_udp(&self) -> bool {
        self.udp_port.is_some_and(|port| port != Port::Zero)
    }

    fn user_file(&self) -> Option<PathBuf> {
        let sasl_file = || std::env::var_os("MEMCACHED_SASL_PWDB").map(PathBuf::from);
        self.auth_file
            .clone()
            .or_else(|| self.sasl.then(sasl_file).flatten())
    }

    fn tls_settings(&self, tls: &TlsSettings) -> Result<Option<TlsSettings>, Refusal> {
        if !self.tls {
            return Ok(None);
        }
        if tls.chain_cert.as_os_str().is_empty() {
            return Err(Refusal::bad_value("-Z needs -o ssl_chain_cert=FILE"));
        }
        if self.asks_for_udp() {
            return Err(Refusal::bad_value(
                "-U cannot be combined with -Z: UDP is not encrypted",
            ));
        }
        if self.port == Some(Port::Zero) {
            return Err(Refusal::bad_value("-Z needs a TCP port; -p 0 turns it off"));
        }
        Ok(Some(tls.clone()))
    }

    fn places(&self) -> Result<Vec<Place>, Refusal> {
        self.listen
            .iter()
            .flat_map(|list| list.split([',', ';']))
            .map(|text| {
                Place::parse(text).map_err(|error| Refusal::bad_value(format!("-l: {error}")))
            })
            .collect()
    }

    fn not_applicable(&self, extended: Vec<String>) -> Vec<String> {
        let defaults = Settings::default();
        let own = [
            (
                self.growth_factor.to_bits() != defaults.growth_factor.to_bits(),
                "-f",
            ),
            (self.chunk_bytes != defaults.chunk_bytes, "-n"),
            (self.napi_ids.is_some(), "-N"),
        ];
        let own = own
            .iter()
            .filter(|(given, _)| *given)
            .map(|(_, name)| (*name).to_owned());
        own.chain(extended).collect()
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(Settings::default().threads, usize::from)
}

/// Exit status for what the command line parser refused.
pub fn status_of(error: &clap::Error) -> u8 {
    match error.kind() {
        clap::error::ErrorKind::UnknownArgument => UNKNOWN,
        _ => BAD_VALUE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    fn plan(arguments: &[&str]) -> Result<Plan, Refusal> {
        let arguments = std::iter::once("farcached").chain(arguments.iter().copied());
        Options::try_parse_from(arguments)
            .map_err(|error| Refusal {
                message: error.to_string(),
                status: status_of(&error),
            })?
            .plan()
    }

    #[test]
    fn the_definition_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn short_and_long_names_mean_the_same() {
        let short = [
            "-p", "1", "-m", "100", "-c", "7", "-I", "2m", "-t", "3", "-R", "9", "-b", "8",
        ];
        let long = [
            "--port=1",
            "--memory-limit=100",
            "--conn-limit=7",
            "--max-item-size=2m",
            "--threads=3",
            "--max-reqs-per-event=9",
            "--listen-backlog=8",
        ];
        let (short, long) = (plan(&short).expect("valid"), plan(&long).expect("valid"));
        assert_eq!(
            format!("{:?}", short.settings),
            format!("{:?}", long.settings)
        );
        assert_eq!(short.settings.memory_bytes, 100 << 20);
    }

    #[test]
    fn several_addresses_and_verbosity_add_up() {
        let plan =
            plan(&["-l", "a,b:1", "-l", "[::1]:2", "-vv", "-m", "8", "-m", "9"]).expect("valid");
        assert_eq!(plan.places.len(), 3);
        assert_eq!(plan.settings.memory_bytes, 9 << 20, "the last one counts");
        assert!(plan.tcp && !plan.udp);
    }

    #[test]
    fn ports_follow_each_other_as_in_memcached() {
        // Arguments; the TCP port, none where TCP is off; the UDP port. 0 is a free one.
        for (arguments, tcp, udp) in [
            (&[][..], Some(11211), None),
            (&["-p", "0"], None, None),
            (&["-p", "-1"], Some(0), None),
            (&["-U", "0"], Some(11211), None),
            (&["-U", "-1"], Some(0), Some(0)),
            (&["-U", "5"], Some(5), Some(5)),
            (&["-p", "0", "-U", "5"], None, Some(5)),
            (&["-p", "0", "-U", "-1"], None, Some(0)),
            (&["-p", "-1", "-U", "-1"], Some(0), Some(0)),
            (&["-p", "7", "-U", "-1"], Some(7), Some(0)),
            (&["-s", "/s", "-p", "7", "-U", "5"], None, None),
        ] {
            let plan = plan(arguments).expect("valid");
            let tcp_port = plan.tcp.then_some(plan.settings.tcp_port);
            let udp_port = plan.udp.then_some(plan.settings.udp_port);
            assert_eq!((tcp_port, udp_port), (tcp, udp), "{arguments:?}");
        }
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn items_move_where_servers_know_each_other_unless_that_is_turned_off() {
        let member = ["--cluster-etcd", "e:1", "--cluster-address", "a"];
        let moves = |more: &[&str]| {
            let plan = plan(&[&member[..], more].concat())?;
            Ok(plan.settings.cluster_etcd.expect("etcd").moves_items)
        };
        let secret = "--cluster-secret-file=/f";
        assert_eq!(moves(&[]), Ok(false));
        assert_eq!(moves(&["--cluster-moves=off"]), Ok(false));
        assert_eq!(moves(&[secret]), Ok(true));
        assert_eq!(moves(&[secret, "--cluster-moves"]), Ok(true));
        assert_eq!(moves(&[secret, "--cluster-moves=on"]), Ok(true));
        assert_eq!(moves(&[secret, "--cluster-moves=off"]), Ok(false));
        for asked in ["--cluster-moves", "--cluster-moves=on"] {
            let refused: Refusal = moves(&[asked]).expect_err("nobody gives to strangers");
            assert!(refused.message.contains("--cluster-secret-file"));
        }
    }

    #[test]
    fn wrong_options_are_refused_with_memcacheds_status() {
        for arguments in [
            &["-t", "0"][..],
            &["-I", "1"],
            &["-I", "2g"],
            &["-I", "40m"],
            &["-m", "0"],
            &["-p", "70000"],
            &["-p", "abc"],
            &["-B", "foo"],
            &["-a", "999"],
            &["-c", "0"],
            &["-Z"],
            &["-D", "ab"],
            &["-l", "host:x"],
            &["-S", "-Y", "/f"],
            &["-S", "-U", "-1"],
            &["-Y", "/f", "-U", "5"],
            &["-S", "-B", "auto"],
            &["-Y", "/f", "-B", "auto"],
            &["-Z", "-o", "ssl_chain_cert=/f", "-p", "0"],
            &["-f", "0.5"],
            &["-n", "0"],
            &["-R", "0"],
            &["-b", "x"],
            &["-p"],
            &["--poll-us", "x"],
            &["--fabric", "perhaps"],
            &["--evict-expiring"],
            &["--evict-expiring", "-M", "--ssd", "/f:1g"],
            &["--fabric-with-tls"],
            &["--fabric", "require", "-Z", "-o", "ssl_chain_cert=/f"],
            &["--ssd", "/f:1"],
            &["--ssd", "/f:1m"],
            &["--ssd", ""],
            &["--ssd", "/f:1g", "-e", "/f"],
            &["--durability", "cache"],
            &["--ssd-allow-missing"],
            &["--ssd-format", "/f"],
            &["--ssd", "/f:1g", "--ssd-format", "/g"],
            &["--ssd", "/f:1g", "--durability", "maybe"],
        ] {
            assert_eq!(
                plan(arguments).expect_err("wrong").status,
                BAD_VALUE,
                "{arguments:?}"
            );
        }
        for arguments in [&["-Q"][..], &["--no-such"], &["extra"], &["-o", "foo"]] {
            assert_eq!(
                plan(arguments).expect_err("unknown").status,
                UNKNOWN,
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn what_may_be_formatted_is_named_as_the_device_or_as_the_file_in_it() {
        for path in ["/mnt", "/mnt/farcache.ssd"] {
            let plan = plan(&["--ssd", "/mnt:1g", "--ssd-format", path]).expect("valid");
            assert_eq!(plan.settings.devices_to_format, [PathBuf::from(path)]);
            assert!(!plan.settings.allow_missing_devices);
        }
    }

    #[test]
    fn devices_add_up() {
        let plan = plan(&[
            "--ssd",
            "/a:1g",
            "-o",
            "ext_path=/b:2g",
            "-e",
            "/c",
            "-m",
            "100",
            "--ssd",
            "/d",
        ])
        .expect("valid");
        let devices: Vec<_> = plan
            .settings
            .devices
            .iter()
            .map(|device| (device.path.to_str().expect("text"), device.bytes))
            .collect();
        let expected = [
            ("/a", Some(1 << 30)),
            ("/d", None),
            ("/c", Some(150 << 20)),
            ("/b", Some(2 << 30)),
        ];
        assert_eq!(devices, expected);
        assert_eq!(
            plan.settings.durability,
            farcache_store::Durability::Writeback
        );
    }

    #[test]
    fn what_does_not_apply_is_reported() {
        let plan =
            plan(&["-f", "1.5", "-n", "32", "-o", "slab_reassign,lru_crawler"]).expect("valid");
        assert_eq!(
            plan.not_applicable,
            ["-f", "-n", "-o slab_reassign", "-o lru_crawler"]
        );
    }
}
