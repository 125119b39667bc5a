//! The sub-options of `-o`: every one that memcached 1.6 has, obeyed or accepted and reported.

use super::sizes;
use crate::settings::{ClientCertificates, Settings, TlsSettings};
use std::path::PathBuf;

/// Whether a sub-option has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Optional,
    Number,
    Text,
}

/// Sub-options that are about slabs, LRU lists and threads that this server does not have.
/// Source: `memcached -h` and `doc/` of memcached 1.6.
const NOT_APPLICABLE: &[(&str, Value)] = &[
    ("drop_privileges", Value::None),
    ("ext_compact_under", Value::Number),
    ("ext_drop_under", Value::Number),
    ("ext_drop_unread", Value::None),
    ("ext_io_depth", Value::Number),
    ("ext_item_age", Value::Number),
    ("ext_item_size", Value::Number),
    ("ext_low_ttl", Value::Number),
    ("ext_max_frag", Value::Text),
    ("ext_max_sleep", Value::Number),
    ("ext_page_size", Value::Number),
    ("ext_recache_rate", Value::Number),
    ("ext_threads", Value::Number),
    ("ext_wbuf_size", Value::Number),
    ("hot_lru_pct", Value::Number),
    ("hot_max_factor", Value::Text),
    ("inline_ascii_resp", Value::None),
    ("lru_crawler", Value::None),
    ("lru_crawler_sleep", Value::Number),
    ("lru_crawler_tocrawl", Value::Number),
    ("lru_maintainer", Value::None),
    ("modern", Value::None),
    ("no_chunked_items", Value::None),
    ("no_drop_privileges", Value::None),
    ("no_hashexpand", Value::None),
    ("no_inline_ascii_resp", Value::None),
    ("no_lru_crawler", Value::None),
    ("no_lru_maintainer", Value::None),
    ("no_modern", Value::None),
    ("no_slab_automove", Value::None),
    ("no_slab_reassign", Value::None),
    ("read_buf_mem_limit", Value::Number),
    // Of the debug build that memcached tests itself with.
    ("relaxed_privileges", Value::None),
    ("resp_obj_mem_limit", Value::Number),
    ("slab_automove", Value::Optional),
    ("slab_automove_freeratio", Value::Text),
    ("slab_automove_ratio", Value::Text),
    ("slab_automove_window", Value::Number),
    ("slab_chunk_max", Value::Number),
    ("slab_reassign", Value::None),
    ("slab_sizes", Value::Text),
    ("sock_cookie_id", Value::Number),
    ("ssl_ciphers", Value::Text),
    ("ssl_kernel_tls", Value::None),
    ("ssl_wbuf_size", Value::Number),
    ("tail_repair_time", Value::Number),
    ("temporary_ttl", Value::Number),
    ("warm_lru_pct", Value::Number),
    ("warm_max_factor", Value::Text),
    ("worker_logbuf_size", Value::Number),
];

/// What the sub-options asked for beside the settings.
#[derive(Debug, Default)]
pub(super) struct Extended {
    /// Sub-options without effect here.
    pub not_applicable: Vec<String>,
    /// Where and how to encrypt, if `-Z` is given.
    pub tls: TlsSettings,
    /// Whether `stats sizes` is to be kept from the start.
    pub track_sizes: bool,
}

impl Extended {
    /// Takes over one comma-separated list.
    ///
    /// # Errors
    /// A message that names the unknown or malformed sub-option.
    pub fn apply(&mut self, list: &str, settings: &mut Settings) -> Result<(), String> {
        list.split(',')
            .filter(|one| !one.is_empty())
            .try_for_each(|one| self.apply_one(one, settings))
    }

    fn apply_one(&mut self, text: &str, settings: &mut Settings) -> Result<(), String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if let Some((_, kind)) = NOT_APPLICABLE.iter().find(|(known, _)| *known == name) {
            check(name, value, *kind)?;
            self.not_applicable.push(format!("-o {name}"));
            return Ok(());
        }
        if name.starts_with("ssl_") {
            return self.apply_tls(name, value);
        }
        self.apply_setting(name, value, settings)
    }

    fn apply_setting(
        &mut self,
        name: &str,
        value: Option<&str>,
        settings: &mut Settings,
    ) -> Result<(), String> {
        match name {
            "ext_path" => {
                let device = super::devices::external_path(required(name, value)?)?;
                settings.devices.push(device);
            }
            "maxconns_fast" => settings.connections_refused_fast = true,
            "no_maxconns_fast" => settings.connections_refused_fast = false,
            "track_sizes" => self.track_sizes = true,
            "idle_timeout" => settings.idle_timeout_seconds = number(name, value)?,
            "watcher_logbuf_size" => {
                settings.watcher_buffer_bytes = number::<usize>(name, value)?.saturating_mul(1024);
            }
            "hashpower" => settings.hash_power = hash_power(number(name, value)?)?,
            "hash_algorithm" => settings.hash_algorithm = hash_algorithm(required(name, value)?)?,
            _ => return Err(format!("illegal sub-option '{name}' of -o")),
        }
        if matches!(name, "hashpower" | "hash_algorithm") {
            self.not_applicable.push(format!("-o {name}"));
        }
        Ok(())
    }

    fn apply_tls(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let tls = &mut self.tls;
        match name {
            "ssl_chain_cert" => tls.chain_cert = PathBuf::from(required(name, value)?),
            "ssl_key" => tls.key = Some(PathBuf::from(required(name, value)?)),
            "ssl_ca_cert" => tls.ca_cert = Some(PathBuf::from(required(name, value)?)),
            "ssl_session_cache" => tls.session_cache = true,
            "ssl_verify_mode" => tls.verify = verify_mode(number(name, value)?)?,
            "ssl_min_version" => tls.only_version_1_3 = is_only_1_3(required(name, value)?)?,
            "ssl_keyformat" => only_pem(required(name, value)?)?,
            _ => return Err(format!("illegal sub-option '{name}' of -o")),
        }
        Ok(())
    }
}

fn check(name: &str, value: Option<&str>, kind: Value) -> Result<(), String> {
    match kind {
        Value::None | Value::Optional => Ok(()),
        Value::Number => number::<u64>(name, value).map(drop),
        Value::Text => required(name, value).map(drop),
    }
}

fn required<'a>(name: &str, value: Option<&'a str>) -> Result<&'a str, String> {
    value
        .filter(|value| !value.is_empty())
        .ok_or_else(|| format!("-o {name} needs a value"))
}

fn number<N: TryFrom<u64>>(name: &str, value: Option<&str>) -> Result<N, String> {
    let value = required(name, value)?;
    let number = sizes::number(value)
        .ok()
        .and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| format!("-o {name}={value}: not a number, or too large"))
}

/// memcached's limits are 12 and 32.
fn hash_power(power: u32) -> Result<u32, String> {
    match power {
        0 | 12..=32 => Ok(power),
        _ => Err(format!("-o hashpower={power}: not between 12 and 32")),
    }
}

fn hash_algorithm(name: &str) -> Result<String, String> {
    match name {
        "jenkins" | "murmur3" | "xxh3" => Ok(name.to_owned()),
        _ => Err(format!(
            "-o hash_algorithm={name}: not one of jenkins, murmur3, xxh3"
        )),
    }
}

fn verify_mode(mode: u32) -> Result<ClientCertificates, String> {
    match mode {
        0 => Ok(ClientCertificates::None),
        1 => Ok(ClientCertificates::Request),
        2 | 3 => Ok(ClientCertificates::Require),
        _ => Err(format!("-o ssl_verify_mode={mode}: not one of 0, 1, 2, 3")),
    }
}

fn is_only_1_3(version: &str) -> Result<bool, String> {
    match version {
        "2" | "tlsv1.2" => Ok(false),
        "3" | "tlsv1.3" => Ok(true),
        "0" | "1" | "tlsv1.0" | "tlsv1.1" => Err(format!(
            "-o ssl_min_version={version}: TLS below 1.2 is not supported"
        )),
        _ => Err(format!(
            "-o ssl_min_version={version}: not a version of TLS"
        )),
    }
}

fn only_pem(format: &str) -> Result<(), String> {
    match format {
        "PEM" | "1" => Ok(()),
        _ => Err(format!("-o ssl_keyformat={format}: only PEM is supported")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(list: &str) -> Result<(Extended, Settings), String> {
        let (mut extended, mut settings) = (Extended::default(), Settings::default());
        extended.apply(list, &mut settings)?;
        Ok((extended, settings))
    }

    #[test]
    fn known_ones_are_obeyed() {
        let (extended, settings) =
            apply("no_maxconns_fast,idle_timeout=10,ssl_chain_cert=/c.pem,ext_path=/f:1g")
                .expect("known");
        assert!(!settings.connections_refused_fast);
        assert_eq!(settings.devices.len(), 1);
        assert_eq!(settings.idle_timeout_seconds, 10);
        assert_eq!(extended.tls.chain_cert, PathBuf::from("/c.pem"));
        assert!(extended.not_applicable.is_empty());
    }

    #[test]
    fn those_without_meaning_are_reported() {
        let (extended, _) = apply("slab_automove,lru_crawler_sleep=1,hashpower=20").expect("known");
        let expected = ["-o slab_automove", "-o lru_crawler_sleep", "-o hashpower"];
        assert_eq!(extended.not_applicable, expected);
    }

    #[test]
    fn unknown_and_malformed_ones_are_refused() {
        for list in [
            "foo",
            "ssl_foo=1",
            "idle_timeout",
            "idle_timeout=",
            "idle_timeout=x",
            "hashpower=99",
            "ssl_min_version=tlsv1.1",
            "ssl_keyformat=DER",
            "hash_algorithm=md5",
            "maxconns_fast,foo",
            "lru_crawler_sleep",
            "ext_path",
            "ext_path=/f",
        ] {
            assert!(apply(list).is_err(), "{list}");
        }
    }

    #[test]
    fn every_one_stands_in_the_document() {
        let document = include_str!("../../../../docs/options.md");
        for (name, _) in NOT_APPLICABLE {
            assert!(document.contains(&format!("`{name}`")), "{name} is missing");
        }
    }

    #[test]
    fn the_table_is_sorted_and_free_of_doubles() {
        assert!(NOT_APPLICABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
