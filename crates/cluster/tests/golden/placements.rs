use crate::bytes;
use farcache_cluster::distribution::{
    Distribution, Namespace, Placement, PlacementSettings, Server,
};
use farcache_cluster::hash::HashAlgorithm;

const GOLDEN: &str = include_str!("placements.txt");

/// One case of the golden data.
#[derive(Default)]
struct Case {
    title: String,
    settings: PlacementSettings,
    servers: Vec<Server>,
    /// Servers that are down, one state after the other.
    down: Vec<Vec<usize>>,
    /// Index of every key's server in `servers`.
    owners: Vec<usize>,
}

impl Case {
    /// Takes a line between "case" and "owners".
    fn read(&mut self, word: &str, rest: &str) {
        match word {
            "distribution" => self.settings.distribution = distribution(rest),
            "hash" => self.settings.key_hash = HashAlgorithm::from_name(rest).unwrap(),
            "sort" => self.settings.sort_servers = true,
            "namespace" => {
                self.settings.hashed_namespace = Some(Namespace::new(&bytes(rest)).unwrap())
            }
            "server" => self.servers.push(server(rest)),
            "down" => self.down.push(numbers(rest)),
            "owners" => self.owners = numbers(rest),
            _ => panic!("unknown word {word}"),
        }
    }

    fn placement(&self) -> Placement {
        let mut placement = Placement::new(self.settings.clone(), self.servers.clone());
        for down in &self.down {
            placement.rebuild(|index| !down.contains(&index));
        }
        placement
    }

    fn check(&self, keys: &[Vec<u8>]) {
        let placement = self.placement();
        assert_eq!(self.owners.len(), keys.len(), "{}", self.title);
        for (key, &wanted) in keys.iter().zip(&self.owners) {
            let owner = placement.server_of_key(key).unwrap();
            assert_eq!(placement.locate(key, 1)[0].0 as usize, owner);
            let (owner, wanted) = (&placement.servers()[owner], &self.servers[wanted]);
            assert_eq!(
                owner, wanted,
                "{}, {:?}, key {key:02x?}",
                self.title, self.settings
            );
        }
    }
}

fn distribution(name: &str) -> Distribution {
    match name {
        "MODULA" => Distribution::Modula,
        "KETAMA" => Distribution::Ketama,
        "KETAMA_WEIGHTED" => Distribution::KetamaWeighted,
        "KETAMA_SPY" => Distribution::KetamaSpy,
        "KETAMA_SPY_WEIGHTED" => Distribution::KetamaSpyWeighted,
        _ => panic!("unknown distribution {name}"),
    }
}

fn server(line: &str) -> Server {
    let [host, port, weight] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let server = match port.parse().unwrap() {
        0 => Server::unix_socket(host),
        port => Server::new(host, port),
    };
    server.with_weight(weight.parse().unwrap())
}

fn numbers(line: &str) -> Vec<usize> {
    line.split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect()
}

fn read_golden() -> (Vec<Vec<u8>>, Vec<Case>) {
    let (mut keys, mut cases) = (Vec::new(), Vec::<Case>::new());
    for line in GOLDEN.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "key" => keys.push(bytes(rest)),
            "case" => cases.push(Case {
                title: rest.to_owned(),
                ..Case::default()
            }),
            _ => cases.last_mut().unwrap().read(word, rest),
        }
    }
    (keys, cases)
}

#[test]
fn every_key_lives_where_libmemcached_looks_for_it() {
    let (keys, cases) = read_golden();
    assert!(
        keys.len() > 400 && cases.len() > 100,
        "{} keys, {} cases",
        keys.len(),
        cases.len()
    );
    for case in &cases {
        case.check(&keys);
    }
}
