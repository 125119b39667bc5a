//! Whether this server publishes the maps, and when it may publish the next one.

use farcache_cluster::ClusterMap;
use farcache_cluster::map::InvalidMap;
use std::time::Duration;

/// What one server knows of its part as the publisher.
#[derive(Debug, Default)]
pub(super) struct Publication {
    /// Since when this server has seen itself as the publisher.
    since: Option<Duration>,
    /// When it published last.
    at: Option<Duration>,
    /// Why the next map cannot be made.
    problem: Option<InvalidMap>,
}

impl Publication {
    /// At this time the store names this server as the publisher, or another, or nobody.
    pub fn observe(&mut self, is_this: bool, now: Duration) {
        self.since = is_this.then(|| self.since.unwrap_or(now));
    }

    /// Since when this server has seen itself as the publisher; none where it is not.
    pub fn since(&self) -> Option<Duration> {
        self.since
    }

    /// Why the next map cannot be made.
    pub fn problem(&self) -> Option<&InvalidMap> {
        self.problem.as_ref()
    }

    /// From when on the next map may be published; none where nothing stands against it.
    pub fn next(&self, spacing: Duration) -> Option<Duration> {
        self.since.and_then(|_| self.at.map(|at| at + spacing))
    }

    /// As [`Publication::since`]; none as well where the last map is too young.
    pub fn may_publish(&self, now: Duration, spacing: Duration) -> Option<Duration> {
        let is_too_early = self.next(spacing).is_some_and(|from| now < from);
        self.since.filter(|_| !is_too_early)
    }

    /// Takes the next map, if there is one, for published now; else keeps why there is none.
    pub fn publish(
        &mut self,
        map: Result<Option<ClusterMap>, InvalidMap>,
        now: Duration,
    ) -> Option<ClusterMap> {
        self.problem = map.as_ref().err().cloned();
        let map = map.ok()??;
        self.at = Some(now);
        Some(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_cluster::map::{Epoch, MapContent, Rule};

    const SPACING: Duration = Duration::from_secs(2);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn who_loses_its_part_begins_anew() {
        let mut publication = Publication::default();
        publication.observe(true, at(3));
        publication.observe(true, at(5));
        assert_eq!(publication.since(), Some(at(3)));
        publication.observe(false, at(6));
        assert_eq!(publication.may_publish(at(9), SPACING), None);
        publication.observe(true, at(7));
        assert_eq!(publication.may_publish(at(9), SPACING), Some(at(7)));
    }

    #[test]
    fn maps_follow_one_another_at_a_distance() {
        let mut publication = Publication::default();
        publication.observe(true, at(3));
        assert_eq!(publication.next(SPACING), None);
        assert_eq!(publication.publish(Ok(None), at(4)), None);
        assert_eq!(publication.next(SPACING), None, "there was nothing new");
        let map = ClusterMap::new(MapContent {
            cluster: "c".parse().expect("a name"),
            epoch: Epoch(1),
            rule: Rule::Ketama,
            servers: Vec::new(),
            moves: Vec::new(),
        });
        assert!(publication.publish(map.map(Some), at(5)).is_some());
        assert_eq!(publication.next(SPACING), Some(at(7)));
        assert_eq!(publication.may_publish(at(6), SPACING), None);
        assert_eq!(publication.may_publish(at(7), SPACING), Some(at(3)));
    }
}
