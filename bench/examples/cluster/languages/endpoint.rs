//! Tells the servers of a fleet that cannot tell them itself, in the form of ElastiCache.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// The servers, and how often they have changed.
#[derive(Debug, Default)]
struct Told {
    version: u64,
    servers: Vec<SocketAddr>,
}

impl Told {
    /// The two lines that clients read.
    fn lines(&self) -> String {
        let node = |server: &SocketAddr| format!("{0}|{0}|{1}", server.ip(), server.port());
        let nodes: Vec<String> = self.servers.iter().map(node).collect();
        format!("{}\n{}\n", self.version, nodes.join(" "))
    }
}

/// An endpoint that answers until this program ends.
pub struct Endpoint {
    address: SocketAddr,
    told: Arc<Mutex<Told>>,
}

impl Endpoint {
    /// Tells of no servers yet.
    ///
    /// # Errors
    /// The system's.
    pub fn start() -> io::Result<Endpoint> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let endpoint = Endpoint {
            address: listener.local_addr()?,
            told: Arc::default(),
        };
        let told = Arc::clone(&endpoint.told);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let told = Arc::clone(&told);
                // A client that leaves in the middle ends its thread, and nothing else.
                std::thread::spawn(move || answer(stream, &told));
            }
        });
        Ok(endpoint)
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells of these servers from now on; returns the lines.
    pub fn tell(&self, servers: Vec<SocketAddr>) -> String {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.version += 1;
        told.servers = servers;
        told.lines()
    }
}

fn answer(stream: TcpStream, told: &Mutex<Told>) -> io::Result<()> {
    let mut replies = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let reply = match line?.trim_end() {
            "version" => "VERSION 1.6.0\r\n".to_owned(),
            "config get cluster" => {
                let told = told.lock().unwrap_or_else(PoisonError::into_inner);
                let lines = told.lines();
                format!("CONFIG cluster 0 {}\r\n{lines}\r\nEND\r\n", lines.len())
            }
            _ => "ERROR\r\n".to_owned(),
        };
        replies.write_all(reply.as_bytes())?;
    }
    Ok(())
}
