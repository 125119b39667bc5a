//! Speaks to several servers, by their names: several_servers SERVER,SERVER...
#![forbid(unsafe_code)]

use farcache_client::distribution::{Distribution, PlacementSettings};
use farcache_client::hash::HashAlgorithm;
use farcache_client::{Client, ClientConfig, Delivery, Error, Operation, Reply, Route};

/// Asks one server for its version, whatever its place in the list.
fn version_of(client: &Client, name: &str) -> Result<String, Error> {
    let unknown = Error::InvalidArguments("there is no server of this name");
    let server = client.server_named(name).ok_or(unknown)?;
    let delivery = Delivery {
        route: Route::Server(server),
        timeout: None,
    };
    let request = client.submit_to(Operation::Version, delivery);
    match client.wait(request)? {
        Reply::Text(version) => Ok(version),
        _ => Err(Error::Protocol("no version")),
    }
}

fn main() -> Result<(), Error> {
    let servers = std::env::args().nth(1);
    let servers = servers.as_deref().unwrap_or("127.0.0.1:11211");
    let config = ClientConfig {
        // As libmemcached with MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED: a server that comes or goes
        // moves its own keys only.
        placement: PlacementSettings {
            distribution: Distribution::KetamaWeighted,
            key_hash: HashAlgorithm::Md5,
            ..PlacementSettings::default()
        },
        remove_after_failures: Some(3),
        ..ClientConfig::new(servers)?
    };
    let client = Client::new(&config)?;
    for number in 0..100 {
        client.set(format!("key-{number}"), "value", 60)?;
    }
    let keys: Vec<String> = (0..100).map(|number| format!("key-{number}")).collect();
    println!("{} found with one call", client.get_many(&keys)?.found());
    for server in client.servers().iter() {
        let name = server.to_string();
        println!("{name} has version {}", version_of(&client, &name)?);
    }
    if let Some(index) = client.server_of_key(b"key-7") {
        println!("key-7 lives on {}", client.servers()[index]);
    }
    Ok(())
}
