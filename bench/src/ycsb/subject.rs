//! Who takes turns: servers, and the way in which clients reach them.

use super::task::Access;
use farcache_harness::server_process::Product;
use serde::Serialize;

/// A server and a way to it, so that what the server does is told from what the client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// memcached, by meta commands over sockets with nothing in between: the least that any client
    /// does.
    Memcached,
    /// memcached, by our library over sockets.
    MemcachedLibrary,
    /// farcached, by meta commands over sockets with nothing in between.
    Sockets,
    /// farcached, by our library over sockets.
    SocketsLibrary,
    /// farcached, by our library over the fabric.
    Fabric,
}

impl Subject {
    /// All of them.
    pub const ALL: [Subject; 5] = [
        Subject::Memcached,
        Subject::MemcachedLibrary,
        Subject::Sockets,
        Subject::SocketsLibrary,
        Subject::Fabric,
    ];

    /// Its name, as options take it.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Memcached => "memcached",
            Subject::MemcachedLibrary => "memcached-library",
            Subject::Sockets => "sockets",
            Subject::SocketsLibrary => "sockets-library",
            Subject::Fabric => "fabric",
        }
    }

    /// Which servers.
    pub fn product(self) -> Product {
        match self {
            Subject::Memcached | Subject::MemcachedLibrary => Product::Memcached,
            _ => Product::Farcached,
        }
    }

    /// The way to them, with records on several servers by a policy; none where that way or those
    /// servers know of none.
    pub fn access(self, redundancy: &str) -> Option<Access> {
        let transport = match self {
            Subject::Memcached | Subject::Sockets => None,
            Subject::MemcachedLibrary | Subject::SocketsLibrary => Some("tcp"),
            Subject::Fabric => Some("fabric"),
        };
        let knows = self.product() == Product::Farcached && transport.is_some();
        let access = transport.map_or(Access::Bare, |transport| Access::Library {
            transport: transport.into(),
            redundancy: redundancy.into(),
        });
        (redundancy == "none" || knows).then_some(access)
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
    fn only_the_library_with_farcached_knows_of_copies() {
        let knows = |subject: &Subject| subject.access("replicate:3").is_some();
        let knowing: Vec<_> = Subject::ALL.into_iter().filter(knows).collect();
        assert_eq!(knowing, [Subject::SocketsLibrary, Subject::Fabric]);
        assert!(Subject::ALL.iter().all(|one| one.access("none").is_some()));
    }
}
