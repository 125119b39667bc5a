//! A probe: requests at even times on one connection, whose latency begins when the kernel hands
//! the request to the network, and ends when it has the reply, not when the client gets round to
//! it. So what else happens on the client's core does not count, as long as the client looks here
//! often enough: neither its other work nor the interrupts of the server's devices.

use super::connection::{Connection, Pending, Received};
use super::measurement::{Recorder, Summary};
use super::open_loop::Schedule;
use super::run_limits::{Progress, RunLimits, Turn};
use super::runner::Plan;
use super::workload::Workload;
use farcache_sockets::Receiving;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, RecvMsg, TimestampingFlag, Timestamps, recvmsg, setsockopt,
    sockopt,
};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, SystemTime};

/// How long to wait for the last answers.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);

/// Room for what comes with the time of a request: `struct sock_extended_err` and an address.
const ERROR_BYTES: usize = 64;

/// A probe under way.
pub struct Probe {
    connection: Connection,
    workload: Workload,
    schedule: Schedule,
    start_ns: u64,
    progress: Progress,
    recorder: Recorder,
    measured_ns: u64,
    /// Room for what the kernel says about a reply; kept for its memory.
    control: Vec<u8>,
}

impl Probe {
    /// Starts the schedule now.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn start(
        plan: &Plan,
        workload: Workload,
        schedule: Schedule,
        limits: RunLimits,
    ) -> io::Result<Probe> {
        let socket = plan.target.connect()?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::Timestamping, &sending_times())?;
        Ok(Probe {
            connection: Connection::new(socket, plan.scanner()),
            workload,
            schedule,
            start_ns: now_ns(),
            progress: Progress::new(limits),
            recorder: Recorder::default(),
            measured_ns: 0,
            control: nix::cmsg_space!(TimeSpec, Timestamps, [u8; ERROR_BYTES]),
        })
    }

    /// Sends what is due and takes what has come; false when the run is over. A request that is
    /// late, because the client did something else meanwhile, counts from when it has been sent;
    /// those it has missed by then are left out, for a burst of them would be its own making.
    ///
    /// # Errors
    /// Those of the connection, and wrong replies.
    pub fn turn(&mut self) -> io::Result<bool> {
        let now_ns = now_ns();
        let passed_ns = now_ns.saturating_sub(self.start_ns);
        match self.progress.turn(passed_ns) {
            Turn::On => {}
            Turn::Measure => self.recorder.clear(),
            Turn::End => {
                self.measured_ns = self.progress.measured_ns(passed_ns);
                return Ok(false);
            }
        }
        if self.schedule.due_ns() <= passed_ns {
            self.workload.queue_next(&mut self.connection, now_ns);
            while self.schedule.due_ns() <= passed_ns {
                self.schedule.advance();
            }
        }
        if self.connection.has_output() {
            self.connection.send()?;
            self.note_sending();
        }
        self.receive()?;
        Ok(true)
    }

    /// The last request counts from when the kernel handed it to the network, where that is known.
    fn note_sending(&mut self) {
        let socket = self.connection.as_fd().as_raw_fd();
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message = recvmsg::<()>(socket, &mut [], Some(&mut self.control), flags);
        if let Some(sent_ns) = message.ok().as_ref().and_then(time_of) {
            self.connection.count_last_from(sent_ns);
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let (result, came_ns) = receive_with_time(self.connection.to_receive(), &mut self.control);
        let recorder = &mut self.recorder;
        let done = &mut |pending: Pending, outcome, latency_ns| {
            recorder.add(pending.operation, outcome, latency_ns);
        };
        // What there may be more comes with the next look.
        let _: Received = self.connection.received(result, came_ns, done)?;
        Ok(())
    }

    /// Waits for the answers still out, and returns what has been measured.
    ///
    /// # Errors
    /// Those of the connection, and wrong replies.
    pub fn finish(mut self) -> io::Result<Summary> {
        let deadline = SystemTime::now() + DRAIN_TIME_MAX;
        while self.connection.outstanding() > 0 {
            if SystemTime::now() > deadline {
                let missing = "answers are missing";
                return Err(io::Error::new(io::ErrorKind::TimedOut, missing));
            }
            self.receive()?;
        }
        let seconds = self.measured_ns.max(1) as f64 / 1e9;
        let mut summary = Summary::new(&self.recorder, seconds, 1.0);
        summary.first_error = self.connection.first_error().map(str::to_owned);
        Ok(summary)
    }
}

/// The kernel's clock for what it receives.
fn now_ns() -> u64 {
    let since_epoch = SystemTime::UNIX_EPOCH.elapsed();
    since_epoch.unwrap_or_default().as_nanos() as u64
}

/// Receives once; also tells when the kernel had the last of it.
fn receive_with_time(to: Receiving<'_>, control: &mut [u8]) -> (io::Result<usize>, u64) {
    let mut room = [IoSliceMut::new(to.room)];
    let socket = to.socket.as_raw_fd();
    let flags = MsgFlags::empty();
    match recvmsg::<()>(socket, &mut room, Some(control), flags) {
        Ok(received) => (
            Ok(received.bytes),
            time_of(&received).unwrap_or_else(now_ns),
        ),
        Err(error) => (Err(error.into()), 0),
    }
}

fn time_of(received: &RecvMsg<'_, '_, ()>) -> Option<u64> {
    let time = received.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(time) => Some(time),
        ControlMessageOwned::ScmTimestampsns(times) => Some(times.system),
        _ => None,
    })?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Has the kernel tell when it handed what was sent to the network (Linux's `timestamping.rst`).
fn sending_times() -> TimestampingFlag {
    TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_harness::target::Target;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Instant;

    /// How much later than the reply comes it is looked at.
    const LATER: Duration = Duration::from_millis(30);
    const DEADLINE: Duration = Duration::from_secs(30);

    /// Probes once: the latency found, and that which the server knows to be the longest possible
    /// one, in microseconds.
    fn look_late(listener: &TcpListener, probes: &mut Vec<Probe>) -> (f64, f64) {
        let plan = Plan {
            target: Target::Tcp(listener.local_addr().expect("an address")),
            ..Plan::default()
        };
        let workload = Workload::new(plan.renderer(), plan.picker(), plan.mix, plan.seed);
        let endless = RunLimits::requests(u64::MAX);
        let start = SystemTime::now();
        let mut probe =
            Probe::start(&plan, workload, Schedule::even(0.001), endless).expect("a probe");
        assert!(probe.turn().expect("a request is sent"));
        let (mut server, _) = listener.accept().expect("its connection");
        let mut request = [0; 64];
        assert!(server.read(&mut request).expect("its request") > 0);
        server.write_all(b"END\r\n").expect("a reply");
        let longest = start.elapsed().expect("a clock that goes on");
        let later = Instant::now() + LATER;
        while Instant::now() < later {
            std::hint::spin_loop();
        }
        while probe.recorder.counts().requests == 0 {
            assert!(probe.turn().expect("the reply is taken"));
        }
        let latency_us = probe.recorder.latency().max;
        probes.push(probe);
        (latency_us, longest.as_secs_f64() * 1e6)
    }

    #[test]
    fn a_request_counts_from_when_the_network_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let plan = Plan {
            target: Target::Tcp(listener.local_addr().expect("an address")),
            ..Plan::default()
        };
        let workload = Workload::new(plan.renderer(), plan.picker(), plan.mix, plan.seed);
        let start = SystemTime::now();
        let endless = RunLimits::requests(u64::MAX);
        let mut probe =
            Probe::start(&plan, workload, Schedule::even(0.001), endless).expect("a probe");
        probe.workload.queue_next(&mut probe.connection, 0);
        probe.connection.send().expect("room for a request");
        probe.note_sending();
        let (mut server, _) = listener.accept().expect("its connection");
        server.write_all(b"END\r\n").expect("a reply");
        while probe.recorder.counts().requests == 0 {
            probe.receive().expect("the reply is taken");
        }
        let longest = start.elapsed().expect("a clock that goes on");
        let latency_us = probe.recorder.latency().max;
        assert!(
            latency_us < 2.0 * longest.as_secs_f64() * 1e6,
            "{latency_us} us"
        );
    }

    #[test]
    fn a_reply_counts_from_when_it_has_come_not_from_when_it_is_looked_at() {
        /// The histogram rounds to three digits.
        const ROUNDING: f64 = 1.002;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        // The kernel begins to note times a moment after the first connection that wants them.
        let (mut probes, deadline) = (Vec::new(), Instant::now() + DEADLINE);
        loop {
            let (latency_us, longest_us) = look_late(&listener, &mut probes);
            if latency_us <= longest_us * ROUNDING {
                return;
            }
            assert!(Instant::now() < deadline, "{latency_us} > {longest_us} us");
        }
    }
}
