//! Peers in processes of their own: this same program, started again to run the test `peer` alone.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Set for a peer: what it is to do, in words.
const PEER_VARIABLE: &str = "FARCACHE_TEST_PEER";

/// What this process is to do, if it is a peer.
pub fn words() -> Option<Vec<String>> {
    let words = std::env::var(PEER_VARIABLE).ok()?;
    Some(words.split(' ').map(str::to_owned).collect())
}

/// A running peer; killed when dropped.
pub struct PeerProcess {
    pub child: Child,
    /// What it says, until somebody listens.
    output: Option<BufReader<ChildStdout>>,
}

impl PeerProcess {
    pub fn start(words: &str) -> PeerProcess {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "peer", "--nocapture", "--test-threads=1"])
            .env(PEER_VARIABLE, words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let output = child.stdout.take().map(BufReader::new);
        PeerProcess { child, output }
    }

    /// Waits for the peer to say a line that begins so, on another thread; the rest of the line.
    pub fn hear(&mut self, beginning: &'static str) -> std::thread::JoinHandle<Option<String>> {
        let output = self.output.take().expect("nobody has listened");
        std::thread::spawn(move || {
            let mut lines = output.lines().map_while(Result::ok);
            lines.find_map(|line| Some(line.strip_prefix(beginning)?.trim().to_owned()))
        })
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) {
        self.child.kill().expect("a peer that lives");
        self.child.wait().expect("the peer's end");
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address as a word.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The address of such a word.
pub fn bytes_of(hexadecimal: &str) -> Vec<u8> {
    let digits = |place| u8::from_str_radix(&hexadecimal[place..place + 2], 16);
    (0..hexadecimal.len())
        .step_by(2)
        .map(|place| digits(place).expect("hexadecimal digits"))
        .collect()
}
