//! Clients killed (SIGKILL) while large values are on their way, both ways.

use super::helpers::{Helper, Part};
use super::levels::{Levels, number};
use super::table::{Column, Row, Table, Wanted};
use super::{Bench, Network};
use farcache_harness::control::Control;
use farcache_harness::server_process::ServerProcess;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// Clients alive at once.
const ALIVE: usize = 3;

/// Measures the rows: half of the clients over shared memory, half over TCP.
///
/// # Errors
/// If the server or a client cannot be started, and where no value was on its way.
pub fn measure(bench: &Bench, table: &mut Table) -> io::Result<()> {
    let kills = bench.scope.kills.div_ceil(2);
    for network in [Network::Chosen, Network::Tcp] {
        eprintln!("{kills} clients killed over {}", network.name());
        let server = bench.fabric_server(network, &["-m", "256", "-I", "2m"])?;
        let before = Levels::after_first_client(network, &server)?;
        let before_bytes = server.resident_bytes()?;
        kill_clients(network, &server, kills)?;
        let left = before.wait_for_return(&server)?;
        left.iter()
            .for_each(|left| eprintln!("  not returned: {left}"));
        let title = |what: &str| format!("{kills} clients killed over {}: {what}", network.name());
        let row = Row::new(title("figures that did not return"), "");
        table.add(
            &row.wants(Wanted::AtMost(0.0)),
            Column::Fabric,
            left.len() as f64,
        );
        let row = Row::new(title("large values moved"), "");
        table.add(&row, Column::Fabric, values_moved(&server)? as f64);
        let grown = server.resident_bytes()? as f64 - before_bytes as f64;
        let row = Row::new(title("server's memory grew"), "MB");
        table.add(&row, Column::Fabric, grown / 1e6);
    }
    Ok(())
}

fn kill_clients(network: Network, server: &ServerProcess, kills: usize) -> io::Result<()> {
    let mut alive = VecDeque::new();
    for kill in 0..kills {
        alive.push_back(Helper::start(
            Part::Victim,
            network,
            "fabric",
            server.address(),
            kill,
        )?);
        if alive.len() == ALIVE {
            kill_oldest(&mut alive, kill)?;
        }
    }
    while !alive.is_empty() {
        kill_oldest(&mut alive, kills)?;
    }
    Ok(())
}

fn kill_oldest(alive: &mut VecDeque<Helper>, number: usize) -> io::Result<()> {
    let mut victim = alive.pop_front().expect("a client is alive");
    victim.hear()?;
    // A different instant of the victim's life each time.
    std::thread::sleep(Duration::from_micros((number as u64 * 7_919) % 5_000));
    victim.kill()
}

/// Values that went by rendezvous; the measurement is worth nothing without.
fn values_moved(server: &ServerProcess) -> io::Result<u64> {
    let stats = Control::connect(&server.target())?.stats("fabric")?;
    let moved = number(&stats, "rendezvous_in_total")? + number(&stats, "rendezvous_out_total")?;
    match moved {
        0 => Err(io::Error::other(
            "no large value was on its way to a killed client",
        )),
        moved => Ok(moved),
    }
}
