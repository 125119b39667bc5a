//! From life to life: each write and each sync of a life is a moment at which the next one may
//! begin.

use crate::crash::{Contents, Loss};
use crate::device::Failure;
use crate::life::{End, Fault, Plan, Record, Start, Work};
use crate::random::Random;
use crate::scenario::Scenario;
use std::time::Instant;

/// One short life in so many lacks a device.
const AWAY_ONCE_IN: u64 = 6;

/// How thoroughly a seed is looked into.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Lives, one after the other, all moments of which are looked at.
    pub generations: u64,
    /// Of these moments one in so many is.
    pub stride: usize,
    /// No further moment is looked at after this.
    pub deadline: Option<Instant>,
    /// Some lives lack a device.
    pub has_absences: bool,
}

/// What was covered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    /// Moments of a life: its writes and syncs.
    pub points: u64,
    /// What crashes then left, as many different ones for each moment as differ.
    pub crashes: u64,
    /// Stores opened and checked.
    pub opened: u64,
    /// Opens that were refused because a device failed just then.
    pub refused: u64,
    /// Lives without one of the devices.
    pub without: u64,
}

impl Covered {
    pub fn add(&mut self, other: Covered) {
        self.points += other.points;
        self.crashes += other.crashes;
        self.opened += other.opened;
        self.refused += other.refused;
        self.without += other.without;
    }
}

/// What was wrong, and what the devices held when it began.
pub struct Finding {
    pub message: String,
    pub start: Box<Start>,
}

struct Explorer<'s> {
    scenario: &'s Scenario,
    effort: Effort,
    random: Random,
    covered: Covered,
    /// How the present life came about.
    path: Vec<String>,
    /// No device has been lost so far. Of two that went on alone, one after the other, nobody could
    /// tell which is right.
    is_whole: bool,
    /// The store has been open before the present crash: its devices know of one another.
    was_open: bool,
}

impl Record {
    /// What a crash after so many entries leaves, if `contents` is what lies there then.
    fn after(
        &self,
        contents: &Contents,
        position: usize,
        loss: Loss,
        random: &mut Random,
    ) -> Start {
        Start {
            contents: contents.crash(position, loss, random),
            keys: self.model.possible_at(position),
            now: self.now,
            may_be_behind: self.may_be_behind,
        }
    }

    fn contents_at(&self, position: usize) -> Contents {
        let mut contents = self.begun.clone();
        self.entries[..position]
            .iter()
            .for_each(|entry| contents.advance(entry));
        contents
    }

    fn start_at(&self, position: usize, random: &mut Random) -> (Start, Loss) {
        let contents = self.contents_at(position);
        let losses = contents.losses();
        let loss = losses[random.below(losses.len() as u64) as usize];
        (self.after(&contents, position, loss, random), loss)
    }
}

/// Looks into a seed's stores.
pub fn explore(
    scenario: &Scenario,
    effort: Effort,
    covered: &mut Covered,
) -> Result<(), Box<Finding>> {
    let mut explorer = Explorer {
        scenario,
        effort,
        random: Random::new(scenario.seed ^ 0x5eed),
        covered: Covered::default(),
        path: Vec::new(),
        is_whole: true,
        was_open: false,
    };
    let outcome = explorer.run();
    covered.add(explorer.covered);
    outcome
}

/// One life, with a sync that fails at its end, and the next: whether that was refused, or what was
/// wrong.
pub fn after_late_failure(scenario: &Scenario) -> Result<bool, String> {
    let fault = Fault {
        device: 0,
        operation: 0,
        failure: Failure::LateSync,
    };
    let plan = Plan {
        steps: 1000,
        fault: Some(fault),
        ..CHECK
    };
    let plan = plan.made_safe(scenario);
    let record = Record::live(scenario, Start::of(scenario), plan, Random::new(1))?;
    let (end, mut random) = (record.entries.len(), Random::new(2));
    let start = record.after(&record.contents_at(end), end, Loss::Nothing, &mut random);
    let next = Record::live(scenario, start, CHECK, random)?;
    Ok(next.was_refused)
}

impl Start {
    /// Blank devices.
    fn of(scenario: &Scenario) -> Start {
        let images = (0..scenario.devices).map(|_| scenario.image());
        Start {
            contents: Contents::new(images.collect()),
            keys: vec![vec![None]; scenario.keys],
            now: 1_000_000,
            may_be_behind: false,
        }
    }
}

impl Explorer<'_> {
    fn run(&mut self) -> Result<(), Box<Finding>> {
        let mut start = Start::of(self.scenario);
        for generation in 0..self.effort.generations {
            self.path = vec![format!("generation {generation}")];
            let plan = self.long_plan(generation);
            let record = self.live(start, plan)?;
            self.is_whole &= !record.model.has_lost();
            if plan.work != Work::Fill {
                self.look_at_all_points(&record)?;
            }
            if self.is_over() {
                return Ok(());
            }
            let end = record.entries.len();
            let position = match self.random.below(3) {
                _ if plan.work == Work::Fill => end,
                0 => end,
                _ => self.any_point(&record),
            };
            start = record.start_at(position, &mut self.random).0;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let deadline = self.effort.deadline;
        deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn live(&mut self, start: Start, plan: Plan) -> Result<Record, Box<Finding>> {
        self.covered.opened += 1;
        self.covered.without += u64::from(plan.away.is_some());
        self.path.push(format!("{plan:?}"));
        let random = Random::new(self.random.below(u64::MAX));
        let record = Record::live(self.scenario, start.clone(), plan, random);
        let record = record.map_err(|message| {
            let path = self.path.join("\n  ");
            Box::new(Finding {
                message: format!("{:?}\n  {path}\n{message}", self.scenario),
                start: Box::new(start),
            })
        })?;
        self.covered.refused += u64::from(record.was_refused);
        Ok(record)
    }

    fn note_crash(&mut self, record: &Record, position: usize, loss: Loss) {
        let (first, last) = (record.inherited, record.entries.len());
        let refused = if record.was_refused { " (refused)" } else { "" };
        self.path.push(format!(
            "point {position} of {first} to {last}{refused}, {loss:?}"
        ));
    }

    fn any_point(&mut self, record: &Record) -> usize {
        let own = record.entries.len() - record.inherited;
        record.inherited + self.random.below(own as u64 + 1) as usize
    }

    fn look_at_all_points(&mut self, record: &Record) -> Result<(), Box<Finding>> {
        let mut contents = record.contents_at(record.inherited);
        for position in record.inherited..=record.entries.len() {
            if position > record.inherited {
                contents.advance(&record.entries[position - 1]);
            }
            if !position.is_multiple_of(self.effort.stride) {
                continue;
            }
            self.covered.points += 1;
            self.was_open = record.model.was_open_at(position);
            for &loss in contents.losses() {
                if self.is_over() {
                    return Ok(());
                }
                let start = record.after(&contents, position, loss, &mut self.random);
                let depth = self.path.len();
                self.note_crash(record, position, loss);
                self.go_on_from(start)?;
                self.path.truncate(depth);
            }
        }
        Ok(())
    }

    /// Opened, checked, changed, ended; then the same from its end and from some moment of it; then
    /// once more.
    fn go_on_from(&mut self, start: Start) -> Result<(), Box<Finding>> {
        self.covered.crashes += 1;
        let plan = self.maybe_without_a_device();
        let was_whole = plan.away.is_none();
        let child = self.live(start, plan)?;
        let points = [child.entries.len(), self.any_point(&child)];
        let depth = self.path.len();
        for position in points {
            let (start, loss) = child.start_at(position, &mut self.random);
            self.covered.crashes += 1;
            self.note_crash(&child, position, loss);
            let mut plan = self.short_plan();
            // Devices that have all fallen behind, one after the other, are used only anew.
            plan.fault = plan.fault.filter(|_| was_whole);
            let grandchild = self.live(start, plan)?;
            let end = grandchild.entries.len();
            let (start, loss) = grandchild.start_at(end, &mut self.random);
            self.note_crash(&grandchild, end, loss);
            self.live(start, CHECK)?;
            self.path.truncate(depth);
        }
        Ok(())
    }

    fn long_plan(&mut self, generation: u64) -> Plan {
        let work = match (self.scenario.is_tiny(), generation) {
            (false, _) => Work::Mixed,
            (true, 0) => Work::Fill,
            (true, 1) => Work::Empty,
            (true, _) => [Work::Mixed, Work::Fill, Work::Empty][self.random.below(3) as usize],
        };
        let is_long = work == Work::Mixed && !self.scenario.is_tiny();
        let steps = if is_long {
            60 + self.random.below(240)
        } else {
            30
        };
        let sync_every = [8, 20, 60, 200][self.random.below(4) as usize];
        let has_fault = generation > 0 && work == Work::Mixed;
        Plan {
            work,
            steps,
            sync_every,
            end: if work == Work::Fill {
                End::Stop
            } else {
                self.any_end()
            },
            fault: has_fault.then(|| self.any_fault(4, 200)).flatten(),
            away: None,
        }
        .made_safe(self.scenario)
    }

    fn short_plan(&mut self) -> Plan {
        Plan {
            work: Work::Mixed,
            steps: self.random.below(30),
            sync_every: 10,
            end: self.any_end(),
            fault: self.any_fault(8, 20),
            away: None,
        }
        .made_safe(self.scenario)
    }

    /// A short life, now and then without one of the devices, which is back in the next life.
    fn maybe_without_a_device(&mut self) -> Plan {
        let plan = self.short_plan();
        let devices = self.scenario.devices as u64;
        let may_go = devices > 1 && self.is_whole && self.was_open && self.effort.has_absences;
        if !may_go || !self.random.once_in(AWAY_ONCE_IN) {
            return plan;
        }
        Plan {
            away: Some(self.random.below(devices) as usize),
            fault: None,
            ..plan
        }
    }

    fn any_end(&mut self) -> End {
        match self.random.once_in(2) {
            true => End::Stop,
            false => End::Kill,
        }
    }

    /// Once in so many times one of the first operations of some device fails.
    fn any_fault(&mut self, times: u64, operations: u64) -> Option<Fault> {
        if !self.random.once_in(times) {
            return None;
        }
        let failure = match self.random.below(3) {
            0 => Failure::Vanishes,
            1 => Failure::Error { blocks: 0 },
            _ => Failure::Error {
                blocks: self.random.below(128) as usize,
            },
        };
        Some(Fault {
            device: self.random.below(self.scenario.devices as u64) as usize,
            operation: self.random.below(operations),
            failure,
        })
    }
}

const CHECK: Plan = Plan {
    work: Work::Mixed,
    steps: 0,
    sync_every: 1,
    end: End::Kill,
    fault: None,
    away: None,
};

impl Plan {
    /// With a single device that fails nothing becomes durable any more, and nobody may wait for
    /// it.
    fn made_safe(mut self, scenario: &Scenario) -> Plan {
        if self.fault.is_some() && scenario.devices == 1 {
            self.sync_every = u64::MAX;
            self.end = End::Kill;
        }
        self
    }
}
