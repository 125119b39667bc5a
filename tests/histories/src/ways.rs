//! How clients reach servers, and who makes parts of values.

use std::fmt;
use std::str::FromStr;

/// What carries requests between clients and servers. Servers reach one another by sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Sockets.
    Tcp,
    /// The fabric by shared memory, for which all must be on one host: UCX wakes sleepers by
    /// sockets that do not reach from one network namespace into another one.
    Fabric,
    /// The fabric by UCX's TCP, which cuts reach.
    FabricTcp,
}

impl Network {
    /// Each with its name on the command line.
    const NAMES: [(Network, &'static str); 3] = [
        (Network::Tcp, "tcp"),
        (Network::Fabric, "fabric"),
        (Network::FabricTcp, "fabric-tcp"),
    ];

    /// As the client's configuration has it.
    #[must_use]
    pub fn transport(self) -> &'static str {
        match self {
            Network::Tcp => "tcp",
            Network::Fabric | Network::FabricTcp => "fabric",
        }
    }

    /// What processes find in their environment.
    #[must_use]
    pub fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Network::Tcp => &[],
            Network::Fabric => &[QUIET],
            Network::FabricTcp => &[QUIET, ("UCX_TLS", "tcp,self")],
        }
    }

    /// Whether hosts that use it can be cut from one another.
    #[must_use]
    pub fn can_be_cut(self) -> bool {
        self != Network::Fabric
    }

    /// Options of servers.
    #[must_use]
    pub fn server_options(self) -> &'static [&'static str] {
        match self {
            Network::Tcp => &["--fabric", "off"],
            Network::Fabric | Network::FabricTcp => &[],
        }
    }
}

/// UCX tells of each server that dies, on standard output, where clients tell their histories.
const QUIET: (&str, &str) = ("UCX_LOG_LEVEL", "fatal");

/// Who makes parts of values, and who puts them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The client does both.
    CeCd,
    /// A server makes them, the client puts them together.
    SeCd,
    /// The client makes them, a server puts them together.
    CeSd,
    /// A server does both.
    SeSd,
}

impl Placement {
    /// Each with its name on the command line.
    const NAMES: [(Placement, &'static str); 4] = [
        (Placement::CeCd, "ce-cd"),
        (Placement::SeCd, "se-cd"),
        (Placement::CeSd, "ce-sd"),
        (Placement::SeSd, "se-sd"),
    ];

    /// As a policy has it, behind its rules.
    #[must_use]
    pub fn settings(self) -> &'static str {
        match self {
            Placement::CeCd => "",
            Placement::SeCd => ";encode=server",
            Placement::CeSd => ";decode=server",
            Placement::SeSd => ";encode=server;decode=server",
        }
    }
}

fn find<T: Copy>(names: &[(T, &str)], text: &str) -> Result<T, String> {
    let found = names.iter().find(|(_, name)| *name == text);
    let known = || names.iter().map(|(_, name)| *name).collect::<Vec<_>>();
    found
        .map(|(one, _)| *one)
        .ok_or_else(|| format!("{text}: one of {}", known().join(", ")))
}

fn name<T: PartialEq>(names: &[(T, &'static str)], one: &T) -> &'static str {
    let found = names.iter().find(|(other, _)| other == one);
    found.map_or("", |(_, name)| name)
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        find(&Network::NAMES, text)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(name(&Network::NAMES, self))
    }
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> Result<Placement, String> {
        find(&Placement::NAMES, text)
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(name(&Placement::NAMES, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (network, name) in Network::NAMES {
            assert_eq!(name.parse(), Ok(network));
            assert_eq!(network.to_string(), name);
        }
        for (placement, name) in Placement::NAMES {
            assert_eq!(name.parse(), Ok(placement));
            assert_eq!(placement.to_string(), name);
        }
        let error = "udp".parse::<Network>().expect_err("no such network");
        assert_eq!(error, "udp: one of tcp, fabric, fabric-tcp");
    }
}
