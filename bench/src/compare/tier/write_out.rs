//! What goes from memory to the SSD a second, in short turns with writing to the device itself:
//! both drift on a shared machine.
//!
//! The first write to a place of a file takes longer than any later one, so both write to a new
//! file whose room has been taken.

use super::subject::{ITEM_OVERHEAD_BYTES, MEMORY_MEBIBYTES, Subject, tier_stat};
use crate::compare::table::{Table, Wanted};
use crate::hybrid::device_limit::write_new_file;
use crate::load::keys::KeyId;
use crate::load::runner::Plan;
use farcache_harness::server_process::ServerProcess;
use std::io;
use std::time::Instant;

/// Stored before anything counts, and while it does, in sizes of the memory.
const BEFORE: f64 = 1.0;
const MEASURED: f64 = 1.0;
/// Room on the SSD, in sizes of the memory.
const ROOM: u64 = 3;
/// Part of the device's rate that is wanted.
const DEVICE_PART_MIN: f64 = 0.8;

/// What went out, in MB a second.
struct WrittenOut {
    /// Of it while items were stored.
    while_stored: f64,
    stored: f64,
    at_stop: f64,
}

impl Subject<'_> {
    /// So many turns of a server that is filled and stopped, each between two of the device.
    pub fn write_out(&self, turns: usize, table: &mut Table) -> io::Result<()> {
        let mut device_before = self.device_writes()?;
        for _ in 0..turns {
            let server = self.written_out_once()?;
            let device_after = self.device_writes()?;
            let device = (device_before + device_after) / 2.0;
            self.note(device, &server, table);
            device_before = device_after;
        }
        Ok(())
    }

    /// What the device takes when as much is written as memory holds, in MB/s.
    fn device_writes(&self) -> io::Result<f64> {
        write_new_file(&self.file.with_extension("device"), MEMORY_MEBIBYTES << 20)
    }

    fn written_out_once(&self) -> io::Result<WrittenOut> {
        let server = self.start(MEMORY_MEBIBYTES * ROOM)?;
        let plan = self.plan(&server, self.keys(BEFORE + MEASURED));
        let before = self.keys(BEFORE);
        plan.store(0, before)?;
        let (while_stored, stored) = self.rates_while_stored(&server, &plan, before)?;
        Ok(WrittenOut {
            while_stored,
            stored,
            at_stop: self.rate_at_stop(server, plan.keys)?,
        })
    }

    /// What is written, and what is stored, in MB/s, while the rest of the items is stored: memory
    /// is full.
    fn rates_while_stored(
        &self,
        server: &ServerProcess,
        plan: &Plan,
        first: KeyId,
    ) -> io::Result<(f64, f64)> {
        let written_before = tier_stat(server, "bytes_written")?;
        let started = Instant::now();
        plan.store(first, plan.keys - first)?;
        let seconds = started.elapsed().as_secs_f64();
        let written = tier_stat(server, "bytes_written")? - written_before;
        let stored = f64::from(plan.keys - first) * self.value_bytes as f64;
        Ok((written / 1e6 / seconds, stored / 1e6 / seconds))
    }

    /// An orderly stop, which writes what is in memory only.
    fn rate_at_stop(&self, server: ServerProcess, keys: KeyId) -> io::Result<f64> {
        let item_bytes = (self.value_bytes as u64 + ITEM_OVERHEAD_BYTES) as f64;
        let written = tier_stat(&server, "bytes_live")?;
        let megabytes = (f64::from(keys) * item_bytes - written) / 1e6;
        let started = Instant::now();
        server.stop()?;
        Ok(megabytes / started.elapsed().as_secs_f64())
    }

    fn note(&self, device: f64, server: &WrittenOut, table: &mut Table) {
        let size = self.kibibytes();
        let (nothing, part) = (Wanted::Nothing, Wanted::AtLeast(DEVICE_PART_MIN));
        let rows = [
            ("device: sequential write beside", "MB/s", nothing, device),
            ("write-out at a stop", "MB/s", nothing, server.at_stop),
            (
                "  over the device's write, at a stop",
                "",
                part,
                server.at_stop / device,
            ),
            ("SETs beyond memory", "MB/s", nothing, server.stored),
            (
                "  over the device's write, written beside them",
                "",
                part,
                server.while_stored / device,
            ),
        ];
        for (what, unit, wanted, figure) in rows {
            self.add(table, &format!("{what}, {size} KB"), unit, wanted, figure);
        }
    }
}
