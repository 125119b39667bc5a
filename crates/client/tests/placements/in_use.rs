//! What is read is in use at all of its owners, also at those that were not asked for it: else they
//! would evict their parts first, and the value would not survive the others.

use crate::fleet::{Fleet, Keeps};
use crate::support::wait_for;
use crate::{clients_over, value};
use farcache_client::Transport;

/// Whether a key's part at a server has been used since it was stored.
fn is_used(fleet: &Fleet, server: usize, key: &str) -> bool {
    let dump = fleet.command(server, "lru_crawler metadump all", &["END"]);
    let head = format!("key={key} ");
    let line = dump.iter().find(|line| line.starts_with(&head));
    let line = line.unwrap_or_else(|| panic!("{key} at {server}: {dump:?}"));
    line.contains("fetch=yes")
}

#[test]
fn owners_that_are_not_asked_are_told_of_a_use() {
    let values = [
        ("replicate:3", 3, 900),
        ("ec:3,2", 5, 900),
        ("ec:3,2", 5, 100_000),
    ];
    for (policy, servers, bytes) in values {
        let fleet = Fleet::start(servers, Keeps::Nothing, &["--fabric", "auto"]);
        for transport in [Transport::Tcp, Transport::Fabric] {
            for (number, (ways, client)) in
                clients_over(transport, &fleet, policy).iter().enumerate()
            {
                let key = format!("{transport:?}-{bytes}-{number}");
                let set = |key: &str| client.set(key, value(number, bytes), 0).expect("stored");
                set(&key);
                // With these all owners are told that it is complete, so that a reader need not ask
                // them all.
                (0..3).for_each(|_| _ = set("another"));
                let used = || (0..servers).filter(|server| is_used(&fleet, *server, &key));
                assert_eq!(used().count(), 0, "{policy}, {ways}, {bytes}");
                // Of one key they are told now and then, and once there is a connection.
                wait_for(&format!("{policy}, {ways}, {bytes}"), || {
                    let item = client.get(&key).expect("read").expect("there");
                    assert_eq!(item.value.len(), bytes);
                    (used().count() == servers).then_some(())
                });
            }
        }
    }
}
