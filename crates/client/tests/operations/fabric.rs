//! Over UCX: shared memory and TCP.

use crate::blocking::{config, exercise};
use crate::support::{Product, Server, wait_for};
use farcache_client::{Client, Error, Transport};

/// Transports of the server; the client finds out which ones both have.
const TRANSPORTS: [&str; 2] = ["posix,self", "tcp"];

fn server(transports: &str) -> Server {
    let variables = [("UCX_TLS", transports)];
    Server::start_with(Product::Farcached, 0, &["--fabric", "require"], &variables)
}

fn client(server: &Server, transport: Transport) -> Client {
    Client::new(&config(&server.address(), transport)).expect("a client")
}

#[test]
fn everything_works_over_every_network() {
    for transports in TRANSPORTS {
        let server = server(transports);
        let client = client(&server, Transport::Fabric);
        exercise(&client);
        assert!(client.lanes(0).is_some());
    }
}

#[test]
fn a_fabric_that_is_demanded_and_not_there_is_an_error() {
    let server = Server::start(Product::Memcached, &[]);
    let refused = client(&server, Transport::Fabric).get("key");
    assert!(
        matches!(refused, Err(Error::FabricUnavailable(_))),
        "{refused:?}"
    );
}

#[test]
fn sockets_do_where_the_server_offers_no_fabric() {
    let server = Server::start(Product::Farcached, &["--fabric", "off"]);
    let client = client(&server, Transport::Auto);
    exercise(&client);
    assert_eq!(client.lanes(0), None);
}

/// The figure of `stats fabric` of this name.
fn figure(client: &Client, name: &str) -> u64 {
    let stats = client.statistics(0, "fabric").expect("an answer");
    let found = stats.iter().find(|(known, _)| known == name);
    found.expect("such a figure").1.parse().expect("a number")
}

#[test]
fn sockets_are_used_where_the_fabric_is_nothing_else() {
    let server = server("tcp");
    let client = client(&server, Transport::Auto);
    exercise(&client);
    assert_eq!(client.lanes(0), None);
    let reason = client.no_fabric(0).expect("over a socket");
    assert!(reason.contains("UCX's tcp"), "{reason}");
    assert_eq!(figure(&client, "sessions_retired"), 1);
    wait_for("the session given back", || {
        let left = ["sessions", "tokens", "endpoints"].map(|name| figure(&client, name));
        (left == [0; 3]).then_some(())
    });
    assert_eq!(figure(&client, "life_lines_lost"), 0);
}

#[test]
fn shared_memory_is_used_where_it_is_there() {
    let server = server(TRANSPORTS[0]);
    let client = client(&server, Transport::Auto);
    exercise(&client);
    assert!(client.lanes(0).is_some_and(|lanes| lanes.contains("posix")));
    assert_eq!(client.no_fabric(0), None);
    assert_eq!(figure(&client, "sessions_retired"), 0);
}

#[test]
fn clients_of_both_kinds_see_the_same_items() {
    let server = server(TRANSPORTS[0]);
    let (over_fabric, over_tcp) = (
        client(&server, Transport::Fabric),
        client(&server, Transport::Tcp),
    );
    over_fabric
        .set("one", "from the fabric", 0)
        .expect("stored");
    over_tcp.set("two", "from a socket", 0).expect("stored");
    let value = |client: &Client, key| client.get(key).expect("an answer").expect("an item").value;
    assert_eq!(value(&over_tcp, "one"), b"from the fabric");
    assert_eq!(value(&over_fabric, "two"), b"from a socket");
}
