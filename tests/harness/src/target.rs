//! Where the server is, and how to connect to it.

use rustix::fd::OwnedFd;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// TCP.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl Target {
    /// Connects, without delaying small writes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn connect(&self) -> io::Result<OwnedFd> {
        let connected = match self {
            Target::Tcp(address) => TcpStream::connect(address).and_then(|stream| {
                stream.set_nodelay(true)?;
                Ok(stream.into())
            }),
            Target::Unix(path) => UnixStream::connect(path).map(OwnedFd::from),
        };
        connected.map_err(|error| {
            let message =
                format!("cannot connect to {self}: {error}; is a server running there? (--server)");
            io::Error::new(error.kind(), message)
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Tcp(address) => address.fmt(out),
            Target::Unix(path) => path.display().fmt(out),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    /// A path (anything with a `/`) or `host:port`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Ok(Target::Unix(text.into()));
        }
        let mut addresses = text
            .to_socket_addrs()
            .map_err(|error| format!("{text}: {error}"))?;
        addresses
            .next()
            .map(Target::Tcp)
            .ok_or_else(|| format!("{text}: no address"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses_are_told_apart() {
        assert_eq!("./socket".parse(), Ok(Target::Unix("./socket".into())));
        let address = SocketAddr::from(([127, 0, 0, 1], 11211));
        assert_eq!("127.0.0.1:11211".parse(), Ok(Target::Tcp(address)));
        assert!("127.0.0.1".parse::<Target>().is_err());
    }

    #[test]
    fn who_cannot_connect_hears_where() {
        let target = Target::Unix("/nowhere/socket".into());
        let error = target.connect().expect_err("nobody listens").to_string();
        assert!(
            error.starts_with("cannot connect to /nowhere/socket: "),
            "{error}"
        );
    }
}
