//! Keys move to and from the last server of a fleet.

use crate::fleet::{Fleet, wait_for};
use farcache_cluster::map::{Epoch, Move, Phase, difference, plan_moves};
use farcache_cluster::{ClusterMap, MapContent};
use std::io;

/// A phase of the moves, and when it is over.
struct Step {
    phase: Phase,
    /// As `stats cluster` names it.
    word: &'static str,
    /// The statistic that tells of its end.
    end: &'static str,
}

const STEPS: [Step; 2] = [
    Step {
        phase: Phase::HandingOver,
        word: "handing-over",
        end: "acknowledged_epoch",
    },
    Step {
        phase: Phase::Streaming,
        word: "streaming",
        end: "done",
    },
];

impl Fleet<'_> {
    /// Has the first `after` servers own keys instead of the first `before`, and moves items, from
    /// the first map of the moves until they are done.
    ///
    /// # Errors
    /// If a server does not do its part in time.
    pub fn change(&mut self, before: usize, after: usize) -> io::Result<()> {
        let read = |text: String| text.parse::<ClusterMap>().map_err(io::Error::other);
        let (old, new) = (read(self.map(before))?, read(self.map(after))?);
        let changes = difference(&old, &new).map_err(io::Error::other)?;
        let moves = plan_moves(&changes);
        for step in &STEPS {
            let text = self.moving(after, &moves, step.phase)?;
            self.publish_text(&text)?;
            for moved in &moves {
                self.wait_for_end(moved, step)?;
            }
        }
        self.publish(after)
    }

    fn wait_for_end(&self, moved: &Move, step: &Step) -> io::Result<()> {
        let (from, to) = (moved.from.0, moved.to.0);
        let name = format!("move:{from}:{to}:{}:{}", step.word, step.end);
        let epoch = self.epoch().to_string();
        let (who, expected) = match step.phase {
            Phase::HandingOver => (from, epoch.as_str()),
            Phase::Streaming => (to, "yes"),
        };
        // The other end has to go by the map, too.
        for (server, name, expected) in [(to, "epoch", epoch.as_str()), (who, &name, expected)] {
            let mut control = self.control(server as usize - 1)?;
            wait_for(name, || {
                let stats = control.stats("cluster")?;
                Ok(stats.get(name).is_some_and(|told| told == expected))
            })?;
        }
        Ok(())
    }

    fn moving(&self, owners: usize, moves: &[Move], phase: Phase) -> io::Result<String> {
        let map: ClusterMap = self.map(owners).parse().map_err(io::Error::other)?;
        let of_phase = |moved: &Move| Move {
            phase,
            ..moved.clone()
        };
        let content = MapContent {
            epoch: Epoch(map.epoch().0),
            moves: moves.iter().map(of_phase).collect(),
            ..map.into_content()
        };
        let map = ClusterMap::new(content).map_err(io::Error::other)?;
        Ok(map.to_string())
    }
}
