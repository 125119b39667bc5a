//! Requests on their way, and what servers make of them.

use super::*;

impl World {
    pub(super) fn is_there(&self, id: usize, instance: u64) -> bool {
        self.servers[id].is_alive && self.servers[id].instance == instance
    }

    /// Refused because maps differ: tries again, or gives up.
    pub(super) fn refused(&mut self, mut request: Request) {
        let first = Patience::new(self.now_ms, TIMEOUT_MS);
        let patience = *request.patience.get_or_insert(first);
        match patience.next_try_ms(self.now_ms) {
            Some(at_ms) => {
                (request.owner, request.fetched_by) = (None, None);
                self.at(at_ms - self.now_ms, Event::At(request));
            }
            None => self.end(request.key, request.number, Outcome::Failed),
        }
    }

    pub(super) fn ask(&mut self, mut request: Request) {
        let asked = request.asked;
        if !self.is_there(asked, request.instance) {
            return self.end(request.key, request.number, Outcome::Failed);
        }
        let worker = self.worker_of(&mut request);
        match self.servers[asked].judge(worker, &name(request.key)) {
            Verdict::Nobody => self.refused(request),
            Verdict::Elsewhere(owner) => {
                let owner = owner.0 as usize - 1;
                if self.is_cut(asked, owner) || !self.servers[owner].is_alive {
                    return self.end(request.key, request.number, Outcome::Failed);
                }
                request.owner = Some(owner);
                request.fetched_by = None;
                self.send(Event::AtOwner(request));
            }
            verdict => self.carry_out(request, asked, worker, &verdict),
        }
    }

    /// The worker whose client asks: the same as before, where it has waited for another server.
    pub(super) fn worker_of(&mut self, request: &mut Request) -> usize {
        let any = self.below(WORKERS as u64) as usize;
        request.fetched_by.unwrap_or(any)
    }

    pub(super) fn at_owner(&mut self, mut request: Request) {
        let owner = request.owner.expect("it was passed on");
        if !self.servers[owner].is_alive {
            // Whoever asked learns of it by the connection, or never.
            return;
        }
        let worker = self.worker_of(&mut request);
        match self.servers[owner].judge(worker, &name(request.key)) {
            Verdict::Nobody | Verdict::Elsewhere(_) => self.send(Event::Answer(request, None)),
            verdict => self.carry_out(request, owner, worker, &verdict),
        }
    }

    pub(super) fn answered(&mut self, request: Request, outcome: Option<Outcome>) {
        match outcome {
            None if self.is_there(request.asked, request.instance) => self.refused(request),
            None => self.end(request.key, request.number, Outcome::Failed),
            Some(outcome) => self.end(request.key, request.number, outcome),
        }
    }

    /// The server `at` decides.
    pub(super) fn carry_out(
        &mut self,
        request: Request,
        at: usize,
        worker: usize,
        verdict: &Verdict,
    ) {
        let key = name(request.key);
        let is_needed = !matches!(request.deed, Deed::Set(_)) && request.fetched_by.is_none();
        if let Verdict::Bring(from, instance) = verdict
            && is_needed
            && !self.servers[at].items.contains_key(&key)
        {
            let from = from.0 as usize - 1;
            let is_reached = self.servers[from].is_alive && !self.is_cut(at, from);
            let event = match is_reached {
                true => Event::Fetch(request, (from, at, worker), *instance),
                false => Event::Fetched(request, (at, worker), *instance, None),
            };
            return self.send(event);
        }
        let server = &mut self.servers[at];
        if request.deed != Deed::Get {
            server.settle(worker, &key);
        }
        let outcome = match request.deed {
            Deed::Get => Outcome::Done(server.items.get(&key).copied()),
            Deed::Set(version) => {
                server.items.insert(key, version);
                Outcome::Done(None)
            }
            Deed::Delete => {
                server.items.remove(&key);
                Outcome::Done(None)
            }
        };
        match request.owner {
            Some(_) => self.send(Event::Answer(request, Some(outcome))),
            None => self.end(request.key, request.number, outcome),
        }
    }

    /// Server `from` is asked by `to` what it has of a key.
    pub(super) fn fetch(&mut self, request: Request, way: (usize, usize, usize), instance: u64) {
        let (from, to, asking) = way;
        let (key, worker) = (name(request.key), self.below(WORKERS as u64) as usize);
        let server = &self.servers[from];
        let (place, to_id) = (server.place(worker, &key), self.servers[to].id);
        let gives = server.workers[worker].outgoing.to(place.hash) == Some(to_id);
        let item = match server.is_alive && server.instance == instance && gives {
            true => Some(server.items.get(&key).copied()),
            false => None,
        };
        self.send(Event::Fetched(request, (to, asking), instance, item));
    }

    pub(super) fn fetched(
        &mut self,
        mut request: Request,
        (at, worker): (usize, usize),
        instance: u64,
        item: Option<Option<u64>>,
    ) {
        if !self.servers[at].is_alive {
            return;
        }
        let key = name(request.key);
        let place = self.servers[at].place(worker, &key);
        let table = Arc::clone(&self.servers[at].workers[worker].table);
        match item {
            Some(Some(item)) => {
                self.brought += 1;
                self.servers[at].admit(&table, place, instance, &key, item);
            }
            Some(None) => self.settle_at(&table, place),
            // Nothing can be had: it counts as evicted.
            None => {}
        }
        request.fetched_by = Some(worker);
        // The request runs again, by what its worker goes by now.
        match request.owner {
            Some(_) => self.at_owner(request),
            None => self.ask(request),
        }
    }

    pub(super) fn settle_at(&self, table: &Table, place: KeyPlace) {
        if let Some(stream) = table.stream_of(place.hash) {
            stream.settle(place);
        }
    }
}
