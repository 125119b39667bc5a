//! Over UCX: shared memory and TCP.

use crate::blocking::{config, exercise};
use crate::support::{Product, Server};
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
