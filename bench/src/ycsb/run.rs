//! The closed loop of one process: each client keeps `depth` operations under way.

use super::clients::{Asked, Clients, Ended};
use super::mix::{Kind, Operation, Stream};
use super::outcome::{Bucket, Outcome};
use super::records::{Begun, Ledger, Records, Seen, push_key};
use super::task::Task;
use crate::load::measurement::{CpuStopwatch, latency_histogram};
use hdrhistogram::Histogram;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::io;
use std::time::{Duration, Instant};

/// What a request belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Tag {
    operation: Operation,
    /// When the operation began: a read-modify-write's latency is that of both requests.
    since: Instant,
    part: Part,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Read {
        floor: u32,
    },
    Write(Begun),
    /// Puts back what was not there, as a cache is filled from a database.
    Fill(Begun),
}

/// A loop under way.
pub struct Run<'t, C> {
    task: &'t Task,
    clients: C,
    stream: Stream,
    ledger: Ledger,
    records: Records,
    random: SmallRng,
    writes: u32,
    outstanding: Vec<usize>,
    counted: Counted,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// What is counted from the end of the warm-up on.
struct Counted {
    from: Instant,
    latencies_ns: Histogram<u64>,
    outcome: Outcome,
    bucket: Duration,
}

impl<'t, C: Clients<Tag>> Run<'t, C> {
    /// A loop of these clients.
    pub fn new(task: &'t Task, clients: C) -> Self {
        Run {
            stream: Stream::new(task.workload, task.records),
            ledger: Ledger::new(task.writer, task.writers_now),
            records: Records::new(task.record_bytes),
            random: SmallRng::seed_from_u64(u64::from(task.writer)),
            writes: 0,
            outstanding: vec![0; task.clients],
            counted: Counted {
                from: Instant::now(),
                latencies_ns: latency_histogram(),
                outcome: Outcome::default(),
                bucket: Duration::from_secs_f64(task.bucket_s.unwrap_or(f64::from(u32::MAX))),
            },
            task,
            clients,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Runs for the time that the task says.
    ///
    /// # Errors
    /// If the clients cannot go on.
    pub fn run(mut self) -> io::Result<Outcome> {
        let (start, cpu) = (Instant::now(), CpuStopwatch::start());
        self.counted.from = start + Duration::from_secs_f64(self.task.warmup_s);
        let end = self.counted.from + Duration::from_secs_f64(self.task.seconds);
        (0..self.task.clients).for_each(|client| self.begin_batch(client, start));
        self.clients.send()?;
        let mut ended: Vec<(Asked<Tag>, Ended)> = Vec::new();
        let mut now = start;
        while now < end {
            self.serve(&mut ended)?;
            now = Instant::now();
            for (asked, end) in ended.drain(..) {
                self.finish(asked, end, now);
                if self.outstanding[asked.client] == 0 {
                    self.begin_batch(asked.client, now);
                }
            }
            self.clients.send()?;
        }
        let measured_s = now.duration_since(self.counted.from).as_secs_f64();
        // What is under way is not counted, but neither is it left to the servers.
        while self.outstanding.iter().any(|count| *count > 0) {
            self.serve(&mut ended)?;
            ended
                .drain(..)
                .for_each(|(asked, _)| self.outstanding[asked.client] -= 1);
        }
        let first_error = self.clients.first_error();
        Ok(Outcome {
            cpu_s: cpu.elapsed().as_secs_f64(),
            first_error,
            ..self.counted.finish(measured_s)
        })
    }

    fn serve(&mut self, ended: &mut Vec<(Asked<Tag>, Ended)>) -> io::Result<()> {
        self.clients
            .serve(&mut |asked, end| ended.push((asked, end)))
    }

    fn begin_batch(&mut self, client: usize, now: Instant) {
        for _ in 0..self.task.depth {
            let operation = self.stream.draw(&mut self.random);
            match operation.kind {
                Kind::Read | Kind::ReadModifyWrite => self.read(client, operation, now),
                Kind::Update | Kind::Insert => self.write(client, operation, now, Part::Write),
            }
        }
    }

    fn read(&mut self, client: usize, operation: Operation, since: Instant) {
        let floor = self.ledger.floor(operation.index);
        let tag = Tag {
            operation,
            since,
            part: Part::Read { floor },
        };
        self.begin(client, tag, false);
    }

    fn write(
        &mut self,
        client: usize,
        operation: Operation,
        since: Instant,
        part: impl Fn(Begun) -> Part,
    ) {
        self.writes += 1;
        let begun = self.ledger.begin(operation.index, self.writes);
        let number = self.task.number(operation.index);
        self.records.make(number, begun.version, &mut self.value);
        let tag = Tag {
            operation,
            since,
            part: part(begun),
        };
        self.begin(client, tag, true);
    }

    fn begin(&mut self, client: usize, tag: Tag, is_write: bool) {
        let number = self.task.number(tag.operation.index);
        let asked = Asked {
            client,
            number,
            is_write,
            tag,
        };
        self.key.clear();
        push_key(number, &mut self.key);
        self.clients.begin(asked, &self.key, &self.value);
        self.outstanding[client] += 1;
    }

    /// A request has ended: judges it, and begins what follows of it.
    fn finish(&mut self, asked: Asked<Tag>, end: Ended, now: Instant) {
        self.outstanding[asked.client] -= 1;
        let (client, tag) = (asked.client, asked.tag);
        let operation = tag.operation;
        match (tag.part, end) {
            (Part::Read { floor }, Ended::Read(seen)) => {
                let is_stale = matches!(seen, Seen::Record(version)
                    if self.ledger.is_stale(version, floor));
                self.counted.read(now, seen, is_stale);
                match (seen, operation.kind) {
                    (Seen::Record(_), Kind::ReadModifyWrite) => {
                        return self.write(client, operation, tag.since, Part::Write);
                    }
                    (Seen::Absent, _) if self.task.fills => {
                        self.write(client, operation, tag.since, Part::Fill);
                    }
                    _ => {}
                }
                self.counted.operation(now, tag.since);
            }
            (Part::Write(begun) | Part::Fill(begun), Ended::Written) => {
                self.ledger.end(operation.index, begun);
                if operation.kind == Kind::Insert {
                    self.stream.inserted(operation.index);
                }
                if let Part::Write(_) = tag.part {
                    self.counted.operation(now, tag.since);
                }
            }
            // Filling is no operation of the workload, and need not succeed.
            (Part::Fill(_), _) => {}
            (part, _) => self.counted.failed(now, matches!(part, Part::Read { .. })),
        }
    }
}

impl Counted {
    /// Where in the time that counts this is, if it is.
    fn bucket(&mut self, now: Instant) -> Option<&mut Bucket> {
        let since = now.checked_duration_since(self.from)?;
        let at = (since.as_secs_f64() / self.bucket.as_secs_f64()) as usize;
        let buckets = &mut self.outcome.buckets;
        if at >= buckets.len() {
            buckets.resize_with(at + 1, Bucket::default);
        }
        buckets.get_mut(at)
    }

    fn operation(&mut self, now: Instant, since: Instant) {
        let latency_ns = (now.saturating_duration_since(since).as_nanos() as u64).max(1);
        if let Some(bucket) = self.bucket(now) {
            bucket.operations += 1;
            bucket.add_latency(latency_ns);
            self.latencies_ns.saturating_record(latency_ns);
        }
    }

    fn read(&mut self, now: Instant, seen: Seen, is_stale: bool) {
        if let Some(bucket) = self.bucket(now) {
            bucket.reads += 1;
            bucket.misses += u64::from(seen == Seen::Absent);
        }
        // What is wrong counts at any time.
        self.outcome.wrong += u64::from(seen == Seen::Wrong);
        self.outcome.stale += u64::from(is_stale);
    }

    fn failed(&mut self, now: Instant, is_read: bool) {
        if let Some(bucket) = self.bucket(now) {
            bucket.reads += u64::from(is_read);
            bucket.failed_reads += u64::from(is_read);
            bucket.failed_writes += u64::from(!is_read);
        }
    }

    fn finish(self, seconds: f64) -> Outcome {
        let recorded = self.latencies_ns.iter_recorded();
        let latencies_ns = recorded.map(|at| (at.value_iterated_to(), at.count_at_value()));
        Outcome {
            seconds,
            latencies_ns: latencies_ns.collect(),
            ..self.outcome
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mix::Workload;
    use super::super::records::Version;
    use super::super::task::Access;
    use super::*;
    use std::collections::{HashMap, VecDeque};

    /// What is wrong with the servers.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Fault {
        None,
        Forgets,
        ShowsTheFirst,
        Spoils,
        Refuses,
    }

    /// Servers in memory, with one client's requests answered at a time.
    struct Fake {
        fault: Fault,
        records: Records,
        stored: HashMap<Vec<u8>, Vec<u8>>,
        begun: VecDeque<(Asked<Tag>, Ended)>,
        begun_most: usize,
    }

    impl Fake {
        fn new(task: &Task, fault: Fault) -> Self {
            let records = Records::new(task.record_bytes);
            let mut stored = HashMap::new();
            for number in 0..task.records {
                let (mut key, mut value) = (Vec::new(), Vec::new());
                push_key(number, &mut key);
                records.make(number, Version::default(), &mut value);
                stored.insert(key, value);
            }
            Fake {
                fault,
                records,
                stored,
                begun: VecDeque::new(),
                begun_most: 0,
            }
        }

        fn answer(&mut self, asked: Asked<Tag>, key: &[u8], value: &[u8]) -> Ended {
            match (self.fault, asked.is_write) {
                (Fault::Refuses, _) => Ended::Failed,
                (Fault::ShowsTheFirst, true) => Ended::Written,
                (_, true) => {
                    self.stored.insert(key.to_vec(), value.to_vec());
                    Ended::Written
                }
                (Fault::Forgets, false) => Ended::Read(Seen::Absent),
                (fault, false) => match self.stored.get(key) {
                    None => Ended::Read(Seen::Absent),
                    Some(value) => {
                        let other = u64::from(fault == Fault::Spoils);
                        Ended::Read(self.records.look(asked.number ^ other, value))
                    }
                },
            }
        }
    }

    impl Clients<Tag> for &mut Fake {
        fn begin(&mut self, asked: Asked<Tag>, key: &[u8], value: &[u8]) {
            let ended = self.answer(asked, key, value);
            self.begun.push_back((asked, ended));
            self.begun_most = self.begun_most.max(self.begun.len());
        }

        fn send(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn serve(&mut self, ended: &mut dyn FnMut(Asked<Tag>, Ended)) -> io::Result<()> {
            let (asked, end) = self.begun.pop_front().expect("something was begun");
            ended(asked, end);
            Ok(())
        }

        fn first_error(&self) -> Option<String> {
            (self.fault == Fault::Refuses).then(|| "refused".into())
        }
    }

    fn task(workload: Workload) -> Task {
        Task {
            servers: Vec::new(),
            access: Access::Bare,
            workload,
            clients: 3,
            depth: 4,
            records: 50,
            record_bytes: 100,
            writer: 5,
            writers_now: 5,
            warmup_s: 0.0,
            seconds: 0.03,
            bucket_s: Some(0.01),
            fills: false,
            timeout_s: 1.0,
            ejects: false,
        }
    }

    fn run(task: &Task, fault: Fault) -> (Outcome, Fake) {
        let mut fake = Fake::new(task, fault);
        let outcome = Run::new(task, &mut fake).run().expect("nothing breaks");
        (outcome, fake)
    }

    fn sum(outcome: &Outcome) -> Bucket {
        let mut sum = Bucket::default();
        outcome.buckets.iter().for_each(|bucket| sum.add(bucket));
        sum
    }

    #[test]
    fn every_workload_runs_without_a_fault_and_keeps_its_window_full() {
        for workload in Workload::ALL {
            let (outcome, fake) = run(&task(workload), Fault::None);
            let counted = sum(&outcome);
            assert!(counted.operations > 1000, "{workload:?}: {counted:?}");
            assert!(counted.reads > 0 && outcome.buckets.len() >= 3);
            assert_eq!((counted.database_reads(), counted.failed_writes), (0, 0));
            assert_eq!((outcome.wrong, outcome.stale), (0, 0), "{workload:?}");
            assert_eq!(fake.begun_most, 12);
            assert!(fake.begun.is_empty(), "all were waited for");
            let timed: u64 = outcome.latencies_ns.iter().map(|(_, count)| count).sum();
            assert_eq!(timed, counted.operations);
        }
    }

    #[test]
    fn a_read_modify_write_is_one_operation_of_two_requests() {
        let (outcome, fake) = run(&task(Workload::F), Fault::None);
        let counted = sum(&outcome);
        let share = counted.reads as f64 / counted.operations as f64;
        // Every operation reads.
        assert!((share - 1.0).abs() < 0.01, "{share}");
        let written = fake.stored.values().filter(|value| value[8] != 0);
        assert!(written.count() > 10);
    }

    #[test]
    fn stale_wrong_absent_and_failed_reads_are_noticed() {
        let (outcome, _) = run(&task(Workload::A), Fault::ShowsTheFirst);
        assert!(outcome.stale > 0 && outcome.wrong == 0);
        let (outcome, _) = run(&task(Workload::A), Fault::Spoils);
        assert!(outcome.wrong > 0);
        let (outcome, _) = run(&task(Workload::A), Fault::Forgets);
        assert!(sum(&outcome).misses > 0);
        let (outcome, _) = run(&task(Workload::A), Fault::Refuses);
        let counted = sum(&outcome);
        assert!(counted.failed_reads > 0 && counted.failed_writes > 0);
        assert_eq!(counted.operations, 0);
        assert_eq!(outcome.first_error.as_deref(), Some("refused"));
    }

    #[test]
    fn what_is_missed_is_filled_as_a_cache_is() {
        let filling = Task {
            fills: true,
            ..task(Workload::C)
        };
        let mut fake = Fake::new(&filling, Fault::None);
        fake.stored.clear();
        let outcome = Run::new(&filling, &mut fake).run().expect("nothing breaks");
        let counted = sum(&outcome);
        assert!(counted.misses >= 50 && counted.misses < counted.reads / 2);
        assert_eq!(
            (fake.stored.len(), outcome.wrong, outcome.stale),
            (50, 0, 0)
        );
    }
}
