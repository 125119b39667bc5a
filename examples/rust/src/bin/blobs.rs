//! Stores a file in chunks and reads of it: blobs [SERVERS]
#![forbid(unsafe_code)]

use farcache_blobs::{Blobs, Settings};
use farcache_client::{Client, ClientConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let servers = std::env::args().nth(1);
    let servers = servers.as_deref().unwrap_or("127.0.0.1:11211");
    let client = Client::new(&ClientConfig::new(servers)?)?;
    let mut buffer = [0; 4];
    let blobs = Blobs::new(client, Settings::default())?;
    let mut writer = blobs.create("logs/today")?;
    writer.write(b"a line\n")?;
    writer.close()?; // now it is there, whole
    let mut reader = blobs.open("logs/today")?;
    reader.read_at(2, &mut buffer)?;
    println!("{}", String::from_utf8_lossy(&buffer));
    Ok(())
}
