//! The publisher's maps, and the movers that carry them out.

use super::*;
use farcache_moving::Course;
use farcache_peers::moves::{Place, marked, unmarked};

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
        let server = &mut self.servers[id];
        let mut questions: Vec<(Ends, Step)> = Vec::new();
        for course in &mut server.courses {
            let ends = (id, course.stream.from.0 as usize - 1, course.stream.epoch);
            let steps = std::iter::from_fn(|| Some(course.next(now_ms, &mut server.pace)));
            let asks = |step: &Step| !matches!(step, Step::Wait(_) | Step::Over);
            questions.extend(steps.take_while(asks).map(|step| (ends, step)));
        }
        self.servers[id].void_what_was_missed(now_ms);
        for predecessor in self.servers[id].taking.table().predecessors() {
            if predecessor.server == self.servers[id].id {
                continue;
            }
            if predecessor.ask_at_ms(now_ms).is_some_and(|at| at <= now_ms) {
                self.send(Event::AskedForMap(id, Arc::clone(predecessor)));
            }
        }
        for (ends, step) in questions {
            let (worker, delay_ms) = (self.below(WORKERS as u64) as usize, self.delay_ms());
            let line = self.lines.open(ends, worker);
            let (number, at_ms) = (line.number, line.question_at(now_ms + delay_ms));
            self.at(at_ms - now_ms, Event::Asked(ends, number, step));
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

    /// The mover of one server asks another one.
    pub(super) fn asked(&mut self, ends: Ends, number: u64, step: Step) {
        let (by, from, _) = ends;
        let is_reset = self.resets && self.below(16) == 0;
        let is_cut = self.is_cut(by, from) || is_reset;
        let (server, to) = (&self.servers[from], self.servers[by].id);
        let Some(line) = self.lines.get(ends, number).filter(|line| !line.is_over) else {
            return;
        };
        let is_another_run = *line.instance.get_or_insert(server.instance) != server.instance;
        line.is_over = is_cut || is_another_run || !server.is_alive;
        let reply = match step {
            _ if is_cut || is_another_run => Reply::Trouble(Trouble::Silent),
            _ if !server.is_alive => Reply::Trouble(Trouble::NobodyThere),
            Step::Acknowledge => Reply::Said(server.acknowledged()),
            Step::Pull(pull) if pull.instance != server.instance => Reply::OtherInstance,
            Step::Pull(_) if !server.workers[line.worker].outgoing.has_any_for(to) => {
                Reply::Trouble(Trouble::Refused)
            }
            Step::Pull(pull) => {
                let place = pull
                    .place
                    .or(line.pulled_to)
                    .expect("a place to go on from");
                let items = server.items_for(line.worker, to, &after(place), BATCH);
                let place = items.last().map_or(place, |(key, _)| place_of(key));
                line.pulled_to = Some(place);
                let next = Some(place).filter(|_| items.len() == BATCH);
                let head = PulledHead::Items { next, progress: 0 };
                let items = items.into_iter();
                let shown = |(key, item): (String, u64)| {
                    let shown = Some(item).filter(|_| !is_large(&key));
                    (key, shown)
                };
                Reply::Items(head, pull.instance, items.map(shown).collect())
            }
            Step::Fetch(key) => {
                let key = String::from_utf8(key).expect("a key");
                let item = server.items.get(&key).copied();
                Reply::Item(server.instance, key, item)
            }
            Step::Wait(_) | Step::Over => return,
        };
        self.tell(ends, number, reply);
    }

    /// The server that was asked answers.
    fn tell(&mut self, ends: Ends, number: u64, reply: Reply) {
        let delay_ms = self.delay_ms();
        let Some(line) = self.lines.get(ends, number) else {
            return;
        };
        let at_ms = line.answer_at(self.now_ms + delay_ms);
        self.at(at_ms - self.now_ms, Event::Told(ends, number, reply));
    }

    pub(super) fn told(&mut self, ends: Ends, number: u64, reply: Reply) {
        let (by, from, epoch) = ends;
        if self.lines.get(ends, number).is_none() || !self.servers[by].is_alive {
            return;
        }
        let mut courses = std::mem::take(&mut self.servers[by].courses);
        let is_its =
            |it: &&mut Course| it.stream.from.0 as usize - 1 == from && it.stream.epoch == epoch;
        match courses.iter_mut().find(is_its) {
            Some(course) => self.take(course, ends, reply),
            None => self.lines.end(ends),
        }
        self.servers[by].courses = courses;
    }

    /// A course takes an answer.
    fn take(&mut self, course: &mut Course, ends: Ends, reply: Reply) {
        let (now_ms, by) = (self.now_ms, ends.0);
        let mut by_key = Vec::new();
        let head = match reply {
            Reply::Said(said) => return course.on_acknowledged(said, now_ms),
            Reply::Trouble(trouble) => {
                self.lines.end(ends);
                return course.on_trouble(trouble, now_ms, &mut self.servers[by].pace);
            }
            Reply::Item(instance, key, item) => {
                item.into_iter()
                    .for_each(|item| self.keep(by, instance, &key, item));
                let is_its = instance == course.stream.instance();
                return course.on_fetched(is_its, (1, now_ms), &mut self.servers[by].pace);
            }
            Reply::OtherInstance => PulledHead::OtherInstance,
            Reply::Items(head, instance, items) => {
                for (key, item) in items {
                    match item {
                        Some(item) => self.keep(by, instance, &key, item),
                        None => by_key.push(key.into_bytes()),
                    }
                }
                head
            }
        };
        course.on_pulled(head, by_key, (1, now_ms), &mut self.servers[by].pace);
    }

    fn keep(&mut self, by: usize, instance: u64, key: &str, item: u64) {
        let hash = self.servers[by].map.hash_of_key(key.as_bytes());
        let place = KeyPlace::new(hash.expect("keys are placed"), key.as_bytes());
        let table = self.servers[by].taking.table();
        self.brought += 1;
        self.servers[by].admit(&table, place, instance, key, item);
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

/// Its place is the number of the key.
fn place_of(key: &str) -> Place {
    let position = names().iter().position(|name| name == key);
    marked([position.expect("a key") as u8 + 1; 16])
}

/// The key behind which a place is.
fn after(place: Place) -> String {
    let number = usize::from(unmarked(place)[0]);
    let key = number
        .checked_sub(1)
        .map(|position| names()[position].clone());
    key.unwrap_or_default()
}

/// Whether the item of this key does not come with others.
fn is_large(key: &str) -> bool {
    key.ends_with(['3', '7'])
}
