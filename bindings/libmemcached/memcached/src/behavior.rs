//! A handle's settings.

use crate::arguments::{code, context};
use crate::context::Context;
use crate::distribution::is_consistent;
use crate::hash;
use farcache_libmemcached_abi::{Behavior, Distribution, Handle, HashAlgorithm, Return, flags};

/// The flag behind a behavior that is no more than a flag, and whether setting it ends the
/// connections.
fn plain_flag(behavior: Behavior) -> Option<(u16, bool)> {
    Some(match behavior {
        Behavior::REMOVE_FAILED_SERVERS | Behavior::AUTO_EJECT_HOSTS => {
            (flags::AUTO_EJECT_HOSTS, false)
        }
        Behavior::SUPPORT_CAS => (flags::SUPPORT_CAS, false),
        Behavior::NO_BLOCK => (flags::NO_BLOCK, true),
        Behavior::BUFFER_REQUESTS => (flags::BUFFER_REQUESTS, true),
        Behavior::TCP_NODELAY => (flags::TCP_NODELAY, true),
        Behavior::TCP_KEEPALIVE => (flags::TCP_KEEPALIVE, true),
        Behavior::VERIFY_KEY => (flags::VERIFY_KEY, false),
        Behavior::SORT_HOSTS => (flags::USE_SORT_HOSTS, false),
        Behavior::HASH_WITH_PREFIX_KEY => (flags::HASH_WITH_NAMESPACE, false),
        Behavior::RANDOMIZE_REPLICA_READ => (flags::RANDOMIZE_REPLICA_READ, false),
        Behavior::BINARY_PROTOCOL => (flags::BINARY_PROTOCOL, true),
        Behavior::USE_UDP => (flags::USE_UDP, true),
        _ => return None,
    })
}

impl Context<'_> {
    fn is_udp(&self) -> bool {
        self.handle.has(flags::USE_UDP)
    }

    /// What forbids a setting, whatever kind it is of.
    fn objection(&self, behavior: Behavior, value: u64) -> Option<(Return, &'static str)> {
        let invalid = |what| Some((Return::INVALID_ARGUMENTS, what));
        let deprecated = |what| Some((Return::DEPRECATED, what));
        match behavior {
            Behavior::SERVER_FAILURE_LIMIT if value == 0 => invalid(
                "MEMCACHED_BEHAVIOR_SERVER_FAILURE_LIMIT requires a value greater then zero.",
            ),
            Behavior::BUFFER_REQUESTS if self.is_udp() => invalid(
                "MEMCACHED_BEHAVIOR_BUFFER_REQUESTS cannot be set while MEMCACHED_BEHAVIOR_USE_UDP is enabled.",
            ),
            Behavior::VERIFY_KEY if self.is_binary() => {
                invalid("MEMCACHED_BEHAVIOR_VERIFY_KEY if the binary protocol has been enabled.")
            }
            Behavior::NOREPLY if self.is_udp() && value == 0 => invalid(
                "MEMCACHED_BEHAVIOR_NOREPLY cannot be disabled while MEMCACHED_BEHAVIOR_USE_UDP is enabled.",
            ),
            Behavior::LOAD_FROM_FILE => invalid(
                "MEMCACHED_BEHAVIOR_LOAD_FROM_FILE can not be set with memcached_behavior_set()",
            ),
            Behavior::CACHE_LOOKUPS => {
                deprecated("MEMCACHED_BEHAVIOR_CACHE_LOOKUPS has been deprecated.")
            }
            Behavior::USER_DATA => deprecated("MEMCACHED_BEHAVIOR_USER_DATA deprecated."),
            Behavior::CORK => deprecated(
                "MEMCACHED_BEHAVIOR_CORK is now incorporated into the driver by default.",
            ),
            Behavior(number) if number > Behavior::META_PROTOCOL.0 => {
                invalid("Invalid behavior passed to memcached_behavior_set()")
            }
            _ => None,
        }
    }

    pub(crate) fn set_behavior(&mut self, behavior: Behavior, value: u64) -> Result<(), Return> {
        if let Some((code, what)) = self.objection(behavior, value) {
            return Err(self.fail(code, what));
        }
        match plain_flag(behavior) {
            Some((flag, ends_connections)) => {
                if ends_connections {
                    self.quit();
                }
                self.set_flag(behavior, flag, value != 0);
                Ok(())
            }
            None => self.set_choice(behavior, value),
        }
    }

    fn set_flag(&mut self, behavior: Behavior, flag: u16, is_on: bool) {
        self.handle.set(flag, is_on);
        match behavior {
            Behavior::BINARY_PROTOCOL if is_on => {
                self.handle.set(flags::VERIFY_KEY, false);
                self.state.prefers_meta = false;
            }
            Behavior::USE_UDP => {
                self.handle.set(flags::REPLY, !is_on);
                if is_on {
                    self.handle.set(flags::BUFFER_REQUESTS, false);
                }
            }
            Behavior::SORT_HOSTS => self.run_distribution(),
            _ => {}
        }
    }

    fn set_choice(&mut self, behavior: Behavior, value: u64) -> Result<(), Return> {
        match behavior {
            Behavior::NOREPLY => self.handle.set(flags::REPLY, value == 0),
            Behavior::META_PROTOCOL => self.set_meta(value != 0),
            Behavior::DISTRIBUTION => return self.set_distribution(Distribution(value as u32)),
            Behavior::KETAMA => return self.set_ketama(value != 0),
            Behavior::KETAMA_WEIGHTED if value == 0 => return self.set_ketama(true),
            Behavior::KETAMA_WEIGHTED => {
                self.set_key_hash(HashAlgorithm::MD5)?;
                self.set_distribution_hash(HashAlgorithm::MD5)?;
                return self.set_distribution(Distribution::CONSISTENT_WEIGHTED);
            }
            Behavior::HASH => return self.set_key_hash(HashAlgorithm(value as u32)),
            Behavior::KETAMA_HASH => {
                return self.set_distribution_hash(HashAlgorithm(value as u32));
            }
            _ => self.set_number(behavior, value),
        }
        Ok(())
    }

    /// Meta commands are a kind of text: the return codes are those of text.
    fn set_meta(&mut self, is_on: bool) {
        self.quit();
        self.state.prefers_meta = is_on;
        if is_on {
            self.handle.set(flags::BINARY_PROTOCOL, false);
        }
    }

    fn set_ketama(&mut self, is_on: bool) -> Result<(), Return> {
        self.set_distribution(if is_on {
            Distribution::CONSISTENT_KETAMA
        } else {
            Distribution::MODULA
        })
    }

    fn set_number(&mut self, behavior: Behavior, value: u64) {
        let ends_connections = matches!(
            behavior,
            Behavior::SOCKET_SEND_SIZE | Behavior::SOCKET_RECV_SIZE | Behavior::TCP_KEEPIDLE
        );
        if ends_connections {
            self.quit();
        }
        let handle = &mut self.handle;
        match behavior {
            Behavior::NUMBER_OF_REPLICAS => handle.number_of_replicas = value as u32,
            Behavior::IO_MSG_WATERMARK => handle.io_msg_watermark = value as u32,
            Behavior::IO_BYTES_WATERMARK => handle.io_bytes_watermark = value as u32,
            Behavior::IO_KEY_PREFETCH => handle.io_key_prefetch = value as u32,
            Behavior::SND_TIMEOUT => handle.snd_timeout = value as i32,
            Behavior::RCV_TIMEOUT => handle.rcv_timeout = value as i32,
            Behavior::SERVER_FAILURE_LIMIT => handle.server_failure_limit = value as u32,
            Behavior::SERVER_TIMEOUT_LIMIT => handle.server_timeout_limit = value as u32,
            Behavior::POLL_TIMEOUT => handle.poll_timeout = value as i32,
            Behavior::CONNECT_TIMEOUT => handle.connect_timeout = value as i32,
            Behavior::RETRY_TIMEOUT => handle.retry_timeout = value as i32,
            Behavior::DEAD_TIMEOUT => handle.dead_timeout = value as i32,
            Behavior::SOCKET_SEND_SIZE => handle.send_size = value as i32,
            Behavior::SOCKET_RECV_SIZE => handle.recv_size = value as i32,
            Behavior::TCP_KEEPIDLE => handle.tcp_keepidle = value as u32,
            _ => {}
        }
        if behavior == Behavior::CONNECT_TIMEOUT {
            self.disconnect();
        }
    }

    pub(crate) fn behavior(&mut self, behavior: Behavior) -> u64 {
        if let Some((flag, _)) = plain_flag(behavior) {
            return u64::from(self.handle.has(flag));
        }
        let handle = &self.handle;
        let consistent = is_consistent(handle.distribution);
        match behavior {
            Behavior::CACHE_LOOKUPS | Behavior::CORK => 1,
            Behavior::NOREPLY => u64::from(!handle.has(flags::REPLY)),
            Behavior::META_PROTOCOL => u64::from(self.state.prefers_meta),
            Behavior::KETAMA => u64::from(consistent),
            Behavior::KETAMA_WEIGHTED => u64::from(consistent && handle.ketama.weighted),
            Behavior::DISTRIBUTION => handle.distribution.0.into(),
            Behavior::HASH => hash::key_hash(&handle.hashkit).0.into(),
            Behavior::KETAMA_HASH => hash::distribution_hash(&handle.hashkit).0.into(),
            Behavior::LOAD_FROM_FILE => u64::from(self.state.file.is_some()),
            Behavior::USER_DATA => {
                self.fail(
                    Return::DEPRECATED,
                    "MEMCACHED_BEHAVIOR_USER_DATA deprecated.",
                );
                0
            }
            _ => self.number(behavior),
        }
    }

    fn number(&self, behavior: Behavior) -> u64 {
        // A negative number comes out as C converts it: extended to 64 bits.
        let signed = |number: i32| i64::from(number).cast_unsigned();
        // -1 stands for the system's own size, which no socket is asked for here.
        let size = |number: i32| if number == -1 { 0 } else { signed(number) };
        let handle = &self.handle;
        match behavior {
            Behavior::NUMBER_OF_REPLICAS => handle.number_of_replicas.into(),
            Behavior::IO_MSG_WATERMARK => handle.io_msg_watermark.into(),
            Behavior::IO_BYTES_WATERMARK => handle.io_bytes_watermark.into(),
            Behavior::IO_KEY_PREFETCH => handle.io_key_prefetch.into(),
            Behavior::SERVER_FAILURE_LIMIT => handle.server_failure_limit.into(),
            Behavior::SERVER_TIMEOUT_LIMIT => handle.server_timeout_limit.into(),
            Behavior::TCP_KEEPIDLE => handle.tcp_keepidle.into(),
            Behavior::SND_TIMEOUT => signed(handle.snd_timeout),
            Behavior::RCV_TIMEOUT => signed(handle.rcv_timeout),
            Behavior::POLL_TIMEOUT => signed(handle.poll_timeout),
            Behavior::CONNECT_TIMEOUT => signed(handle.connect_timeout),
            Behavior::RETRY_TIMEOUT => signed(handle.retry_timeout),
            Behavior::DEAD_TIMEOUT => signed(handle.dead_timeout),
            Behavior::SOCKET_SEND_SIZE => size(handle.send_size),
            Behavior::SOCKET_RECV_SIZE => size(handle.recv_size),
            _ => 0,
        }
    }
}

export! {
    /// Changes a setting.
    fn memcached_behavior_set(handle: *mut Handle, behavior: Behavior, value: u64) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.set_behavior(behavior, value))
    }

    /// What a setting is.
    fn memcached_behavior_get(handle: *mut Handle, behavior: Behavior) -> u64 {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS.0.into();
        };
        context.behavior(behavior)
    }

    /// Chooses the hash of keys.
    fn memcached_behavior_set_key_hash(handle: *mut Handle, algorithm: HashAlgorithm) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.set_key_hash(algorithm))
    }

    /// The hash of keys.
    fn memcached_behavior_get_key_hash(handle: *mut Handle) -> HashAlgorithm {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let handle = unsafe { handle.as_ref() };
        handle.map_or(HashAlgorithm::MAX, |handle| hash::key_hash(&handle.hashkit))
    }

    /// Chooses the hash of servers.
    fn memcached_behavior_set_distribution_hash(handle: *mut Handle, algorithm: HashAlgorithm) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.set_distribution_hash(algorithm))
    }

    /// The hash of keys: libmemcached answers with that one here too.
    fn memcached_behavior_get_distribution_hash(handle: *mut Handle) -> HashAlgorithm {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let handle = unsafe { handle.as_ref() };
        handle.map_or(HashAlgorithm::MAX, |handle| hash::key_hash(&handle.hashkit))
    }
}
