//! The language of options, as libmemcached reads it: words, numbers, and what is known by a name.

use farcache_client::Transport;
use farcache_libmemcached_abi::{Behavior, DEFAULT_PORT, Distribution, HashAlgorithm};
use std::ffi::CString;

/// Options that are switched on by being there.
pub(crate) const SWITCHES: &[(&str, Behavior)] = &[
    ("BINARY-PROTOCOL", Behavior::BINARY_PROTOCOL),
    ("BUFFER-REQUESTS", Behavior::BUFFER_REQUESTS),
    ("HASH-WITH-NAMESPACE", Behavior::HASH_WITH_PREFIX_KEY),
    ("META-PROTOCOL", Behavior::META_PROTOCOL),
    ("NOREPLY", Behavior::NOREPLY),
    ("RANDOMIZE-REPLICA-READ", Behavior::RANDOMIZE_REPLICA_READ),
    ("SORT-HOSTS", Behavior::SORT_HOSTS),
    ("SUPPORT-CAS", Behavior::SUPPORT_CAS),
    ("TCP-KEEPALIVE", Behavior::TCP_KEEPALIVE),
    ("TCP-KEEPIDLE", Behavior::TCP_KEEPIDLE),
    ("TCP-NODELAY", Behavior::TCP_NODELAY),
    ("USE-UDP", Behavior::USE_UDP),
    ("VERIFY-KEY", Behavior::VERIFY_KEY),
];

/// Options with a number.
pub(crate) const NUMBERS: &[(&str, Behavior)] = &[
    ("CONNECT-TIMEOUT", Behavior::CONNECT_TIMEOUT),
    ("IO-BYTES-WATERMARK", Behavior::IO_BYTES_WATERMARK),
    ("IO-KEY-PREFETCH", Behavior::IO_KEY_PREFETCH),
    ("IO-MSG-WATERMARK", Behavior::IO_MSG_WATERMARK),
    ("NUMBER-OF-REPLICAS", Behavior::NUMBER_OF_REPLICAS),
    ("POLL-TIMEOUT", Behavior::POLL_TIMEOUT),
    ("RCV-TIMEOUT", Behavior::RCV_TIMEOUT),
    ("REMOVE-FAILED-SERVERS", Behavior::REMOVE_FAILED_SERVERS),
    ("RETRY-TIMEOUT", Behavior::RETRY_TIMEOUT),
    ("SND-TIMEOUT", Behavior::SND_TIMEOUT),
    ("SOCKET-RECV-SIZE", Behavior::SOCKET_RECV_SIZE),
    ("SOCKET-SEND-SIZE", Behavior::SOCKET_SEND_SIZE),
];

/// Hash functions that a text may name: MurmurHash3 and the default are not among libmemcached's.
pub(crate) const HASHES: &[(&str, HashAlgorithm)] = &[
    ("MD5", HashAlgorithm::MD5),
    ("CRC", HashAlgorithm::CRC),
    ("FNV1_64", HashAlgorithm::FNV1_64),
    ("FNV1A_64", HashAlgorithm::FNV1A_64),
    ("FNV1_32", HashAlgorithm::FNV1_32),
    ("FNV1A_32", HashAlgorithm::FNV1A_32),
    ("HSIEH", HashAlgorithm::HSIEH),
    ("MURMUR", HashAlgorithm::MURMUR),
    ("JENKINS", HashAlgorithm::JENKINS),
];

pub(crate) const DISTRIBUTIONS: &[(&str, Distribution)] = &[
    ("CONSISTENT", Distribution::CONSISTENT),
    ("MODULA", Distribution::MODULA),
    ("RANDOM", Distribution::RANDOM),
];

pub(crate) const TRANSPORTS: &[(&str, Transport)] = &[
    ("auto", Transport::Auto),
    ("off", Transport::Tcp),
    ("require", Transport::Fabric),
];

/// Who moves non-blocking operations on, and whether that is a thread.
pub(crate) const MOVERS: &[(&str, bool)] = &[("caller", false), ("thread", true)];

pub(crate) fn named<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let is_it = |(known, _): &&(&str, T)| known.eq_ignore_ascii_case(name);
    table.iter().find(is_it).map(|(_, value)| *value)
}

/// Why a text cannot be read.
pub(crate) type Fault = String;

/// The statements of a text, which stand between single spaces. Tabulators and ends of lines do not
/// count.
pub(crate) fn statements(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '\t' | '\r' | '\n' if !is_quoted => continue,
            ' ' if !is_quoted => {
                found.push(String::new());
                continue;
            }
            '"' => is_quoted = !is_quoted,
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(character);
        }
    }
    found
}

/// A string of an option: in quotes, or of at least three letters, digits, dots, underlines and
/// hyphens.
pub(crate) fn string(text: &str) -> Result<&str, Fault> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted
            .strip_suffix('"')
            .ok_or_else(|| "a quote is missing".to_owned());
    }
    word(text).ok_or_else(|| format!("Error occured while parsing ({text})"))
}

/// A word as libmemcached reads it, which names hosts as well.
pub(crate) fn word(text: &str) -> Option<&str> {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let (first, last) = (text.bytes().next()?, text.bytes().next_back()?);
    let fits = text.len() >= 3
        && first.is_ascii_alphanumeric()
        && last.is_ascii_alphanumeric()
        && text.bytes().all(is_inner);
    fits.then_some(text)
}

/// What C's `atoi` makes of digits; `None` of anything else.
pub(crate) fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
}

/// Takes `/?weight` off the end.
pub(crate) fn split_weight(text: &str) -> Result<(&str, u32), Fault> {
    match text.split_once("/?") {
        None => Ok((text, 1)),
        Some((rest, weight)) => {
            let fits = number(weight).filter(|_| weight.len() <= 5);
            let weight = fits.ok_or_else(|| format!("Error occured while parsing ({weight})"))?;
            Ok((rest, weight as u32))
        }
    }
}

/// Takes `:port` off the end.
pub(crate) fn split_port(text: &str) -> Result<(&str, u16), Fault> {
    match text.split_once(':') {
        None => Ok((text, DEFAULT_PORT)),
        Some((host, port)) => {
            let fits = number(port).filter(|_| port.len() <= 5);
            let port = fits.ok_or_else(|| format!("Error occured while parsing ({port})"))?;
            Ok((host, port as u16))
        }
    }
}

pub(crate) fn c_string(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| "a zero byte".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stand_between_spaces_outside_of_quotes() {
        let found = statements("--SERVER=a\t --NAMESPACE=\"b c\"\n");
        assert_eq!(found, ["--SERVER=a", "--NAMESPACE=\"b c\""]);
        assert_eq!(statements("a  b"), ["a", "", "b"]);
    }

    #[test]
    fn a_string_is_quoted_or_a_word_of_three_letters() {
        assert_eq!(string("\"a b\""), Ok("a b"));
        assert!(string("\"a").is_err());
        assert_eq!(string("a.b-c_1"), Ok("a.b-c_1"));
        for wrong in ["ab", "", ".abc", "abc-", "a b c"] {
            assert!(string(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ports_and_weights_are_taken_off_the_end() {
        assert_eq!(split_weight("host:1/?9"), Ok(("host:1", 9)));
        assert_eq!(split_weight("host:1"), Ok(("host:1", 1)));
        assert!(split_weight("host/?123456").is_err() && split_weight("host/?x").is_err());
        assert_eq!(split_port("host:11"), Ok(("host", 11)));
        assert_eq!(split_port("host"), Ok(("host", DEFAULT_PORT)));
        assert!(split_port("host:").is_err() && split_port("host:123456").is_err());
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(named(TRANSPORTS, "OFF"), Some(Transport::Tcp));
        assert_eq!(named(DISTRIBUTIONS, "Modula"), Some(Distribution::MODULA));
        assert_eq!(named(HASHES, "md"), None);
        assert_eq!(number("070"), Some(70));
        assert_eq!(number("99999999999999999999"), Some(u64::MAX));
        assert_eq!((number(""), number("-1")), (None, None));
    }
}
