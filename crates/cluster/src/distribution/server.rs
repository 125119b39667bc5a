//! A server of the list.

use crate::address::{Address, InvalidAddress};
use std::fmt;
use std::str::FromStr;

/// Address and weight of a server. The host's spelling decides on a ketama ring: `localhost` and
/// `127.0.0.1` have different keys.
///
/// Read as an [`Address`], with a weight after it as libmemcached writes it: `host:port/?3`.
/// Written without the weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    address: Address,
    weight: u32,
}

impl Server {
    /// A server of weight 1 at this host name or address. Other than in libmemcached's own
    /// functions, port 0 does not stand for the default port.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        let host = host.into();
        Self::at(Address { host, port })
    }

    /// A server of weight 1 at this address.
    #[must_use]
    pub fn at(address: Address) -> Self {
        Self { address, weight: 1 }
    }

    /// A server of weight 1 at this unix socket; as `memcached_server_add_unix_socket` does, its
    /// port counts as 0.
    #[must_use]
    pub fn unix_socket(path: impl Into<String>) -> Self {
        Self::new(path, 0)
    }

    /// This server with another weight; as in libmemcached, 0 means 1.
    #[must_use]
    pub fn with_weight(self, weight: u32) -> Self {
        let weight = weight.max(1);
        Self { weight, ..self }
    }

    /// Where it is reached. Addresses are ordered as libmemcached sorts servers: by the host's
    /// bytes, then the port.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The host name or address, or the path of a unix socket.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.address.host
    }

    /// The port; 0 with a unix socket.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port
    }

    /// The share of the keys that this server gets where weights count, at least 1.
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(formatter)
    }
}

impl FromStr for Server {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let (address, weight) = match text.split_once("/?") {
            Some((address, weight)) => (address, weight.parse().map_err(|_| InvalidAddress)?),
            None => (text, 1),
        };
        Ok(Self::at(address.parse()?).with_weight(weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_may_follow_the_address() {
        let heavy = Server::new("a", 1).with_weight(3);
        assert_eq!("a:1/?3".parse(), Ok(heavy.clone()));
        assert_eq!(heavy.to_string(), "a:1");
        assert_eq!("a:1/?b".parse::<Server>(), Err(InvalidAddress));
    }

    #[test]
    fn a_weight_of_zero_means_one() {
        assert_eq!(Server::new("a", 1).with_weight(0), Server::new("a", 1));
        assert_eq!(Server::new("a", 1).with_weight(7).weight(), 7);
    }
}
