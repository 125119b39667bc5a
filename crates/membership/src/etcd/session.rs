//! Calls to one endpoint of etcd, each with a deadline.

use super::settings::{Endpoint, EtcdSettings, prefix};
use crate::members::{Key, Offer, View};
use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, EventType, GetOptions, KeyValue,
    LeaseKeepAliveStream, LeaseKeeper, Txn, TxnOp, WatchOptions, WatchResponse, WatchStream,
};
use farcache_cluster::ClusterMap;
use farcache_cluster::map::Name;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Why an endpoint is left.
#[derive(Debug)]
pub(super) enum Failure {
    /// It has not answered in time.
    Late,
    /// etcd or the network refused.
    Refused(Box<etcd_client::Error>),
    /// The feed of changes has ended, for this reason.
    FeedEnded(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => formatter.write_str("it does not answer in time"),
            Self::Refused(error) => error.fmt(formatter),
            Self::FeedEnded(reason) => write!(formatter, "it ended the feed: {reason}"),
        }
    }
}

impl From<etcd_client::Error> for Failure {
    fn from(error: etcd_client::Error) -> Self {
        Self::Refused(Box::new(error))
    }
}

type Called<T> = Result<T, Failure>;

/// What all keys are below, and whose they are.
pub(super) struct Place {
    prefix: String,
    call_max: Duration,
    ttl_seconds: i64,
    /// The session of this process.
    session: String,
}

impl Place {
    pub(super) fn new(settings: &EtcdSettings, session: String) -> Self {
        Self {
            prefix: settings.prefix(),
            call_max: settings.call_max(),
            ttl_seconds: settings.ttl_seconds.cast_signed(),
            session,
        }
    }

    /// For somebody who is no server and has no lease.
    pub(super) fn outside(cluster: &Name, call_max: Duration) -> Self {
        Self {
            prefix: prefix(cluster),
            call_max,
            ttl_seconds: 0,
            session: String::new(),
        }
    }

    fn key(&self, key: &Key) -> String {
        format!("{}{key}", self.prefix)
    }

    fn read(&self, key: &[u8]) -> Option<Key> {
        let name = std::str::from_utf8(key).ok()?;
        Key::named(name.strip_prefix(&self.prefix)?)
    }

    async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> Called<T> {
        let called = timeout(self.call_max, call).await;
        Ok(called.map_err(|_| Failure::Late)??)
    }
}

/// Which etcd it is, and how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) cluster: u64,
    pub(super) revision: i64,
}

/// A connection to one endpoint.
pub(super) struct Session {
    place: Arc<Place>,
    client: Client,
    feed: WatchStream,
    beats: Option<(LeaseKeeper, LeaseKeepAliveStream)>,
}

impl Session {
    /// Connects, and reads all there is into the view.
    pub(super) async fn open(
        endpoint: &Endpoint,
        place: Arc<Place>,
        view: &mut View,
    ) -> Called<(Self, Mark)> {
        // Without a leader an endpoint could only tell what was.
        let options = ConnectOptions::new()
            .with_connect_timeout(place.call_max)
            .with_require_leader(true);
        let address = format!("http://{endpoint}");
        let connected = Client::connect([address], Some(options));
        let mut client = place.within(connected).await?;
        let mark = read_all(&mut client, &place, view).await?;
        let options = WatchOptions::new()
            .with_prefix()
            .with_start_revision(mark.revision + 1);
        let watched = client.watch(place.prefix.as_str(), Some(options));
        let feed = place.within(watched).await?;
        let session = Self {
            place,
            client,
            feed,
            beats: None,
        };
        Ok((session, mark))
    }

    /// Reads all there is anew.
    pub(super) async fn read_all(&mut self, view: &mut View) -> Called<Mark> {
        read_all(&mut self.client, &self.place, view).await
    }

    /// The revision of the map's key, as the cluster of etcd has agreed on it by now: the feed may
    /// be behind. 0 where there is no map.
    pub(super) async fn map_revision(&mut self) -> Called<i64> {
        let options = GetOptions::new().with_keys_only();
        let got = self.client.get(self.place.key(&Key::Map), Some(options));
        let response = self.place.within(got).await?;
        Ok(response.kvs().first().map_or(0, KeyValue::mod_revision))
    }

    /// The next changes. May be dropped while it waits.
    pub(super) async fn changes(&mut self) -> Called<WatchResponse> {
        let ended = |reason: &str| Failure::FeedEnded(reason.to_owned());
        let response = self.feed.message().await?;
        let response = response.ok_or_else(|| ended("no reason given"))?;
        match response.canceled() {
            true => Err(ended(response.cancel_reason())),
            false => Ok(response),
        }
    }

    /// Notes changes in the view.
    pub(super) fn note(&self, changes: &WatchResponse, view: &mut View) {
        for event in changes.events() {
            let Some(pair) = event.kv() else { continue };
            let Some(key) = self.place.read(pair.key()) else {
                continue;
            };
            match event.event_type() {
                EventType::Put => put(&key, pair, view),
                EventType::Delete => view.delete(&key, pair.mod_revision()),
            }
        }
    }

    /// A new lease.
    pub(super) async fn grant(&mut self) -> Called<i64> {
        self.beats = None;
        let granted = self.client.lease_grant(self.place.ttl_seconds, None);
        Ok(self.place.within(granted).await?.id())
    }

    /// Makes the lease live for its whole time again; false where it has ended.
    pub(super) async fn beat(&mut self, lease: i64) -> Called<bool> {
        if self
            .beats
            .as_ref()
            .is_none_or(|(keeper, _)| keeper.id() != lease)
        {
            let left = self.client.lease_time_to_live(lease, None);
            if self.place.within(left).await?.ttl() <= 0 {
                return Ok(false);
            }
            let begun = self.client.lease_keep_alive(lease);
            self.beats = Some(self.place.within(begun).await?);
            return Ok(true);
        }
        let Some((keeper, answers)) = &mut self.beats else {
            return Ok(false);
        };
        let answered = async {
            keeper.keep_alive().await?;
            answers.message().await
        };
        let answer = self.place.within(answered).await?;
        let answer = answer.ok_or_else(|| Failure::FeedEnded("no lease".to_owned()))?;
        Ok(answer.ttl() > 0)
    }

    /// Ends the lease, and with it what was written under it.
    pub(super) async fn revoke(&mut self, lease: i64) -> Called<()> {
        let revoked = self.client.lease_revoke(lease);
        self.place.within(revoked).await.map(drop)
    }

    /// Writes an offer and the life that it is made in.
    pub(super) async fn offer(
        &mut self,
        offer: &Offer,
        lives_revision: i64,
        lease: i64,
        view: &mut View,
    ) -> Called<bool> {
        let name = offer.address.to_string();
        let lives = Key::Lives(name.clone());
        let writes = vec![
            (lives.clone(), offer.life.0.to_string(), 0),
            (Key::Server(name), offer.written(), lease),
        ];
        let unchanged = self.unchanged(&lives, lives_revision);
        self.write_if(vec![unchanged], writes, view).await
    }

    /// Becomes the publisher if there is none.
    pub(super) async fn campaign(&mut self, lease: i64, view: &mut View) -> Called<bool> {
        let key = self.place.key(&Key::Publisher);
        let is_absent = Compare::create_revision(key, CompareOp::Equal, 0);
        let writes = vec![(Key::Publisher, self.place.session.clone(), lease)];
        self.write_if(vec![is_absent], writes, view).await
    }

    /// Writes the map, if its key has not changed, and as the publisher where it gives up servers
    /// of which these keys tell, if they have these revisions.
    pub(super) async fn write_map(
        &mut self,
        map: &ClusterMap,
        map_revision: i64,
        publisher_gives_up: Option<&[(Key, i64)]>,
        view: &mut View,
    ) -> Called<bool> {
        let mut conditions = vec![self.unchanged(&Key::Map, map_revision)];
        if let Some(given_up) = publisher_gives_up {
            let given_up = given_up.iter();
            conditions.extend(given_up.map(|(key, revision)| self.unchanged(key, *revision)));
            let key = self.place.key(&Key::Publisher);
            let session = self.place.session.as_str();
            conditions.push(Compare::value(key, CompareOp::Equal, session));
        }
        let writes = vec![(Key::Map, map.to_string(), 0)];
        self.write_if(conditions, writes, view).await
    }

    fn unchanged(&self, key: &Key, revision: i64) -> Compare {
        Compare::mod_revision(self.place.key(key), CompareOp::Equal, revision)
    }

    /// Writes all or nothing, and notes what was written in the view.
    async fn write_if(
        &mut self,
        conditions: Vec<Compare>,
        writes: Vec<(Key, String, i64)>,
        view: &mut View,
    ) -> Called<bool> {
        let operations = writes.iter().map(|(key, value, lease)| {
            let options = etcd_client::PutOptions::new().with_lease(*lease);
            TxnOp::put(self.place.key(key), value.as_str(), Some(options))
        });
        let operations: Vec<_> = operations.collect();
        let txn = Txn::new().when(conditions).and_then(operations);
        let response = self.place.within(self.client.txn(txn)).await?;
        if !response.succeeded() {
            return Ok(false);
        }
        let revision = response.header().map_or(0, |header| header.revision());
        for (key, value, lease) in &writes {
            view.put(key, value.as_bytes(), *lease, revision);
        }
        Ok(true)
    }
}

async fn read_all(client: &mut Client, place: &Place, view: &mut View) -> Called<Mark> {
    let options = GetOptions::new().with_prefix();
    let got = client.get(place.prefix.as_str(), Some(options));
    let response = place.within(got).await?;
    let mark = response.header().map_or_else(
        || Mark {
            cluster: 0,
            revision: 0,
        },
        |header| Mark {
            cluster: header.cluster_id(),
            revision: header.revision(),
        },
    );
    view.clear();
    for pair in response.kvs() {
        if let Some(key) = place.read(pair.key()) {
            put(&key, pair, view);
        }
    }
    view.complete(mark.revision);
    Ok(mark)
}

fn put(key: &Key, pair: &KeyValue, view: &mut View) {
    view.put(key, pair.value(), pair.lease(), pair.mod_revision());
}
