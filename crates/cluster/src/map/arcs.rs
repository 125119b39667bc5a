//! Sets of hashes as lists of arcs. But where it is said, lists ascend and their arcs lie apart.

use super::content::HashArc;

/// Hashes that are on both.
#[must_use]
pub fn common(arcs: &[HashArc], others: &[HashArc]) -> Vec<HashArc> {
    let mut both = Vec::new();
    for arc in arcs {
        let begin = others.partition_point(|other| other.last < arc.first);
        for other in others[begin..].iter().take_while(|it| it.first <= arc.last) {
            both.push(HashArc {
                first: arc.first.max(other.first),
                last: arc.last.min(other.last),
            });
        }
    }
    both
}

/// The hashes of `arcs` that are on none of `others`.
#[must_use]
pub fn without(arcs: &[HashArc], others: &[HashArc]) -> Vec<HashArc> {
    let mut left = Vec::new();
    for arc in arcs {
        let begin = others.partition_point(|other| other.last < arc.first);
        let mut first = Some(arc.first);
        for other in others[begin..].iter().take_while(|it| it.first <= arc.last) {
            if let Some(from) = first.filter(|from| *from < other.first) {
                let last = other.first - 1;
                left.push(HashArc { first: from, last });
            }
            first = other.last.checked_add(1).filter(|next| *next <= arc.last);
        }
        if let Some(first) = first {
            let last = arc.last;
            left.push(HashArc { first, last });
        }
    }
    left
}

/// Makes arcs that may overlap ascend, none of them next to another.
pub fn join(arcs: &mut Vec<HashArc>) {
    arcs.sort_unstable();
    arcs.dedup_by(|next, before| {
        let touches = next.first <= before.last.saturating_add(1);
        if touches {
            before.last = before.last.max(next.last);
        }
        touches
    });
}
