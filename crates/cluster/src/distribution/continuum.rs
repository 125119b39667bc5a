//! The ring of a ketama distribution.
//!
//! Source: Richard Jones, "libketama: Consistent Hashing library for memcached clients" (2007), and
//! libmemcached's behaviour where that leaves a choice.

use super::{DEFAULT_PORT, Distribution, PlacementSettings, Server};
use crate::ServerId;
use crate::hash::md5_words;

/// Points of each server on an unweighted ring (`MEMCACHED_POINTS_PER_SERVER`), each from a name of
/// its own.
const POINTS_PER_SERVER: usize = 100;
/// Points of each server on average on a weighted ring (`MEMCACHED_POINTS_PER_SERVER_KETAMA`).
const WEIGHTED_POINTS_PER_SERVER: f32 = 160.0;
/// Points that the MD5 of one name gives on a weighted ring.
const POINTS_PER_NAME: f32 = 4.0;

/// Ordered by value; among equal values the server with the lowest name, in a list its first one,
/// comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    value: u32,
    server: ServerId,
}

/// The points of all servers that are up, in ascending order, at least one.
#[derive(Clone, Debug)]
pub(crate) struct Continuum {
    points: Vec<Point>,
    /// How many servers have a point.
    servers: usize,
}

impl Continuum {
    /// The ring of the servers that are up; `None` where not one of them has a point.
    pub(crate) fn new(settings: &PlacementSettings, up: &[(ServerId, &Server)]) -> Option<Self> {
        let mut points = match settings.distribution {
            Distribution::KetamaWeighted | Distribution::KetamaSpyWeighted => {
                weighted_points(settings.distribution, up)
            }
            _ => equal_points(settings, up),
        };
        let mut names: Vec<ServerId> = points.iter().map(|point| point.server).collect();
        names.dedup();
        points.sort_unstable();
        (!points.is_empty()).then_some(Self {
            points,
            servers: names.len(),
        })
    }

    /// How many points there are.
    pub(crate) fn points(&self) -> usize {
        self.points.len()
    }

    /// How many servers have a point.
    pub(crate) fn servers(&self) -> usize {
        self.servers
    }

    /// The server of the first point at or after the hash, around the ring's end if need be.
    #[inline]
    pub(crate) fn owner(&self, hash: u32) -> ServerId {
        self.points[self.first_point(hash) % self.points.len()].server
    }

    /// The owner of a hash with the highest hash up to which it owns all, or does up to the ring's
    /// end.
    pub(crate) fn stretch(&self, hash: u32) -> (ServerId, u32) {
        match self.points.get(self.first_point(hash)) {
            Some(point) => (point.server, point.value),
            None => (self.points[0].server, u32::MAX),
        }
    }

    /// The servers of all points in the ring's order, from the owner's on, once around.
    pub(crate) fn walk(&self, hash: u32) -> impl Iterator<Item = ServerId> {
        let (before, after) = self.points.split_at(self.first_point(hash));
        after.iter().chain(before).map(|point| point.server)
    }

    fn first_point(&self, hash: u32) -> usize {
        self.points.partition_point(|point| point.value < hash)
    }
}

fn equal_points(settings: &PlacementSettings, up: &[(ServerId, &Server)]) -> Vec<Point> {
    let points_of = |&(id, server): &(ServerId, &Server)| {
        let name = |number| point_name(settings.distribution, server, number);
        let values: [u32; POINTS_PER_SERVER] =
            std::array::from_fn(|number| settings.key_hash.digest(name(number as u32).as_bytes()));
        values.map(|value| Point { value, server: id })
    };
    up.iter().flat_map(points_of).collect()
}

fn weighted_points(distribution: Distribution, up: &[(ServerId, &Server)]) -> Vec<Point> {
    let weight_total = up
        .iter()
        .map(|(_, server)| u64::from(server.weight()))
        .sum();
    let mut points = Vec::new();
    for &(id, server) in up {
        for number in 0..weighted_names(server.weight(), weight_total, up.len()) {
            let name = point_name(distribution, server, number);
            let values = md5_words(name.as_bytes());
            points.extend(values.map(|value| Point { value, server: id }));
        }
    }
    points
}

/// How many names of this weight go on the ring. Single precision and the order of the operations
/// decide where the result is cut off: with equal weights some numbers of servers give 39 names
/// instead of 40.
fn weighted_names(weight: u32, weight_total: u64, servers_up: usize) -> u32 {
    let share = weight as f32 / weight_total as f32;
    let names = share * WEIGHTED_POINTS_PER_SERVER / POINTS_PER_NAME * servers_up as f32;
    // The summand is libmemcached's; in single precision it changes nothing but a result of nearly
    // zero.
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

    fn ring() -> Continuum {
        let point = |value, server| Point {
            value,
            server: ServerId(server),
        };
        Continuum {
            points: vec![point(10, 1), point(20, 0), point(20, 2), point(30, 2)],
            servers: 3,
        }
    }

    #[test]
    fn a_hash_belongs_to_the_next_point_around_the_end() {
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
            assert_eq!(ring().owner(hash), ServerId(owner), "{hash}");
        }
    }

    #[test]
    fn a_walk_begins_at_the_owner_and_goes_around_once() {
        for (hash, servers) in [(0, [1, 0, 2, 2]), (21, [2, 1, 0, 2]), (31, [1, 0, 2, 2])] {
            let walked: Vec<u32> = ring().walk(hash).map(|server| server.0).collect();
            assert_eq!(walked, servers, "{hash}");
        }
    }

    #[test]
    fn servers_without_a_point_do_not_count() {
        // Single precision leaves even the heavy one 79 names instead of 80.
        let heavy = server(1).with_weight(1_000_000);
        let light = server(2);
        let up = [(ServerId(0), &heavy), (ServerId(1), &light)];
        let settings = PlacementSettings {
            distribution: Distribution::KetamaWeighted,
            ..PlacementSettings::default()
        };
        let ring = Continuum::new(&settings, &up).unwrap();
        assert_eq!((ring.servers(), ring.points()), (1, 316));
    }
}
