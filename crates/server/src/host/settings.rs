//! `stats settings`: what the operator chose.

use crate::settings::{ClientCertificates, Settings, TlsSettings};
use crate::shared::Shared;
use farcache_membership::etcd::EtcdSettings;
use farcache_session::stats::Report;
use farcache_session::{Auth, Protocol};
use farcache_store::Durability;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// Every setting; those without effect here are left out.
pub(super) fn collect(shared: &Shared, report: &mut Report<'_>) {
    let settings = &shared.settings;
    listening(settings, shared, report);
    storing(settings, report);
    talking(settings, shared, report);
    keeping(settings, shared, report);
    encrypting(settings.tls.as_ref(), report);
    tier(settings, report);
    if let Some(path) = &settings.cluster_file {
        report.stat("cluster_file", path.display());
    }
    if let Some(id) = settings.cluster_self {
        report.stat("cluster_self", id);
    }
    let has_secret = settings.cluster_secret_file.is_some();
    if has_secret || settings.cluster_self.is_some() {
        report.yes_no("cluster_secret", has_secret);
        report.stat("forward_timeout_ms", settings.forward_timeout.as_millis());
        report.stat("repair_rate", settings.repair_rate);
        report.stat("repair_interval", settings.repair_interval.as_secs());
        report.stat("move_rate", settings.move_rate);
    }
    if let Some(etcd) = &settings.cluster_etcd {
        cluster(etcd, report);
    }
}

fn cluster(etcd: &EtcdSettings, report: &mut Report<'_>) {
    let endpoints = etcd.endpoints.iter().map(ToString::to_string);
    let endpoints: Vec<String> = endpoints.collect();
    report.stat("cluster_etcd", endpoints.join(","));
    report.stat("cluster_name", &etcd.cluster);
    report.stat("cluster_address", &etcd.address);
    report.stat("cluster_weight", etcd.weight);
    report.stat("cluster_ttl", etcd.ttl_seconds);
    report.stat("cluster_grace", etcd.grace.as_secs());
    report.stat("cluster_state", path_or_null(etcd.saved.as_deref()));
}

fn on_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn listening(settings: &Settings, shared: &Shared, report: &mut Report<'_>) {
    report.stat("maxbytes", shared.store.stats().memory_bytes);
    report.stat("maxconns", settings.connections_max);
    report.stat("tcpport", settings.tcp_port);
    report.stat("udpport", settings.udp_port);
    report.stat("inter", or_null(&settings.interfaces.join(",")));
    report.stat("verbosity", shared.verbosity.load(Relaxed));
    report.stat("oldest", 0);
    report.stat("evictions", on_off(settings.evictions));
    report.stat("evict_expiring", on_off(settings.evict_expiring));
    report.stat(
        "domain_socket",
        path_or_null(settings.unix_socket.as_deref()),
    );
    report.stat("umask", format_args!("{:o}", settings.unix_mask));
    report.yes_no("shutdown_command", settings.shutdown_command);
}

fn storing(settings: &Settings, report: &mut Report<'_>) {
    report.stat(
        "growth_factor",
        format_args!("{:.2}", settings.growth_factor),
    );
    report.stat("chunk_size", settings.chunk_bytes);
    report.stat("num_threads", settings.threads);
    report.stat("num_threads_per_udp", settings.threads);
    report.stat("stat_key_prefix", char::from(settings.detail_prefix));
}

fn talking(settings: &Settings, shared: &Shared, report: &mut Report<'_>) {
    report.yes_no("detail_enabled", shared.service.detail.is_on());
    report.stat("reqs_per_event", settings.requests_per_event);
    report.yes_no("cas_enabled", settings.cas);
    report.stat("tcp_backlog", settings.backlog);
    report.stat("binding_protocol", protocol_name(settings.protocol));
    report.yes_no("auth_enabled_sasl", shared.service.auth == Auth::Sasl);
    report.stat(
        "auth_enabled_ascii",
        path_or(
            settings.auth_file.as_deref().filter(|_| !settings.sasl),
            "no",
        ),
    );
}

fn keeping(settings: &Settings, shared: &Shared, report: &mut Report<'_>) {
    report.stat("item_size_max", settings.item_bytes_max);
    report.yes_no("maxconns_fast", settings.connections_refused_fast);
    report.stat("hashpower_init", settings.hash_power);
    report.yes_no("flush_enabled", settings.flush);
    report.yes_no("dump_enabled", settings.dump);
    report.stat("hash_algorithm", &settings.hash_algorithm);
    report.stat("idle_timeout", settings.idle_timeout_seconds);
    report.stat("watcher_logbuf_size", settings.watcher_buffer_bytes);
    report.yes_no("track_sizes", shared.service.tracks_sizes());
    report.stat("inline_ascii_response", "no");
    report.stat("poll_us", settings.poll_us);
    report.stat("io_uring", settings.io_uring.name());
    report.stat("fabric", settings.fabric_mode().name());
    report.yes_no("large_pages", settings.large_pages);
    report.stat("segment_size", shared.store.config().segment_bytes);
}

fn encrypting(tls: Option<&TlsSettings>, report: &mut Report<'_>) {
    report.yes_no("ssl_enabled", tls.is_some());
    let Some(tls) = tls else { return };
    report.stat("ssl_chain_cert", tls.chain_cert.display());
    report.stat("ssl_key", path_or_null(tls.key.as_deref()));
    report.stat("ssl_verify_mode", verify_mode(tls.verify));
    report.stat("ssl_ca_cert", path_or_null(tls.ca_cert.as_deref()));
    report.yes_no("ssl_session_cache", tls.session_cache);
    report.stat(
        "ssl_min_version",
        if tls.only_version_1_3 {
            "tlsv1.3"
        } else {
            "tlsv1.2"
        },
    );
}

/// The SSD tier, where there is one.
fn tier(settings: &Settings, report: &mut Report<'_>) {
    if settings.devices.is_empty() {
        return;
    }
    for device in &settings.devices {
        report.stat("ssd", device.path.display());
    }
    report.stat("durability", durability_name(settings.durability));
}

fn durability_name(durability: Durability) -> &'static str {
    match durability {
        Durability::Cache => "cache",
        Durability::Writeback => "writeback",
        Durability::Sync => "sync",
    }
}

fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Auto => "auto-negotiate",
        Protocol::Ascii => "ascii",
        Protocol::Binary => "binary",
    }
}

/// The number by which OpenSSL's users know it.
fn verify_mode(verify: ClientCertificates) -> u8 {
    match verify {
        ClientCertificates::None => 0,
        ClientCertificates::Request => 1,
        ClientCertificates::Require => 3,
    }
}

fn or_null(text: &str) -> &str {
    if text.is_empty() { "NULL" } else { text }
}

fn path_or_null(path: Option<&Path>) -> String {
    path_or(path, "NULL")
}

fn path_or(path: Option<&Path>, otherwise: &str) -> String {
    path.map_or_else(|| otherwise.to_owned(), |path| path.display().to_string())
}
