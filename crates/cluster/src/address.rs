//! Where a server is reached.

use core::net::Ipv6Addr;
use std::fmt;
use std::str::FromStr;

/// memcached's port. A server on it takes part in a ketama ring by its host name alone.
pub const DEFAULT_PORT: u16 = 11211;

/// A host name or address with a port, or the path of a unix socket with port 0.
///
/// Written and read as `host:port`, `[IPv6]:port` or `/path`; where the port is left out it is
/// [`DEFAULT_PORT`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The host name or address, or the path of a unix socket.
    pub host: String,
    /// The port; 0 with a unix socket.
    pub port: u16,
}

/// What was read is not the address of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidAddress;

impl fmt::Display for InvalidAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an address is host:port, [IPv6]:port or the path of a unix socket")
    }
}

impl std::error::Error for InvalidAddress {}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port } = self;
        match host {
            path if path.starts_with('/') => formatter.write_str(path),
            address if address.contains(':') => write!(formatter, "[{address}]:{port}"),
            name => write!(formatter, "{name}:{port}"),
        }
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        if text.starts_with('/') {
            let host = text.to_owned();
            return Ok(Address { host, port: 0 });
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => rest
                .split_once(']')
                .filter(|(host, _)| is_ipv6(host))
                .ok_or(InvalidAddress)?,
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| InvalidAddress)?,
            None if port.is_empty() => DEFAULT_PORT,
            None => return Err(InvalidAddress),
        };
        if host.is_empty() {
            return Err(InvalidAddress);
        }
        let host = host.to_owned();
        Ok(Address { host, port })
    }
}

/// Whether this is an address as RFC 4291 writes it, with or without the zone of RFC 4007
/// (`fe80::1%eth0`). Nothing else stands in brackets: `[/path]:1` would be written as a path.
fn is_ipv6(host: &str) -> bool {
    let (address, _zone) = host.split_once('%').unwrap_or((host, ""));
    address.parse::<Ipv6Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_it_is_read() {
        for text in ["a:1", "[::1]:2", "[fe80::1%eth0]:3", "/run/socket"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_default_port_may_be_left_out() {
        for (text, written) in [("a", "a:11211"), ("[::1]", "[::1]:11211")] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), written);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "a:b",
            "a:70000",
            ":1",
            "[]:1",
            "[::1",
            "[::1]x",
            "a:1:2",
            "[a]:1",
            "[[x]:1",
            "[/f)d00::1]",
            "[::1/x]:1",
            "[%:]:1",
        ] {
            assert_eq!(text.parse::<Address>(), Err(InvalidAddress), "{text}");
        }
    }
}
