//! The thread that takes part: joins a session with etcd, the clock and the [`Node`].

use super::lease::{Asked, Lease};
use super::news::{EtcdNews, Hooks, Status};
use super::rotation::Rotation;
use super::session::{Failure, Mark, Place, Session};
use super::settings::EtcdSettings;
use crate::SavedMap;
use crate::in_force::InForce;
use crate::members::{Action, Node, View};
use farcache_cluster::ClusterMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until};

/// How long a server that stops waits until others have taken its keys.
const LEAVE_MAX: Duration = Duration::from_secs(3);

/// How long to wait before the store is looked at again after another server was quicker.
const RETRY: Duration = Duration::from_millis(20);

/// How often a server looks what it has done, while keys move to it or from it.
const LOOK: Duration = Duration::from_millis(200);

/// Takes part in a cluster.
pub(super) struct Member {
    place: Arc<Place>,
    rotation: Rotation,
    node: Node,
    view: View,
    lease: Lease,
    /// What was read last is older than the server's present offer: a map that was made before the
    /// offer may be missing.
    must_read: bool,
    /// What was seen of etcd last, and when.
    seen: Option<(Mark, Instant)>,
    saved: Option<SavedMap>,
    in_force: Arc<InForce>,
    hooks: Box<dyn Hooks>,
    is_told_disconnected: bool,
    told_stuck: Option<String>,
    status: Status,
    shown: Arc<Mutex<Status>>,
    started: Instant,
}

impl Member {
    pub(super) fn new(
        settings: EtcdSettings,
        seed: u64,
        (saved, map): (Option<SavedMap>, Option<Arc<ClusterMap>>),
        (in_force, shown): (Arc<InForce>, Arc<Mutex<Status>>),
        hooks: Box<dyn Hooks>,
    ) -> Self {
        let session = format!("{seed:016x}");
        let place = Place::new(&settings, session.clone());
        Self {
            place: Arc::new(place),
            node: Node::new(settings.identity(session), settings.timing(), map),
            view: View::new(settings.cluster.clone()),
            lease: Lease::new(&settings),
            rotation: Rotation::new(settings.endpoints, seed),
            must_read: false,
            seen: None,
            saved,
            in_force,
            hooks,
            is_told_disconnected: false,
            told_stuck: None,
            status: Status {
                unreachable_since: Some(Instant::now()),
                ..Status::default()
            },
            shown,
            started: Instant::now(),
        }
    }

    /// Takes part until told to leave, and some time after that at most.
    pub(super) async fn run(mut self, leaving: watch::Receiver<bool>) {
        self.show();
        let mut told = leaving.clone();
        let overdue = async move {
            is_told(&mut told).await;
            sleep(LEAVE_MAX).await;
        };
        let in_force = Arc::clone(&self.in_force);
        tokio::select! {
            () = self.take_part(leaving) => {}
            () = overdue => {}
        }
        in_force.end();
    }

    async fn take_part(&mut self, mut leaving: watch::Receiver<bool>) {
        loop {
            let Err(failure) = self.session(&mut leaving).await else {
                return;
            };
            self.disconnected(&failure);
            if *leaving.borrow() && self.lease.id().is_none() {
                return;
            }
            sleep(self.rotation.failed()).await;
        }
    }

    /// Takes part through one endpoint. Returns when the server has left.
    async fn session(&mut self, leaving: &mut watch::Receiver<bool>) -> Result<(), Failure> {
        let endpoint = self.rotation.current();
        let opened = Session::open(endpoint, Arc::clone(&self.place), &mut self.view).await;
        let (mut session, mark) = opened?;
        self.arrived(mark);
        self.keep_lease(&mut session).await?;
        self.connected();
        let beat = self.lease.ttl() / 3;
        let mut beat_at = Instant::now() + beat;
        loop {
            if *leaving.borrow() {
                self.node.leave();
            }
            // Nobody is told that nothing is done yet: each word makes all servers look, at the
            // moment at which they take over a map.
            if self.node.tells_of_moves()
                && let Some(done) = self.hooks.done()
            {
                self.node.note_done(done);
            }
            self.act(&mut session).await?;
            self.tell_until_when();
            self.show();
            if !self.node.wants_lease() {
                self.lease.end(&mut session).await?;
            }
            if self.node.has_left() {
                return self.lease.end(&mut session).await;
            }
            let is_leaving = *leaving.borrow();
            tokio::select! {
                changes = session.changes() => session.note(&changes?, &mut self.view),
                () = sleep_until(beat_at.into()) => {
                    self.keep_lease(&mut session).await?;
                    beat_at = Instant::now() + beat;
                }
                () = self.due() => {}
                () = is_told(leaving), if !is_leaving => {}
            }
        }
    }

    /// Carries out what the node wants.
    async fn act(&mut self, session: &mut Session) -> Result<(), Failure> {
        let was_publisher = self.node.is_publisher();
        loop {
            while let Some(action) =
                self.node
                    .step(&self.view, self.lease.id(), self.started.elapsed())
            {
                if !self.carry_out(action, session).await? {
                    // The feed will tell what others did; but a look is surer.
                    sleep(RETRY).await;
                    session.read_all(&mut self.view).await?;
                }
            }
            if !std::mem::take(&mut self.must_read) {
                break;
            }
            session.read_all(&mut self.view).await?;
        }
        let is_publisher = self.node.is_publisher();
        if was_publisher != is_publisher {
            self.hooks.tell(EtcdNews::Publishes(is_publisher));
        }
        if self.node.is_replaced() && !self.status.is_replaced {
            self.status.is_replaced = true;
            self.hooks.tell(EtcdNews::Replaced);
        }
        self.tell_if_stuck();
        Ok(())
    }

    /// False where the store has changed meanwhile.
    async fn carry_out(&mut self, action: Action, session: &mut Session) -> Result<bool, Failure> {
        match action {
            Action::Adopt(map) => self.adopt(map),
            Action::Forget => {
                self.hooks.forget_items();
                self.status.times_forgotten += 1;
                self.hooks.tell(EtcdNews::Forgot);
            }
            Action::Offer {
                offer,
                lives_revision,
            } => {
                let lease = self.lease.id().unwrap_or(0);
                let offered = session.offer(&offer, lives_revision, lease, &mut self.view);
                if !offered.await? {
                    return Ok(false);
                }
                self.node.offered(&offer);
                self.must_read = true;
            }
            Action::Campaign => {
                let lease = self.lease.id().unwrap_or(0);
                return session.campaign(lease, &mut self.view).await;
            }
            Action::Write {
                map,
                map_revision,
                as_publisher,
                given_up,
            } => {
                let given_up = as_publisher.then_some(given_up.as_slice());
                let written = session.write_map(&map, map_revision, given_up, &mut self.view);
                let is_written = written.await?;
                self.status.maps_published += u64::from(is_written && as_publisher);
                return Ok(is_written);
            }
        }
        Ok(true)
    }

    /// A map comes into force, once it is on disk: a server that starts again does not go back.
    fn adopt(&mut self, map: Arc<ClusterMap>) {
        let saved = self.saved.as_ref().map(|saved| saved.save(&map));
        if let Some(Err(error)) = saved {
            self.hooks.tell(EtcdNews::NotSaved(error.to_string()));
        }
        let life = self.node.life();
        let prepare = |map: &ClusterMap| self.hooks.prepare(map, life);
        match self.in_force.replace(map, prepare) {
            Ok(Some(map)) => self.hooks.tell(EtcdNews::InForce(map)),
            Ok(None) => {}
            Err(refused) => self.hooks.tell(EtcdNews::Stuck(refused.to_string())),
        }
    }

    /// Makes the lease live on, or gets one.
    async fn keep_lease(&mut self, session: &mut Session) -> Result<(), Failure> {
        let asked = Asked::now();
        if !self.lease.prolong(session).await? {
            self.status.leases_lost += 1;
            self.hooks.tell(EtcdNews::LeaseLost);
        }
        if self.node.wants_lease() {
            self.lease.get(session).await?;
        }
        // etcd counts from when it was asked, which was later.
        self.status.lease_until = Some(asked.at + self.lease.ttl());
        // Whoever is given this server's keys counts on it that this server knows of each map that
        // was there before it asked.
        if session.map_revision().await? != self.view.map_revision() {
            session.read_all(&mut self.view).await?;
        }
        self.lease.note_asked(asked);
        self.seen = self.seen.map(|(mark, _)| (mark, asked.at));
        Ok(())
    }

    /// Called when all is done about what was seen: the server stands in etcd under its lease, and
    /// the map in force is none that was made before that.
    fn tell_until_when(&self) {
        let until = match self.node.is_replaced() {
            true => Duration::ZERO,
            false => self.lease.certain_until(),
        };
        self.hooks.may_answer_until(until);
    }

    /// What was seen of absences counts on only where etcd is the one it was, and not for long out
    /// of sight.
    fn arrived(&mut self, mark: Mark) {
        let is_continued = self.seen.is_some_and(|(seen, at)| {
            let is_same = seen.cluster == mark.cluster && seen.revision <= mark.revision;
            is_same && at.elapsed() < self.lease.ttl()
        });
        if !is_continued {
            self.node.forget_absences();
        }
        self.seen = Some((mark, Instant::now()));
    }

    fn connected(&mut self) {
        let endpoint = self.rotation.current().to_string();
        self.rotation.served();
        self.is_told_disconnected = false;
        self.status.endpoint = Some(endpoint.clone());
        self.status.unreachable_since = None;
        // Who says that etcd is out of its reach has counted no absences yet.
        self.show();
        self.hooks.tell(EtcdNews::Connected(endpoint));
    }

    fn disconnected(&mut self, failure: &Failure) {
        self.status.endpoint = None;
        self.status
            .unreachable_since
            .get_or_insert_with(Instant::now);
        self.status.endpoints_failed += 1;
        self.show();
        if !self.is_told_disconnected {
            self.is_told_disconnected = true;
            let endpoint = self.rotation.current().to_string();
            let news = EtcdNews::Disconnected(endpoint, failure.to_string());
            self.hooks.tell(news);
        }
    }

    fn tell_if_stuck(&mut self) {
        let unreadable = self.view.map.as_ref().map(|entry| entry.value.as_ref());
        let unreadable = unreadable.and_then(Result::err).cloned();
        let stuck = unreadable.or_else(|| self.node.problem().map(ToString::to_string));
        if stuck != self.told_stuck {
            self.told_stuck.clone_from(&stuck);
            if let Some(reason) = stuck {
                self.hooks.tell(EtcdNews::Stuck(reason));
            }
        }
    }

    fn show(&mut self) {
        self.status.is_listed = self.node.is_listed();
        self.status.is_publisher = self.status.endpoint.is_some() && self.node.is_publisher();
        self.status.suspects = self.node.absences().suspects().collect();
        *self.shown.lock().expect("no panic while held") = self.status.clone();
    }

    /// Waits until the node has something to do although nothing has changed.
    async fn due(&self) {
        let now = self.started.elapsed();
        let look = self.node.tells_of_moves().then(|| now + LOOK);
        match self.node.wake_at(now).into_iter().chain(look).min() {
            Some(at) => sleep_until((self.started + at).into()).await,
            None => std::future::pending().await,
        }
    }
}

/// Waits until the server is told to leave.
async fn is_told(leaving: &mut watch::Receiver<bool>) {
    // Nobody is left to tell: as good as told.
    let _ = leaving.wait_for(|is_leaving| *is_leaving).await;
}
