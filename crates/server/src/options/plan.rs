//! From options to what the server does: defaults, and checks that involve several options.

use super::extended::Extended;
use super::refusal::{Refusal, UNKNOWN};
use super::sizes::Port;
use super::{Options, devices, ports, ranges};
use crate::net::listen::Place;
use crate::settings::{CONNECTIONS_DEFAULT, Settings, TlsSettings};
use std::path::PathBuf;
use std::time::Duration;

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
        ranges::check(self)?;
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
        devices::check(self, &settings)?;
        let places = ports::places(self)?;
        settings.cluster_address.clone_from(&self.cluster.address);
        let secret_file = settings.cluster_secret_file.as_deref();
        settings.cluster_etcd =
            self.cluster
                .etcd_settings(ports::serves_tcp(self), &places, secret_file)?;
        let forwards = settings.cluster_self.is_some() || settings.cluster_etcd.is_some();
        if settings.cluster_secret_file.is_some() && !forwards {
            let message = "--cluster-secret-file needs --cluster-self or --cluster-etcd";
            return Err(Refusal::bad_value(message));
        }
        Ok(Plan {
            places,
            tcp: ports::serves_tcp(self),
            udp: ports::serves_udp(self),
            track_sizes: extended.track_sizes,
            connections_given: self.connections_max.is_some(),
            not_applicable: self.not_applicable(extended.not_applicable),
            settings,
        })
    }

    fn settings(&self) -> Settings {
        Settings {
            tcp_port: ports::tcp_port(self),
            udp_port: ports::udp_port(self),
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
            devices: devices::chosen(self),
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
        if ports::asks_for_udp(self) {
            return Err(Refusal::bad_value(
                "-U cannot be combined with -Z: UDP is not encrypted",
            ));
        }
        if self.port == Some(Port::Zero) {
            return Err(Refusal::bad_value("-Z needs a TCP port; -p 0 turns it off"));
        }
        Ok(Some(tls.clone()))
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

#[cfg(test)]
mod tests {
    use super::super::refusal::{BAD_VALUE, status_of};
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
