//! Writers of one key at the same time, while nothing fails.

use crate::{Fleet, WAYS};
use farcache_client::{Client, Error};

const WRITES: usize = 2_000;

/// How the writes ended that did not end as written.
fn failures(client: &Client, name: u8) -> Vec<Error> {
    let value = |write: usize| format!("{}{write}", char::from(name)).into_bytes();
    let ends = (0..WRITES).map(|write| client.set("k", value(write), 0));
    ends.filter_map(Result::err).collect()
}

#[test]
fn plain_writers_beside_one_another_are_not_left_in_doubt() {
    for transport in WAYS {
        for (policy, owners) in [("replicate:3", 3), ("ec:3,2;threshold=1", 5)] {
            let fleet = Fleet::start(owners);
            let clients = [(); 2].map(|()| fleet.client(policy, transport));
            let failed: Vec<Error> = std::thread::scope(|scope| {
                let writers = clients.iter().zip(b'a'..);
                let writers =
                    writers.map(|(client, name)| scope.spawn(move || failures(client, name)));
                let writers: Vec<_> = writers.collect();
                let ends = writers.into_iter().map(|one| one.join().expect("it ends"));
                ends.flatten().collect()
            });
            assert!(failed.is_empty(), "{policy} {transport:?}: {failed:?}");
            let [one, other] = &clients;
            let value = |client: &Client| client.get("k").expect("an answer").map(|it| it.value);
            assert!(value(one).is_some() && value(one) == value(other));
        }
    }
}
