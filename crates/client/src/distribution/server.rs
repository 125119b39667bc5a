//! A server of the list.

use std::cmp::Ordering;
use std::fmt;

/// memcached's port. A server on it takes part in a ketama ring by its host name alone.
pub const DEFAULT_PORT: u16 = 11211;

/// Address and weight of a server. The host's spelling decides on a ketama ring: `localhost` and `127.0.0.1` have
/// different keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    host: String,
    port: u16,
    weight: u32,
}

impl Server {
    /// A server of weight 1 at this host name or address. Other than in libmemcached's own functions, port 0 does not
    /// stand for the default port.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        let host = host.into();
        Self {
            host,
            port,
            weight: 1,
        }
    }

    /// A server of weight 1 at this unix socket; as `memcached_server_add_unix_socket` does, its port counts as 0.
    #[must_use]
    pub fn unix_socket(path: impl Into<String>) -> Self {
        Self::new(path, 0)
    }

    /// The same server with another weight; as in libmemcached, 0 means 1.
    #[must_use]
    pub fn with_weight(self, weight: u32) -> Self {
        let weight = weight.max(1);
        Self { weight, ..self }
    }

    /// The host name or address, or the path of a unix socket.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port; 0 with a unix socket.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The share of the keys that this server gets where weights count, at least 1.
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// By the host's bytes, then the port.
    pub(super) fn compare_addresses(&self, other: &Self) -> Ordering {
        (&self.host, self.port).cmp(&(&other.host, other.port))
    }
}

/// As [`parse_servers`](crate::parse_servers) reads it, without the weight.
impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Server { host, port, .. } = self;
        match host {
            path if path.starts_with('/') => formatter.write_str(path),
            address if address.contains(':') => write!(formatter, "[{address}]:{port}"),
            name => write!(formatter, "{name}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_written_as_it_is_read() {
        for text in ["a:1", "[::1]:2", "/run/socket"] {
            assert_eq!(crate::parse_servers(text).unwrap()[0].to_string(), text);
        }
    }

    #[test]
    fn a_weight_of_zero_means_one() {
        assert_eq!(Server::new("a", 1).with_weight(0), Server::new("a", 1));
        assert_eq!(Server::new("a", 1).with_weight(7).weight(), 7);
    }
}
