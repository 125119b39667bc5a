//! Keeps many operations under way and takes their results as they come: wait_any [SERVERS]
#![forbid(unsafe_code)]

use farcache_client::{Client, ClientConfig, Error, Operation, ReceiveBytes, Reply, Store};

fn main() -> Result<(), Error> {
    let servers = std::env::args().nth(1);
    let servers = servers.as_deref().unwrap_or("127.0.0.1:11211");
    let client = Client::new(&ClientConfig::new(servers)?)?;
    let keys: Vec<String> = (0..32).map(|number| format!("key-{number}")).collect();

    // What is submitted together travels together.
    let store = |key: &String| client.submit(Operation::Store(Store::set(key.as_bytes(), "value")));
    let stores: Vec<_> = keys.iter().map(store).collect();
    for request in stores {
        client.wait(request)?;
    }

    let get = |key: &String| {
        let into = ReceiveBytes::default();
        let key = key.as_bytes();
        client.submit(Operation::Get { key, into })
    };
    let mut under_way: Vec<_> = keys.iter().map(get).collect();
    let mut bytes = 0;
    while !under_way.is_empty() {
        let first = client.wait_any(&under_way);
        if let Reply::Value { value, .. } = client.wait(under_way.swap_remove(first))? {
            bytes += value.len();
        }
    }
    println!("{} values, {bytes} bytes", keys.len());
    Ok(())
}
