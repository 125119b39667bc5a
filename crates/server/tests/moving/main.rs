//! Keys that move from server to server while clients go on: nothing that a server holds is lost on
//! the way, and nothing old comes back.

mod answers;
mod crashes;
#[allow(dead_code, reason = "the tests of forwarding use more of it")]
#[path = "../forwarding/fleet.rs"]
mod fleet;
mod growth;
mod items;
mod load;
#[path = "../support/mod.rs"]
mod support;

use farcache_cluster::map::{Epoch, Move, Phase, difference, plan_moves};
use farcache_cluster::{ClusterMap, MapContent};
use fleet::Fleet;
use support::wait_for;

impl Fleet {
    fn map(&self, epoch: u64, owners: &[u32]) -> ClusterMap {
        self.text(epoch, owners).parse().expect("a map")
    }

    /// What moves when these owners follow those.
    fn moves(&self, before: &[u32], after: &[u32]) -> Vec<Move> {
        let (before, after) = (self.map(1, before), self.map(1, after));
        plan_moves(&difference(&before, &after).expect("comparable"))
    }

    /// A map of these owners with these moves, all in this phase.
    fn moving_map(&self, epoch: u64, owners: &[u32], moves: &[Move], phase: Phase) -> String {
        let of_phase = |moved: &Move| Move {
            phase,
            ..moved.clone()
        };
        let content = MapContent {
            epoch: Epoch(epoch),
            moves: moves.iter().map(of_phase).collect(),
            ..self.map(epoch, owners).into_content()
        };
        ClusterMap::new(content).expect("a map").to_string()
    }

    fn publish_moving(&self, epoch: u64, owners: &[u32], moves: &[Move], phase: Phase) {
        let text = self.moving_map(epoch, owners, moves, phase);
        self.all()
            .iter()
            .for_each(|id| self.publish_text(*id, &text));
    }

    /// Has keys move until their new owners decide on them: epochs `epoch` and the next.
    fn begin_moving(&self, epoch: u64, owners: &[u32], moves: &[Move]) {
        self.publish_moving(epoch, owners, moves, Phase::HandingOver);
        self.wait_for_epoch_of(&self.all(), epoch);
        for moved in moves {
            self.wait_for_move(
                moved,
                Phase::HandingOver,
                moved.from.0,
                "acknowledged_epoch",
                |it| it == epoch.to_string(),
            );
        }
        self.publish_moving(epoch + 1, owners, moves, Phase::Streaming);
        self.wait_for_epoch_of(&self.all(), epoch + 1);
    }

    fn wait_for_done(&self, moves: &[Move]) {
        for moved in moves {
            self.wait_for_move(moved, Phase::Streaming, moved.to.0, "done", |it| {
                it == "yes"
            });
        }
    }

    fn move_stat(&self, moved: &Move, phase: Phase, id: u32, what: &str) -> Option<String> {
        let word = Phase::ALL
            .iter()
            .find(|(it, _)| *it == phase)
            .expect("a word")
            .1;
        let (from, to) = (moved.from, moved.to);
        self.stat_if_told(id, &format!("move:{from}:{to}:{word}:{what}"))
    }

    fn wait_for_move(
        &self,
        moved: &Move,
        phase: Phase,
        id: u32,
        what: &str,
        is_it: impl Fn(&str) -> bool,
    ) {
        wait_for(what, || {
            let told = self.move_stat(moved, phase, id, what);
            told.filter(|it| is_it(it)).map(drop)
        });
    }
}
