//! Where the server listens: ports that depend on one another, and addresses.

use super::Options;
use super::refusal::Refusal;
use super::sizes::Port;
use crate::net::listen::Place;
use crate::settings::Settings;

/// The number to listen at, where 0 is a free one. Like memcached: with a UDP port and no TCP
/// port, TCP listens at the same number, or at a free one as well.
pub(super) fn tcp_port(options: &Options) -> u16 {
    let given = options
        .port
        .or(options.udp_port.filter(|port| *port != Port::Zero));
    match given {
        Some(Port::At(port)) => port,
        Some(Port::Zero | Port::Free) => 0,
        None => Settings::default().tcp_port,
    }
}

/// The number for UDP, where 0 is a free one.
pub(super) fn udp_port(options: &Options) -> u16 {
    match options.udp_port {
        Some(Port::At(port)) => port,
        _ => 0,
    }
}

/// Whether there is TCP.
pub(super) fn serves_tcp(options: &Options) -> bool {
    options.unix_socket.is_none() && options.port != Some(Port::Zero)
}

/// Whether there is UDP.
pub(super) fn serves_udp(options: &Options) -> bool {
    options.unix_socket.is_none() && asks_for_udp(options)
}

/// Whether UDP is asked for, which a unix socket turns off.
pub(super) fn asks_for_udp(options: &Options) -> bool {
    options.udp_port.is_some_and(|port| port != Port::Zero)
}

/// The places of `-l`.
pub(super) fn places(options: &Options) -> Result<Vec<Place>, Refusal> {
    options
        .listen
        .iter()
        .flat_map(|list| list.split([',', ';']))
        .map(|text| Place::parse(text).map_err(|error| Refusal::bad_value(format!("-l: {error}"))))
        .collect()
}
