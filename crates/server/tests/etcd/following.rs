//! Who follows a map on etcd, and is no server, hears of each one.

use crate::node::Etcd;
use farcache_cluster::ClusterMap;
use farcache_membership::etcd::MapInEtcd;
use std::time::{Duration, Instant};

fn open(etcd: &Etcd) -> MapInEtcd {
    let endpoints = etcd.endpoints();
    let endpoints = endpoints.split(',').map(|place| place.parse());
    let endpoints = endpoints.collect::<Result<_, _>>().expect("addresses");
    let name = "orders".parse().expect("a name");
    MapInEtcd::new(endpoints, name, Duration::from_secs(60)).expect("descriptors")
}

/// Writes the map with this epoch.
fn publish(epoch: u64, publisher: &mut MapInEtcd) {
    let text = format!(
        "farcache-cluster-map 1\ncluster orders\nepoch {epoch}\nplacement ketama\n\
         server 1 incarnation=1 weight=1 zone=- state=serving addresses=a:1\nend\n"
    );
    let map: ClusterMap = text.parse().expect("a map");
    let revision = publisher.read().expect("etcd serves").revision;
    assert_eq!(publisher.replace(revision, &map), Ok(true));
}

#[test]
fn who_follows_the_map_hears_of_each_one_once() {
    let etcd = Etcd::start(1);
    let mut publisher = open(&etcd);
    publish(1, &mut publisher);
    let mut followed = open(&etcd).follow().expect("etcd serves");
    let at_once = Instant::now();
    assert_eq!(followed.next(at_once), Ok(None), "the first map is known");
    for epoch in 2..5 {
        publish(epoch, &mut publisher);
        let patient = Instant::now() + Duration::from_secs(60);
        let map = followed.next(patient).expect("etcd serves");
        assert_eq!(map.map(|map| map.epoch().0), Some(epoch));
        assert_eq!(followed.next(at_once), Ok(None), "it is told once");
    }
}
