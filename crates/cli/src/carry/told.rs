//! What servers told, as that by which moves go on.

use crate::ask::Reports;
use crate::report::{Ends, Report};
use farcache_cluster::ServerId;
use farcache_cluster::map::{Epoch, Move, Progress};

/// The reports of one look.
pub(super) struct Told<'a>(pub(super) &'a Reports);

impl Told<'_> {
    /// A server that has this map, or a later one.
    fn following(&self, server: ServerId, epoch: Epoch) -> Option<&Report> {
        let report = self.0.get(&server)?.as_ref().ok()?;
        (report.epoch >= epoch).then_some(report)
    }
}

impl Progress for Told<'_> {
    /// The new owner must be there, too: it decides from then on.
    fn is_acknowledged(&self, moved: &Move, epoch: Epoch) -> bool {
        let giving = self.following(moved.from, epoch);
        let end = giving.and_then(|report| report.moves.get(&Ends::of(moved)));
        let acknowledged = end.is_some_and(|end| end.acknowledged_epoch >= epoch.0);
        acknowledged && self.following(moved.to, epoch).is_some()
    }

    /// As the new owner tells under the very map that lists the move: under another one it may have
    /// had other arcs.
    fn is_complete(&self, moved: &Move, epoch: Epoch) -> bool {
        let taking = self.following(moved.to, epoch);
        let taking = taking.filter(|report| report.epoch == epoch);
        let end = taking.and_then(|report| report.moves.get(&Ends::of(moved)));
        end.is_some_and(|end| end.is_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::End;
    use farcache_cluster::map::{HashArc, Phase};

    fn moved(phase: Phase) -> Move {
        Move {
            from: ServerId(1),
            to: ServerId(2),
            phase,
            arcs: vec![HashArc::ALL],
        }
    }

    fn reports(phase: Phase, epochs: [u64; 2], end: &End) -> Reports {
        let report = |epoch| Report {
            epoch: Epoch(epoch),
            moves: [(Ends::of(&moved(phase)), end.clone())].into(),
            ..Report::default()
        };
        [
            (ServerId(1), Ok(report(epochs[0]))),
            (ServerId(2), Ok(report(epochs[1]))),
        ]
        .into()
    }

    #[test]
    fn a_move_is_acknowledged_by_all_of_its_old_owner_with_the_new_one_there() {
        let is = |epochs, acknowledged_epoch| {
            let end = End {
                acknowledged_epoch,
                ..End::default()
            };
            let reports = reports(Phase::HandingOver, epochs, &end);
            Told(&reports).is_acknowledged(&moved(Phase::HandingOver), Epoch(5))
        };
        assert!(is([5, 5], 5) && is([6, 5], 6));
        assert!(!is([5, 5], 4), "some workers are behind");
        assert!(!is([5, 4], 5), "the new owner is not there yet");
        let mut reports = reports(Phase::HandingOver, [5, 5], &End::default());
        reports.insert(ServerId(1), Err("dead".to_owned()));
        assert!(!Told(&reports).is_acknowledged(&moved(Phase::HandingOver), Epoch(5)));
    }

    #[test]
    fn a_move_is_complete_where_the_new_owner_says_so_under_this_map() {
        let is = |epoch, is_done| {
            let end = End {
                is_done,
                ..End::default()
            };
            let reports = reports(Phase::Streaming, [5, epoch], &end);
            Told(&reports).is_complete(&moved(Phase::Streaming), Epoch(5))
        };
        assert!(is(5, true));
        assert!(!is(5, false) && !is(4, true) && !is(6, true));
    }
}
