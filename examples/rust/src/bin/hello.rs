//! Stores a value and gets it back: hello [SERVERS]
#![forbid(unsafe_code)]

use farcache_client::{Client, ClientConfig, Error};

fn main() -> Result<(), Error> {
    let servers = std::env::args().nth(1);
    let servers = servers.as_deref().unwrap_or("127.0.0.1:11211");
    let client = Client::new(&ClientConfig::new(servers)?)?;
    client.set("greeting", "hello", 60)?;
    let item = client.get("greeting")?.expect("stored a moment ago");
    println!("greeting: {}", String::from_utf8_lossy(&item.value));
    println!("over {}", client.lanes(0).as_deref().unwrap_or("a socket"));
    Ok(())
}
