//! Thousands of connects a second, each with one request.

use farcache_harness::target::Target;
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Connects, asks once and closes, `connects_per_s` times a second for `duration`.
///
/// # Errors
/// If a connection is refused or answered wrongly.
pub fn run(target: &Target, connects_per_s: u32, duration: Duration) -> io::Result<String> {
    let start = Instant::now();
    let wanted = (f64::from(connects_per_s) * duration.as_secs_f64()) as u32;
    for connect in 0..wanted {
        let due = Duration::from_secs_f64(f64::from(connect) / f64::from(connects_per_s));
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        ask_once(target, connect)?;
    }
    let reached = f64::from(wanted) / start.elapsed().as_secs_f64();
    Ok(format!("{wanted} connections, {reached:.0} a second"))
}

/// Every second client leaves without a word, as port scanners and health checks do.
fn ask_once(target: &Target, connect: u32) -> io::Result<()> {
    let mut socket = File::from(target.connect()?);
    if connect % 2 == 1 {
        return Ok(());
    }
    socket.write_all(b"mn\r\n")?;
    let mut answer = [0; 4];
    socket.read_exact(&mut answer)?;
    match &answer {
        b"MN\r\n" => Ok(()),
        _ => Err(io::Error::other(format!("{}", answer.escape_ascii()))),
    }
}
