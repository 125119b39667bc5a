//! How many keys and bytes a change moves, by how many items servers hold and how many of their
//! hashes change owners.

use crate::ask::{Reports, report_of};
use farcache_cluster::map::{HashArc, MemberState, Phase};
use farcache_cluster::{ClusterMap, ServerId};

/// What moves from one server to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// From where.
    pub from: ServerId,
    /// To where; none: it is lost.
    pub to: Option<ServerId>,
    /// The share of all keys that there may be, 0 to 1.
    pub share: f64,
    /// Items and their bytes; none where the old owner did not answer.
    pub held: Option<(u64, u64)>,
}

/// All that moves, or is lost, between two maps.
#[must_use]
pub fn moved(before: &ClusterMap, after: &ClusterMap, reports: &Reports) -> Vec<Moved> {
    let of = |from: ServerId, to: Option<ServerId>, hashes: u64| {
        let decided = hashes_of(&before.arcs_of(from));
        let part = |count: u64| {
            (u128::from(count) * u128::from(hashes) / u128::from(decided.max(1))) as u64
        };
        let report = report_of(reports, from);
        Moved {
            from,
            to,
            share: hashes as f64 / (1_u64 << 32) as f64,
            held: report.map(|report| (part(report.items), part(report.bytes))),
        }
    };
    let moves = after.content().moves.iter();
    let moves = moves.filter(|moved| moved.phase == Phase::HandingOver);
    let moves = moves.map(|moved| of(moved.from, Some(moved.to), hashes_of(&moved.arcs)));
    let lost = after.content().servers.iter().filter(|server| {
        let was = before.server(server.id).map(|was| was.state);
        server.state == MemberState::Gone && was != Some(MemberState::Gone)
    });
    let lost = lost.map(|server| of(server.id, None, hashes_of(&before.arcs_of(server.id))));
    moves.chain(lost.filter(|lost| lost.share > 0.0)).collect()
}

fn hashes_of(arcs: &[HashArc]) -> u64 {
    arcs.iter().map(HashArc::hashes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;

    fn map(servers: &str, rest: &str) -> ClusterMap {
        let text = format!(
            "farcache-cluster-map 1\ncluster c\nepoch 1\nplacement slots\n{servers}{rest}end\n"
        );
        text.parse().unwrap()
    }

    fn servers(states: [&str; 2]) -> String {
        let lines = (1..).zip(states).map(|(id, state)| {
            format!("server {id} incarnation=1 weight=1 zone=- state={state} addresses=a{id}:1\n")
        });
        lines.collect()
    }

    fn reports() -> Reports {
        let report = Report {
            items: 1000,
            bytes: 4000,
            ..Report::default()
        };
        [
            (ServerId(1), Ok(report)),
            (ServerId(2), Err("dead".to_owned())),
        ]
        .into()
    }

    #[test]
    fn items_move_in_proportion_to_the_hashes_that_a_server_decides_on() {
        let before = map(
            &servers(["serving", "serving"]),
            "slots 1 0-8191\nslots 2 8192-16383\n",
        );
        let after = map(
            &servers(["serving", "serving"]),
            "slots 1 0-4095\nslots 2 4096-16383\n\
             move from=1 to=2 phase=handing-over\narc 40000000-7fffffff\n",
        );
        let wanted = Moved {
            from: ServerId(1),
            to: Some(ServerId(2)),
            share: 0.25,
            held: Some((500, 2000)),
        };
        assert_eq!(moved(&before, &after, &reports()), [wanted]);
    }

    #[test]
    fn what_a_server_that_goes_holds_is_lost_and_unknown_where_it_is_dead() {
        let before = map(
            &servers(["serving", "serving"]),
            "slots 1 0-8191\nslots 2 8192-16383\n",
        );
        let after = map(&servers(["serving", "gone"]), "slots 1 0-16383\n");
        let wanted = Moved {
            from: ServerId(2),
            to: None,
            share: 0.5,
            held: None,
        };
        assert_eq!(moved(&before, &after, &reports()), [wanted]);
    }
}
