//! Values of options: numbers with suffixes, ports, masks.

use farcache_session::Protocol;
use farcache_store::Durability;
use std::net::SocketAddr;

/// A port as given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// 0.
    Zero,
    /// -1: a free port.
    Free,
    /// This port.
    At(u16),
}

/// A number of bytes with an optional suffix k, m, g or t, in powers of 1024.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    scaled(text, 0)
}

/// As [`bytes`], but a number without a suffix counts megabytes.
pub(super) fn megabytes(text: &str) -> Result<u64, String> {
    scaled(text, 20)
}

fn scaled(text: &str, shift_without_suffix: u32) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        Some(b't' | b'T') => (&text[..text.len() - 1], 40),
        _ => (text, shift_without_suffix),
    };
    let number = number(digits).map_err(|error| match meant(text) {
        Some(meant) => format!("{error}; did you mean {meant}?"),
        None => error,
    })?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "too large a number".to_owned())
}

/// What a size with a longer suffix probably means: `64mb`, `64MiB` and `64 M` are 64m.
fn meant(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    let suffix = suffix.trim().to_ascii_lowercase();
    let unit = suffix.chars().next()?;
    let is_meant = ["", "b", "ib"].contains(&suffix.get(1..)?);
    (digits > 0 && is_meant && "kmgt".contains(unit)).then(|| format!("{number}{unit}"))
}

/// The address and the port of an endpoint.
pub(super) fn endpoint(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    text.parse().map_err(|_| match port.parse::<u16>() {
        Ok(port) => format!("an address is missing; did you mean 127.0.0.1:{port}?"),
        Err(_) => "not an address and a port, such as 127.0.0.1:9150 or [::]:9150".to_owned(),
    })
}

/// A number that consists of digits alone.
pub(super) fn number(digits: &str) -> Result<u64, String> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a number, optionally with a suffix k, m, g or t".to_owned());
    }
    digits.parse().map_err(|_| "too large a number".to_owned())
}

/// A port's number, or -1.
pub(super) fn port(text: &str) -> Result<Port, String> {
    match (text, text.parse()) {
        ("-1", _) => Ok(Port::Free),
        (_, Ok(0)) => Ok(Port::Zero),
        (_, Ok(port)) => Ok(Port::At(port)),
        (_, Err(_)) => Err("not a port number (0 to 65535, or -1)".to_owned()),
    }
}

/// Access rights in octal.
pub(super) fn octal_mask(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mask) if mask <= 0o777 => Ok(mask),
        _ => Err("not an octal number up to 777".to_owned()),
    }
}

/// One ASCII character.
pub(super) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("not a single ASCII character".to_owned()),
    }
}

/// A protocol's name.
pub(super) fn protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "auto" => Ok(Protocol::Auto),
        "ascii" => Ok(Protocol::Ascii),
        "binary" => Ok(Protocol::Binary),
        _ => Err("not one of auto, binary, or ascii".to_owned()),
    }
}

/// When a store operation may be answered.
pub(super) fn durability(text: &str) -> Result<Durability, String> {
    match text {
        "cache" => Ok(Durability::Cache),
        "writeback" => Ok(Durability::Writeback),
        "sync" => Ok(Durability::Sync),
        _ => Err("not one of cache, writeback, or sync".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_multiply() {
        assert_eq!(bytes("1024"), Ok(1024));
        assert_eq!(bytes("16k"), Ok(16 << 10));
        assert_eq!(bytes("2M"), Ok(2 << 20));
        assert_eq!(megabytes("64"), Ok(64 << 20));
        assert_eq!(megabytes("2g"), Ok(2 << 30));
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for text in [
            "",
            "k",
            "1kb",
            "-1",
            "+1",
            "1.5m",
            " 1",
            "0x10",
            "99999999999999999999",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(megabytes("18446744073709551615").is_err());
    }

    #[test]
    fn what_was_meant_is_said() {
        for (text, meant) in [
            ("64mb", "64m"),
            ("64MiB", "64m"),
            ("2 GB", "2g"),
            ("1kb", "1k"),
        ] {
            let error = megabytes(text).expect_err("refused");
            assert!(
                error.ends_with(&format!("did you mean {meant}?")),
                "{error}"
            );
        }
        for text in ["mb", "64q", "64mm", "1.5m"] {
            let error = bytes(text).expect_err("refused");
            assert!(!error.contains("did you mean"), "{error}");
        }
    }

    #[test]
    fn an_endpoint_has_an_address_and_a_port() {
        assert!(endpoint("127.0.0.1:9150").is_ok() && endpoint("[::1]:0").is_ok());
        for text in ["9150", ":9150"] {
            let error = endpoint(text).expect_err("refused");
            assert!(error.ends_with("did you mean 127.0.0.1:9150?"), "{error}");
        }
        let error = endpoint("localhost").expect_err("refused");
        assert!(error.contains("such as 127.0.0.1:9150"), "{error}");
    }

    #[test]
    fn ports_may_be_left_to_the_system() {
        assert_eq!(port("-1"), Ok(Port::Free));
        assert_eq!(port("0"), Ok(Port::Zero));
        assert_eq!(port("11211"), Ok(Port::At(11211)));
        assert!(port("65536").is_err());
        assert!(port("-2").is_err());
    }

    #[test]
    fn masks_are_octal() {
        assert_eq!(octal_mask("0700"), Ok(0o700));
        assert!(octal_mask("888").is_err());
        assert!(octal_mask("1000").is_err());
    }
}
