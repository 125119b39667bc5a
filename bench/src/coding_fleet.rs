//! Servers of one cluster, each a process with one worker, all on one core, with the map that
//! servers need to code for clients.

use farcache_client::distribution::Distribution;
use farcache_client::hash::HashAlgorithm;
use farcache_client::{Client, ClientConfig, Transport};
use farcache_harness::server_process::{Launcher, Product, ServerProcess, free_ports};
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

const SERVER_CPU: usize = 0;
const TIMEOUT: Duration = Duration::from_secs(30);

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How many servers, and how large they are.
#[derive(Clone, Copy)]
pub struct Size {
    /// How many.
    pub servers: usize,
    /// Memory of each, in MiB.
    pub memory_mib: usize,
}

/// As many as `ec:3,2` has owners, with room for all that is stored.
const ROOMY: Size = Size {
    servers: 5,
    memory_mib: 512,
};

/// The map of servers that listen at these ports of this host, numbered from 1.
pub fn map_text(ports: &[u16]) -> String {
    let server = |(id, port): (usize, &u16)| {
        let rest = "incarnation=1 weight=1 zone=- state=serving";
        format!("server {id} {rest} addresses=127.0.0.1:{port}\n")
    };
    let servers: String = (1..).zip(ports).map(server).collect();
    format!("farcache-cluster-map 1\ncluster c\nepoch 1\nplacement ketama\n{servers}end\n")
}

/// The servers; they end with it.
pub struct Fleet {
    /// Their processes.
    pub servers: Vec<ServerProcess>,
    addresses: String,
    transport: Transport,
    directory: PathBuf,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Servers end by themselves.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Fleet {
    /// Starts them, for clients that come over this transport.
    ///
    /// # Errors
    /// A server does not start, or a file that it needs cannot be written.
    pub fn start(farcached: &str, transport: Transport) -> Outcome<Fleet> {
        Fleet::start_with(farcached, transport, ROOMY)
    }

    /// Starts as many and as large ones.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(farcached: &str, transport: Transport, size: Size) -> Outcome<Fleet> {
        let memory = size.memory_mib.to_string();
        let name = format!("farcache-bench-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory)?;
        let ports = free_ports(size.servers)?;
        let (map_file, secret_file) = (directory.join("map"), directory.join("secret"));
        std::fs::write(&map_file, map_text(&ports))?;
        std::fs::write(&secret_file, "a secret of the benchmark")?;
        let launcher = Launcher {
            farcached: PathBuf::from(farcached),
            memcached: PathBuf::from("memcached"),
            cpu: Some(SERVER_CPU),
            user: "root".into(),
        };
        let (map_file, secret_file) = (map_file.to_string_lossy(), secret_file.to_string_lossy());
        let start = |(number, port): (usize, &u16)| {
            let id = (number + 1).to_string();
            let mut options = vec!["-m", &memory, "-I", "8m", "--fabric", "auto"];
            options.extend(["--cluster-self", &id, "--cluster-file", &map_file]);
            options.extend(["--cluster-secret-file", &secret_file]);
            options.extend(["--repair-rate", "0"]);
            launcher.start_on(*port, Product::Farcached, &options, &[])
        };
        let servers = ports
            .iter()
            .enumerate()
            .map(start)
            .collect::<Result<_, _>>()?;
        let addresses: Vec<_> = ports
            .iter()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        Ok(Fleet {
            servers,
            addresses: addresses.join(","),
            transport,
            directory,
        })
    }

    /// A client under this policy.
    ///
    /// # Errors
    /// The policy makes no sense.
    pub fn client(&self, policy: Option<&str>) -> Outcome<Client> {
        self.client_for(TIMEOUT, policy)
    }

    /// A client whose operations take so long at most.
    ///
    /// # Errors
    /// The policy makes no sense.
    pub fn client_for(&self, timeout: Duration, policy: Option<&str>) -> Outcome<Client> {
        let mut config = ClientConfig::new(&self.addresses)?;
        config.placement.distribution = Distribution::KetamaWeighted;
        config.placement.key_hash = HashAlgorithm::Md5;
        config.transport = self.transport;
        config.timeout = timeout;
        config.connect_timeout = TIMEOUT;
        config.redundancy = policy.map(str::parse).transpose()?;
        Ok(Client::new(&config)?)
    }
}
