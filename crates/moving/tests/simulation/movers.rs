//! The publisher's maps, and the movers that carry them out.

use super::*;

impl World {
    pub(super) fn publish(&mut self) {
        let wait = 50 + self.below(1_500);
        self.at(wait, Event::Publish);
        let current = Arc::clone(self.maps.last().expect("a map"));
        let Some(next) = self.next_map(&current) else {
            return;
        };
        let next = Arc::new(next);
        self.maps.push(Arc::clone(&next));
        for id in 0..self.servers.len() {
            // Before an old owner is given up.
            let delay = 1 + match self.below(10) {
                0 => self.below(1_500),
                _ => self.below(60),
            };
            self.at(delay, Event::NewMap(id, Arc::clone(&next)));
        }
    }

    pub(super) fn everybody_goes_by(&self, epoch: u64) -> bool {
        let mut alive = self.servers.iter().filter(|server| server.is_alive);
        alive.all(|server| server.acknowledged().epoch >= epoch)
    }

    /// What a publisher makes next; none where it waits.
    pub(super) fn next_map(&mut self, current: &ClusterMap) -> Option<ClusterMap> {
        let (count, epoch) = (self.servers.len(), current.epoch().0);
        if self.jumps && current.content().moves.is_empty() && self.below(3) > 0 {
            return Some(map(epoch + 1, count, &self.new_owners(), Vec::new()));
        }
        if !self.everybody_goes_by(epoch) {
            return None;
        }
        let owners: Vec<usize> = (0..count)
            .filter(|id| current.content().servers[*id].state.owns_keys())
            .collect();
        let moves = &current.content().moves;
        let in_phase = |phase| moves.iter().any(|moved| moved.phase == phase);
        if in_phase(Phase::HandingOver) {
            // All of them, or some before the others.
            let mut advanced: Vec<Move> = moves.clone();
            let all = self.below(2) == 0;
            let pick = self.below(advanced.len() as u64) as usize;
            for (index, moved) in advanced.iter_mut().enumerate() {
                if all || index == pick {
                    moved.phase = Phase::Streaming;
                }
            }
            advanced.sort_by_key(|moved| (moved.from, moved.to, moved.phase));
            return Some(map(epoch + 1, count, &owners, joined(advanced)));
        }
        if in_phase(Phase::Streaming) {
            let must_wait = !self.loses || self.below(3) > 0;
            if must_wait && !self.are_done(moves) {
                return None;
            }
            return Some(map(epoch + 1, count, &owners, Vec::new()));
        }
        let after = self.new_owners();
        let plain = map(epoch + 1, count, &after, Vec::new());
        let mut moves = plan_moves(&difference(current, &plain).expect("comparable"));
        if self.below(4) == 0 {
            moves
                .iter_mut()
                .for_each(|moved| moved.phase = Phase::Streaming);
        }
        let content = MapContent {
            moves,
            epoch: Epoch(epoch + 1),
            ..plain.into_content()
        };
        Some(ClusterMap::new(content).expect("a map"))
    }

    fn new_owners(&mut self) -> Vec<usize> {
        let count = self.servers.len();
        let mut owners: Vec<usize> = (0..count).filter(|_| self.below(2) == 0).collect();
        if owners.is_empty() {
            owners.push(self.below(count as u64) as usize);
        }
        owners
    }

    pub(super) fn are_done(&self, moves: &[Move]) -> bool {
        moves.iter().all(|moved| {
            let taker = &self.servers[moved.to.0 as usize - 1];
            let table = taker.taking.table();
            let mut streams = table.streams().iter().filter(|it| it.from == moved.from);
            taker.is_alive && streams.all(|it| matches!(it.stage(), Stage::Done | Stage::Lost))
        })
    }

    pub(super) fn new_map(&mut self, id: usize, map: &Arc<ClusterMap>) {
        if !self.servers[id].is_alive {
            return;
        }
        let now_ms = self.now_ms;
        self.servers[id].prepare(map, now_ms);
        for worker in 0..WORKERS {
            let delay = 1 + self.below(30);
            self.at(delay, Event::Follow(id, worker));
        }
    }

    pub(super) fn step(&mut self, id: usize) {
        let wait = 2 + self.below(20);
        self.at(wait, Event::Step(id));
        if !self.servers[id].is_alive {
            return;
        }
        let now_ms = self.now_ms;
        let steps: Vec<(usize, u64, Step)> = self.servers[id]
            .courses
            .iter_mut()
            .map(|course| {
                let step = course.next(now_ms);
                (course.stream.from.0 as usize - 1, course.stream.epoch, step)
            })
            .collect();
        for predecessor in self.servers[id].taking.table().predecessors() {
            if predecessor.ask_at_ms(now_ms).is_some_and(|at| at <= now_ms) {
                self.send(Event::AskedForMap(id, Arc::clone(predecessor)));
            }
        }
        for (from, epoch, step) in steps {
            if !matches!(step, Step::Wait(_) | Step::Over) {
                self.send(Event::Asked(id, from, epoch, step));
            }
        }
    }

    pub(super) fn asked_for_map(&mut self, by: usize, predecessor: Arc<Predecessor>) {
        let other = predecessor.server.0 as usize - 1;
        let said = match &self.servers[other] {
            _ if self.is_cut(by, other) => Err(Trouble::Silent),
            server if !server.is_alive => Err(Trouble::NobodyThere),
            server => Ok(server.acknowledged().epoch),
        };
        self.send(Event::ToldMap(predecessor, said));
    }

    pub(super) fn told_map(&mut self, predecessor: &Predecessor, said: Result<u64, Trouble>) {
        match said {
            Ok(epoch) => predecessor.on_acknowledged(epoch, self.now_ms),
            Err(trouble) => predecessor.on_trouble(trouble, self.now_ms),
        }
    }

    /// The mover of server `by` asks server `from`.
    pub(super) fn asked(&mut self, by: usize, from: usize, epoch: u64, step: Step) {
        let worker = self.below(WORKERS as u64) as usize;
        let (server, to) = (&self.servers[from], self.servers[by].id);
        let reply = match step {
            _ if self.is_cut(by, from) => Reply::Trouble(Trouble::Silent),
            _ if !server.is_alive => Reply::Trouble(Trouble::NobodyThere),
            Step::Acknowledge => Reply::Said(server.acknowledged()),
            Step::Pull(pull) if pull.instance != server.instance => {
                Reply::Items(PulledHead::OtherInstance, pull.instance, Vec::new())
            }
            Step::Pull(_) if !server.workers[worker].outgoing.has_any_for(to) => {
                Reply::Trouble(Trouble::Refused)
            }
            Step::Pull(pull) => {
                // The place is the number of the key behind the last.
                let after = match pull.place[0] {
                    0 => String::new(),
                    place => name_at(place),
                };
                let items = server.items_for(worker, to, &after, BATCH);
                let last = items.last().map(|(key, _)| place_of(key));
                let next = last.filter(|_| items.len() == BATCH);
                let head = PulledHead::Items { next, progress: 0 };
                Reply::Items(head, pull.instance, items)
            }
            _ => return,
        };
        self.send(Event::Told(by, from as u64 + 1, epoch, reply));
    }

    pub(super) fn told(&mut self, by: usize, from: u64, epoch: u64, reply: Reply) {
        let (now_ms, table) = (self.now_ms, self.servers[by].taking.table());
        let mut courses = std::mem::take(&mut self.servers[by].courses);
        let course = courses
            .iter_mut()
            .find(|course| u64::from(course.stream.from.0) == from && course.stream.epoch == epoch);
        if let Some(course) = course.filter(|_| self.servers[by].is_alive) {
            match reply {
                Reply::Said(said) => course.on_acknowledged(said, now_ms),
                Reply::Trouble(trouble) => course.on_trouble(trouble, now_ms),
                Reply::Items(head, instance, items) => {
                    for (key, item) in items {
                        let hash = self.servers[by].map.hash_of_key(key.as_bytes());
                        let place = KeyPlace::new(hash.expect("keys are placed"), key.as_bytes());
                        self.brought += 1;
                        self.servers[by].admit(&table, place, instance, &key, item);
                    }
                    course.on_pulled(head, Vec::new());
                }
            }
        }
        self.servers[by].courses = courses;
    }
}

pub(super) fn map(epoch: u64, count: usize, owners: &[usize], moves: Vec<Move>) -> ClusterMap {
    let mut text = format!("farcache-cluster-map 1\ncluster c\nepoch {epoch}\nplacement ketama\n");
    for id in 0..count {
        let state = match owners.contains(&id) {
            true => "serving",
            false => "draining",
        };
        let name = id + 1;
        text += &format!(
            "server {name} incarnation=1 weight=1 zone=- state={state} addresses=h{name}:1\n"
        );
    }
    let map: ClusterMap = (text + "end\n").parse().expect("a map");
    let content = MapContent {
        moves,
        ..map.into_content()
    };
    ClusterMap::new(content).expect("a map")
}

/// Moves of the same ends and phase are one.
pub(super) fn joined(moves: Vec<Move>) -> Vec<Move> {
    let mut joined: Vec<Move> = Vec::new();
    for moved in moves {
        match joined.last_mut() {
            Some(last)
                if (last.from, last.to, last.phase) == (moved.from, moved.to, moved.phase) =>
            {
                last.arcs.extend(moved.arcs);
                last.arcs.sort_unstable();
            }
            _ => joined.push(moved),
        }
    }
    joined
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = (0..KEYS).map(name).collect();
    names.sort();
    names
}

fn place_of(key: &str) -> [u8; 16] {
    let position = names().iter().position(|name| name == key);
    [position.expect("a key") as u8 + 1; 16]
}

fn name_at(place: u8) -> String {
    names()[usize::from(place) - 1].clone()
}
