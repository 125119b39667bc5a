//! Where keys live: by the list of servers that the client was given, or by their cluster's map.

use crate::distribution::{Placement, Server};
use farcache_cluster::{ClusterMap, Owners, ServerId};
use farcache_proto::binary::Placed;
use farcache_redundancy::spread::{owner_label, owners_sum};
use std::sync::Arc;

/// Where keys live. Each server has an index, which it keeps: first the servers of the list, then
/// the servers that maps add.
#[derive(Debug)]
pub struct Routing {
    servers: Arc<[Server]>,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    List {
        placement: Placement,
        labels: Box<[String]>,
    },
    Map(Mapped),
}

/// A map whose servers have indexes.
#[derive(Debug)]
struct Mapped {
    map: ClusterMap,
    /// In the order of their names.
    members: Box<[Member]>,
}

#[derive(Debug)]
struct Member {
    name: ServerId,
    index: u32,
    label: String,
}

impl Routing {
    /// By a list.
    pub(super) fn new(placement: Placement) -> Routing {
        let servers: Arc<[Server]> = placement.servers().into();
        let labels = servers.iter().map(|server| owner_label(server.address()));
        let labels = labels.collect();
        Routing {
            servers,
            rule: Rule::List { placement, labels },
        }
    }

    /// Every server that the list or a map has named, by its index.
    #[must_use]
    pub fn servers(&self) -> &Arc<[Server]> {
        &self.servers
    }

    /// The indexes of the servers of the list, or of the newest map.
    pub(crate) fn members(&self) -> Vec<usize> {
        match &self.rule {
            Rule::List { .. } => (0..self.servers.len()).collect(),
            Rule::Map(mapped) => mapped.members.iter().map(|it| it.index as usize).collect(),
        }
    }

    /// The map's epoch; none where the client goes by its list.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        match &self.rule {
            Rule::List { .. } => None,
            Rule::Map(mapped) => Some(mapped.map.epoch().0),
        }
    }

    /// The map's edition; 0 where the client goes by its list.
    pub(crate) fn edition(&self) -> u64 {
        match &self.rule {
            Rule::List { .. } => 0,
            Rule::Map(mapped) => mapped.map.edition(),
        }
    }

    /// The index of the server on which a key lives; `None` without servers.
    #[must_use]
    #[inline]
    pub fn server_of_key(&self, key: &[u8]) -> Option<usize> {
        match &self.rule {
            Rule::List { placement, .. } => placement.server_of_key(key),
            Rule::Map(mapped) => {
                let owner = *mapped.map.locate(key, 1).first()?;
                mapped.member(owner).map(|it| it.index as usize)
            }
        }
    }

    /// The indexes of the servers on which a key with so many owners lies, in the order of
    /// placement.
    pub(crate) fn locate(&self, key: &[u8], owners: usize) -> Owners {
        match &self.rule {
            Rule::List { placement, .. } => placement.locate(key, owners),
            Rule::Map(mapped) => mapped.indexes(&mapped.map.locate(key, owners)),
        }
    }

    /// The same, and what a server is told of it.
    pub(crate) fn place(&self, key: &[u8], owners: usize) -> (Owners, Placed) {
        let (indexes, sum) = match &self.rule {
            Rule::List { placement, labels } => {
                let located = placement.locate(key, owners);
                let sum = owners_sum(located.iter().map(|owner| &labels[owner.0 as usize]));
                (located, sum)
            }
            Rule::Map(mapped) => {
                let located = mapped.map.locate(key, owners);
                let members = located.iter().filter_map(|owner| mapped.member(*owner));
                let sum = owners_sum(members.map(|member| &member.label));
                (mapped.indexes(&located), sum)
            }
        };
        let placed = Placed {
            edition: self.edition(),
            owners: owners as u8,
            sum,
        };
        (indexes, placed)
    }

    /// Gives the keys of servers that are down to the others, where the client goes by its list.
    pub(super) fn rebuild(&mut self, is_up: impl Fn(usize) -> bool) {
        if let Rule::List { placement, .. } = &mut self.rule {
            placement.rebuild(is_up);
        }
    }

    /// Goes by this map from now on, unless it is older than the one that is known, or places no
    /// keys. A map of another cluster, or another one of the same epoch, is that of a cluster that
    /// was founded anew.
    pub(super) fn follow(&mut self, map: ClusterMap) {
        let is_older = match &self.rule {
            Rule::List { .. } => false,
            Rule::Map(Mapped { map: known, .. }) => {
                map.content().cluster == known.content().cluster && map.epoch() < known.epoch()
            }
        };
        if is_older || map.locate(b"any", 1).is_empty() {
            return;
        }
        let mut servers = self.servers.to_vec();
        let mut members = Vec::new();
        for server in &map.content().servers {
            let Some(address) = server.client_address() else {
                continue;
            };
            let is_known = |known: &Server| server.addresses.contains(known.address());
            let index = servers.iter().position(is_known).unwrap_or_else(|| {
                servers.push(Server::at(address.clone()));
                servers.len() - 1
            });
            let label = owner_label(address);
            members.push(Member {
                name: server.id,
                index: index as u32,
                label,
            });
        }
        members.sort_unstable_by_key(|member| member.name);
        self.servers = servers.into();
        let members = members.into();
        self.rule = Rule::Map(Mapped { map, members });
    }
}

impl Mapped {
    fn member(&self, name: ServerId) -> Option<&Member> {
        let found = self.members.binary_search_by_key(&name, |it| it.name);
        found.ok().map(|at| &self.members[at])
    }

    fn indexes(&self, owners: &Owners) -> Owners {
        let members = owners.iter().filter_map(|owner| self.member(*owner));
        Owners::of(members.map(|member| ServerId(member.index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::PlacementSettings;

    /// A map of these servers, of equal weight.
    fn map(epoch: u64, servers: &[(u32, &str)]) -> ClusterMap {
        let servers = servers.iter().map(|(name, addresses)| {
            format!(
                "server {name} incarnation=1 weight=1 zone=- state=serving addresses={addresses}\n"
            )
        });
        let servers: String = servers.collect();
        let head = format!("farcache-cluster-map 1\ncluster c\nepoch {epoch}\nplacement ketama\n");
        format!("{head}{servers}end\n").parse().expect("a map")
    }

    fn routing(servers: &str) -> Routing {
        let servers = crate::parse_servers(servers).expect("servers");
        Routing::new(Placement::new(PlacementSettings::default(), servers))
    }

    fn names(routing: &Routing) -> Vec<String> {
        routing.servers().iter().map(Server::to_string).collect()
    }

    #[test]
    fn servers_keep_their_indexes_whatever_maps_come() {
        let mut routing = routing("b:1,a:1");
        routing.follow(map(3, &[(7, "a:1"), (8, "c:1"), (9, "/socket,b:1")]));
        assert_eq!(names(&routing), ["b:1", "a:1", "c:1"]);
        assert_eq!(routing.members(), [1, 2, 0]);
        routing.follow(map(4, &[(8, "c:1"), (10, "d:1")]));
        assert_eq!(names(&routing), ["b:1", "a:1", "c:1", "d:1"]);
        assert_eq!(routing.members(), [2, 3]);
        let own = (0..100).map(|number| routing.server_of_key(format!("{number}").as_bytes()));
        assert!(own.flatten().all(|server| server == 2 || server == 3));
    }

    #[test]
    fn an_older_map_and_one_that_places_nothing_are_passed_over() {
        let mut routing = routing("a:1");
        routing.follow(map(0, &[]));
        assert_eq!(routing.epoch(), None);
        routing.follow(map(3, &[(7, "a:1")]));
        routing.follow(map(2, &[(9, "c:1")]));
        assert_eq!((routing.epoch(), names(&routing).len()), (Some(3), 1));
    }

    #[test]
    fn a_cluster_that_was_founded_anew_is_followed() {
        let mut routing = routing("a:1");
        routing.follow(map(3, &[(7, "a:1")]));
        let before = routing.edition();
        routing.follow(map(3, &[(7, "b:1")]));
        assert_ne!(routing.edition(), before);
        assert_eq!(routing.members(), [1]);
        let text = map(1, &[(7, "a:1")]).to_string();
        let other = text.replace("cluster c", "cluster d");
        routing.follow(other.parse().expect("a map"));
        assert_eq!((routing.epoch(), routing.members()), (Some(1), vec![0]));
    }

    #[test]
    fn keys_are_placed_and_summed_as_the_map_has_it() {
        let map = map(5, &[(7, "a:1"), (8, "c:1"), (9, "b:1")]);
        let mut routing = routing("c:1");
        routing.follow(map.clone());
        for number in 0..50 {
            let key = format!("key-{number}");
            let owners = map.locate(key.as_bytes(), 2);
            let addresses: Vec<_> = map.client_addresses(&owners).collect();
            let (located, placed) = routing.place(key.as_bytes(), 2);
            assert_eq!(located, routing.locate(key.as_bytes(), 2));
            let servers = located.iter().map(|it| &routing.servers()[it.0 as usize]);
            assert!(servers.map(Server::address).eq(addresses.iter().copied()));
            let sum = owners_sum(addresses.into_iter().map(owner_label));
            let owners = 2;
            assert_eq!(
                placed,
                Placed {
                    edition: map.edition(),
                    owners,
                    sum
                }
            );
            let first = located.first().map(|owner| owner.0 as usize);
            assert_eq!(routing.server_of_key(key.as_bytes()), first);
        }
    }
}
