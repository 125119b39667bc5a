//! Who takes turns: a server, and the library through which the clients reach it.

use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use serde::Serialize;
use std::io;
use std::path::Path;

/// A server and a library, so that what the server does is told from what the client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// No cache: the database alone.
    Database,
    /// memcached with the system's library: what the others are compared with.
    Memcached,
    /// memcached with extstore, tuned, and the system's library.
    Extstore,
    /// memcached with our library.
    MemcachedOurs,
    /// farcached with the system's library.
    Farcached,
    /// farcached with an SSD and the system's library.
    FarcachedSsd,
    /// farcached with our library, over sockets.
    Sockets,
    /// farcached with our library, over the fabric.
    Fabric,
    /// farcached with an SSD and our library, over the fabric.
    FabricSsd,
}

impl Subject {
    /// All of them.
    pub const ALL: [Subject; 9] = [
        Subject::Database,
        Subject::Memcached,
        Subject::Extstore,
        Subject::MemcachedOurs,
        Subject::Farcached,
        Subject::FarcachedSsd,
        Subject::Sockets,
        Subject::Fabric,
        Subject::FabricSsd,
    ];

    /// Its name, as options take it.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Database => "database",
            Subject::Memcached => "memcached",
            Subject::Extstore => "extstore",
            Subject::MemcachedOurs => "memcached-ours",
            Subject::Farcached => "farcached",
            Subject::FarcachedSsd => "farcached-ssd",
            Subject::Sockets => "sockets",
            Subject::Fabric => "fabric",
            Subject::FabricSsd => "fabric-ssd",
        }
    }

    /// What carries the requests, where the library is ours; else the system's is used.
    pub fn transport(self) -> Option<&'static str> {
        match self {
            Subject::MemcachedOurs | Subject::Sockets => Some("tcp"),
            Subject::Fabric | Subject::FabricSsd => Some("fabric"),
            _ => None,
        }
    }

    fn product(self) -> Option<Product> {
        match self {
            Subject::Database => None,
            Subject::Memcached | Subject::Extstore | Subject::MemcachedOurs => {
                Some(Product::Memcached)
            }
            _ => Some(Product::Farcached),
        }
    }

    /// The options that give the server an SSD, a file with eight times the memory's room.
    ///
    /// Those of extstore: its pages and its write buffer must leave most of so small a memory to
    /// items; what is read from the file returns to memory at every tenth read instead of every
    /// two-thousandth; and since what memory has no room for before it is written out is lost, a
    /// tenth of the memory is kept free and the thread that writes sleeps 100 us at most. With a
    /// twentieth, or its defaults, a tenth to a quarter of four times the memory was lost.
    pub fn tier_options(self, file: &str, memory_bytes: usize) -> Vec<String> {
        let mebibytes = (8 * memory_bytes) >> 20;
        match self {
            Subject::Extstore => vec![
                "-o".into(),
                format!(
                    "ext_page_size=8,ext_wbuf_size=4,ext_threads=2,ext_recache_rate=10,\
                     ext_max_sleep=100,slab_automove_freeratio=0.1,\
                     ext_path={file}:{mebibytes}m"
                ),
            ],
            Subject::FarcachedSsd | Subject::FabricSsd => {
                vec!["--ssd".into(), format!("{file}:{mebibytes}m")]
            }
            _ => Vec::new(),
        }
    }

    /// Starts the server, if there is one, with so much memory; its file lies in `folder`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        self,
        launcher: &Launcher,
        folder: &Path,
        memory_bytes: usize,
    ) -> io::Result<Option<ServerProcess>> {
        let Some(product) = self.product() else {
            return Ok(None);
        };
        let file = folder.join(format!("{}.ssd", self.name()));
        // It need not be there.
        let _ = std::fs::remove_file(&file);
        let memory = (memory_bytes >> 20).to_string();
        let tier = self.tier_options(&file.display().to_string(), memory_bytes);
        let mut options = vec!["-m", &memory];
        options.extend(tier.iter().map(String::as_str));
        launcher.start(product, &options).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn names_are_those_that_options_take() {
        for subject in Subject::ALL {
            let taken = subject.to_possible_value().expect("none is hidden");
            assert_eq!(taken.get_name(), subject.name());
        }
    }

    #[test]
    fn only_what_has_an_ssd_gets_a_file() {
        let with_file = |subject: &Subject| !subject.tier_options("x", 64 << 20).is_empty();
        let names: Vec<_> = Subject::ALL
            .into_iter()
            .filter(with_file)
            .map(Subject::name)
            .collect();
        assert_eq!(names, ["extstore", "farcached-ssd", "fabric-ssd"]);
        let options = Subject::FabricSsd.tier_options("x", 64 << 20);
        assert_eq!(options, ["--ssd", "x:512m"]);
    }
}
