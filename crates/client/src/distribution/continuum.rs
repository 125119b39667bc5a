//! The ring of a ketama distribution.
//!
//! Source: Richard Jones, "libketama: Consistent Hashing library for memcached clients" (2007), and libmemcached's
//! behaviour where that leaves a choice.

use super::{DEFAULT_PORT, Distribution, PlacementSettings, Server};
use crate::hash::md5_words;

/// Points of each server on an unweighted ring (`MEMCACHED_POINTS_PER_SERVER`), each from a name of its own.
const POINTS_PER_SERVER: u32 = 100;
/// Points of each server on average on a weighted ring (`MEMCACHED_POINTS_PER_SERVER_KETAMA`).
const WEIGHTED_POINTS_PER_SERVER: f32 = 160.0;
/// Points that the MD5 of one name gives on a weighted ring.
const POINTS_PER_NAME: f32 = 4.0;

/// Ordered by value; among equal values the first server of the list comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    value: u32,
    server: usize,
}

/// The points of all servers that are up, in ascending order, at least one.
#[derive(Clone, Debug)]
pub(super) struct Continuum {
    points: Vec<Point>,
}

impl Continuum {
    /// The ring of those servers whose indices are in `up`, at least one.
    pub(super) fn new(settings: &PlacementSettings, servers: &[Server], up: &[usize]) -> Self {
        let mut points = match settings.distribution {
            Distribution::KetamaWeighted | Distribution::KetamaSpyWeighted => {
                weighted_points(settings.distribution, servers, up)
            }
            _ => equal_points(settings, servers, up),
        };
        points.sort_unstable();
        Self { points }
    }

    /// How many points there are.
    pub(super) fn points(&self) -> usize {
        self.points.len()
    }

    /// The server of the first point at or after the hash, around the ring's end if need be.
    pub(super) fn server_of_hash(&self, hash: u32) -> usize {
        let index = self.points.partition_point(|point| point.value < hash);
        self.points[index % self.points.len()].server
    }
}

fn equal_points(settings: &PlacementSettings, servers: &[Server], up: &[usize]) -> Vec<Point> {
    let points_of = |&server: &usize| {
        (0..POINTS_PER_SERVER).map(move |number| {
            let name = point_name(settings.distribution, &servers[server], number);
            let value = settings.key_hash.digest(name.as_bytes());
            Point { value, server }
        })
    };
    up.iter().flat_map(points_of).collect()
}

fn weighted_points(distribution: Distribution, servers: &[Server], up: &[usize]) -> Vec<Point> {
    let weight_total = up
        .iter()
        .map(|&server| u64::from(servers[server].weight()))
        .sum();
    let points_of = |&server: &usize| {
        let names = weighted_names(servers[server].weight(), weight_total, up.len());
        let name = move |number| point_name(distribution, &servers[server], number);
        let values = (0..names).flat_map(move |number| md5_words(name(number).as_bytes()));
        values.map(move |value| Point { value, server })
    };
    up.iter().flat_map(points_of).collect()
}

/// How many names of this weight go on the ring. Single precision and the order of the operations decide where the
/// result is cut off: with equal weights some numbers of servers give 39 names instead of 40.
fn weighted_names(weight: u32, weight_total: u64, servers_up: usize) -> u32 {
    let share = weight as f32 / weight_total as f32;
    let names = share * WEIGHTED_POINTS_PER_SERVER / POINTS_PER_NAME * servers_up as f32;
    // The summand is libmemcached's; in single precision it changes nothing but a result of nearly zero.
    (names + 1e-10).floor() as u32
}

fn point_name(distribution: Distribution, server: &Server, number: u32) -> String {
    let (host, port) = (server.host(), server.port());
    match distribution {
        Distribution::KetamaSpy | Distribution::KetamaSpyWeighted => {
            format!("/{host}:{port}-{number}")
        }
        _ if port == DEFAULT_PORT => format!("{host}-{number}"),
        _ => format!("{host}:{port}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(port: u16) -> Server {
        Server::new("cache.example", port)
    }

    #[test]
    fn the_default_port_is_not_part_of_a_name() {
        let name = |distribution, port| point_name(distribution, &server(port), 7);
        assert_eq!(name(Distribution::Ketama, 11211), "cache.example-7");
        assert_eq!(name(Distribution::Ketama, 11212), "cache.example:11212-7");
        assert_eq!(name(Distribution::KetamaWeighted, 11211), "cache.example-7");
        assert_eq!(
            name(Distribution::KetamaSpy, 11211),
            "/cache.example:11211-7"
        );
    }

    #[test]
    fn weights_share_out_the_names() {
        assert_eq!(weighted_names(1, 1, 1), 40);
        assert_eq!(weighted_names(1, 4, 2), 20);
        assert_eq!(weighted_names(3, 4, 2), 60);
        assert_eq!(weighted_names(1, 1_000_000, 2), 0);
        assert_eq!(weighted_names(1, 25, 25), 39);
    }

    #[test]
    fn a_hash_belongs_to_the_next_point_around_the_end() {
        let point = |value, server| Point { value, server };
        let ring = Continuum {
            points: vec![point(10, 1), point(20, 0), point(20, 2), point(30, 2)],
        };
        let owner_of = [
            (0, 1),
            (10, 1),
            (11, 0),
            (20, 0),
            (21, 2),
            (30, 2),
            (31, 1),
            (u32::MAX, 1),
        ];
        for (hash, owner) in owner_of {
            assert_eq!(ring.server_of_hash(hash), owner, "{hash}");
        }
    }
}
