//! Commands with which an operator inspects or adjusts a running server.

use super::dump::{Dump, DumpFormat};
use super::run::{Flow, Run};
use super::{State, Status};
use crate::discovery::CONFIG_HEAD;
use crate::host::{Networks, Reload, UpgradeRefusal, UpgradeRequest};
use farcache_proto::base64;
use farcache_proto::text::{Admin, Reject, TimeChange, Tokens, WatchFlags};

/// Least memory that `cache_memlimit` accepts, in MiB. Source: memcached `proto_text.c`.
const MEMORY_MEBIBYTES_MIN: u32 = 8;

/// Above this many MiB `cache_memlimit` takes the number for bytes. Source: memcached
/// `proto_text.c`.
const MEMORY_MEBIBYTES_MAX: u32 = 1_000_000_000;

/// Slab classes have ids below this. Source: memcached `memcached.h`, `MAX_NUMBER_OF_SLAB_CLASSES`.
const SLAB_CLASSES: u32 = 64;

impl Run<'_, '_> {
    pub(super) fn admin(&mut self, admin: Admin<'_>) -> Option<Flow> {
        match admin {
            Admin::FlushAll { exptime, quiet } => self.flush_all(exptime, quiet),
            Admin::Verbosity { level, quiet } => {
                self.context.host.set_verbosity(level);
                self.answer("OK", quiet);
            }
            Admin::MemoryLimit { mebibytes, quiet } => self.memory_limit(mebibytes, quiet),
            Admin::Shutdown { is_valid, quiet } => return self.shutdown(is_valid, quiet),
            Admin::Watch(flags) => return self.watch(flags),
            Admin::RefreshCertificates { quiet } => self.refresh_certificates(quiet),
            Admin::MetaDump { classes } => return self.start_dump(classes, DumpFormat::Metadata),
            Admin::KeyDump { classes } => return self.start_dump(classes, DumpFormat::Keys),
            Admin::Crawl { classes } => match are_classes(classes) {
                true => self.push_line("OK"),
                false => self.push_line(BAD_CLASS),
            },
            Admin::SlabsReassign(source, destination) => match source == destination {
                true => self.push_line("SAME src and dst class are identical"),
                false => self.push_line("OK"),
            },
            Admin::DebugTime { change, quiet } => self.debug_time(change, quiet),
            Admin::Fabric { version, networks } => self.fabric(version, networks),
            Admin::ClusterConfiguration => self.configuration(CONFIG_HEAD),
            Admin::Repair => match self.context.host.repair() {
                true => self.push_line("OK"),
                false => self.reject(Reject::ERROR),
            },
            Admin::Tuning { quiet } => self.answer("OK", quiet),
        }
        None
    }

    fn debug_time(&mut self, change: Option<TimeChange>, quiet: bool) {
        match change.is_some_and(|change| self.context.host.change_time(change)) {
            true => self.answer("OK", quiet),
            false => self.reject(Reject::ERROR.unless(quiet)),
        }
    }

    fn fabric(&mut self, version: u32, networks: Tokens<'_>) {
        let networks = Networks::Names(networks);
        match self.context.host.upgrade(UpgradeRequest {
            version,
            networks,
            asker: None,
        }) {
            Ok(grant) => {
                self.push(b"FABRIC ");
                base64::push_encoded(self.replies.buffer(), &grant);
                self.push(b"\r\n");
            }
            Err(UpgradeRefusal::Off) => self.reject(Reject::ERROR),
            Err(UpgradeRefusal::Bound) => {
                self.push(b"CLIENT_ERROR ");
                self.push_line(UpgradeRefusal::BOUND_TEXT);
            }
        }
    }

    /// Answers with which servers the cluster has, behind this head.
    pub(super) fn configuration(&mut self, head: &[u8]) {
        match self.context.host.configuration() {
            Some(configuration) => configuration.push_text(head, self.replies.buffer()),
            None => self.reject(Reject::ERROR),
        }
    }

    fn refresh_certificates(&mut self, quiet: bool) {
        let line = match self.context.host.reload_certificates() {
            Reload::Done => "OK",
            Reload::Failed => "SERVER_ERROR cannot read the certificates",
            Reload::NoTls => "ERROR",
        };
        self.answer(line, quiet);
    }

    fn flush_all(&mut self, exptime: Result<i64, Reject>, quiet: bool) {
        self.context.counters.cmd_flush.bump();
        if !self.context.service.options.flush {
            return self.answer("CLIENT_ERROR flush_all not allowed", quiet);
        }
        match exptime {
            Ok(exptime) => {
                let at = self.context.clock.expiry(exptime);
                let is_later = at > self.context.clock.now;
                self.context.host.void_moves();
                self.context.store.flush_all(is_later.then_some(at));
                self.answer("OK", quiet);
            }
            Err(reject) => self.reject(reject),
        }
    }

    fn watch(&mut self, flags: Result<WatchFlags, Reject>) -> Option<Flow> {
        if !self.context.service.options.watch {
            self.push_line("CLIENT_ERROR watch commands not allowed");
            return None;
        }
        match flags {
            Ok(flags) => {
                self.push_line("OK");
                Some(Flow::Enter(State::Watch(flags)))
            }
            Err(reject) => {
                self.reject(reject);
                None
            }
        }
    }

    fn memory_limit(&mut self, mebibytes: u32, quiet: bool) {
        let line = match mebibytes {
            ..MEMORY_MEBIBYTES_MIN => "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m",
            _ if mebibytes > MEMORY_MEBIBYTES_MAX => {
                "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes"
            }
            _ if self
                .context
                .store
                .store()
                .set_memory_bytes(u64::from(mebibytes) << 20) =>
            {
                "OK"
            }
            _ => "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust",
        };
        self.answer(line, quiet);
    }

    fn shutdown(&mut self, is_valid: bool, quiet: bool) -> Option<Flow> {
        if !self.context.service.options.shutdown_command {
            self.answer("SERVER_ERROR: shutdown not enabled", quiet);
            return None;
        }
        if !is_valid {
            self.answer("CLIENT_ERROR invalid shutdown mode", quiet);
            return None;
        }
        self.context.host.stop();
        Some(Flow::Stop(Status::Close))
    }

    fn start_dump(&mut self, classes: &[u8], format: DumpFormat) -> Option<Flow> {
        if !self.context.service.options.dump {
            self.push_line(format.refusal());
            return None;
        }
        if classes != b"hash" && !are_classes(classes) {
            self.push_line(BAD_CLASS);
            return None;
        }
        Some(Flow::Enter(State::Dump(Box::new(Dump::new(format)))))
    }
}

const BAD_CLASS: &str = "BADCLASS invalid class id";

/// Whether this is `all`, or ids of slab classes separated by commas. There are no classes here:
/// naming any is as good as naming all.
fn are_classes(classes: &[u8]) -> bool {
    let is_class = |id: &[u8]| {
        farcache_proto::number::parse_u32(id).is_some_and(|id| (1..SLAB_CLASSES).contains(&id))
    };
    classes == b"all" || classes.split(|byte| *byte == b',').all(is_class)
}
