//! The keys on which one server decides, ready to be asked for every request.

use super::ClusterMap;
use super::content::HashArc;
use crate::ServerId;
use crate::hash::HashAlgorithm;

/// Cells that the hashes are cut into. A server of a ring has some 160 arcs, so that few cells have
/// an end of one in them; and the table stays in the first-level cache.
const CELLS: usize = 1 << 12;
const CELL_SHIFT: u32 = u32::BITS - CELLS.ilog2();

/// On which hashes of a cell the server decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    None,
    Some,
    All,
}

/// The keys on which one server decides.
#[derive(Clone, Debug)]
pub struct Domain {
    /// None where it decides on all keys.
    part: Option<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    algorithm: HashAlgorithm,
    /// Ascending, none next to another.
    arcs: Vec<HashArc>,
    cells: Box<[Cell; CELLS]>,
}

impl Domain {
    /// The domain of a server under this map; `None` is a server that the map does not list, and
    /// decides on no key. Where no server owns keys, each decides on all.
    #[must_use]
    pub fn new(map: &ClusterMap, server: Option<ServerId>) -> Domain {
        let has_all = match server {
            Some(server) => map.decides_on_every(server),
            None => map.has_no_owners(),
        };
        let algorithm = map.content().rule.key_hash().filter(|_| !has_all);
        let arcs = || server.map_or_else(Vec::new, |server| map.arcs_of(server));
        Domain {
            part: algorithm.map(|algorithm| Part::new(algorithm, arcs())),
        }
    }

    /// Whether these are all keys that there may be.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.part.is_none()
    }

    /// Whether the keys of this hash are among them.
    #[must_use]
    pub fn has_hash(&self, hash: u32) -> bool {
        self.part.as_ref().is_none_or(|part| part.has(hash))
    }

    /// Whether each of these keys is one of them. Takes less time than asking for each alone.
    #[must_use]
    pub fn has_each(&self, keys: &[&[u8]]) -> bool {
        self.part.as_ref().is_none_or(|part| {
            let has = |hash| part.has(hash);
            part.algorithm.digest_each(keys, has)
        })
    }
}

impl Part {
    fn new(algorithm: HashAlgorithm, arcs: Vec<HashArc>) -> Part {
        let mut cells = Box::new([Cell::None; CELLS]);
        for arc in &arcs {
            let (first, last) = (cell_of(arc.first), cell_of(arc.last));
            cells[first..=last].fill(Cell::All);
            if arc.first > first_hash(first) {
                cells[first] = Cell::Some;
            }
            if arc.last < last_hash(last) {
                cells[last] = Cell::Some;
            }
        }
        Part {
            algorithm,
            arcs,
            cells,
        }
    }

    #[inline]
    fn has(&self, hash: u32) -> bool {
        match self.cells[cell_of(hash)] {
            Cell::None => false,
            Cell::All => true,
            Cell::Some => self.is_in_arc(hash),
        }
    }

    fn is_in_arc(&self, hash: u32) -> bool {
        let before = self.arcs.partition_point(|arc| arc.last < hash);
        self.arcs.get(before).is_some_and(|arc| arc.first <= hash)
    }
}

#[inline]
fn cell_of(hash: u32) -> usize {
    (hash >> CELL_SHIFT) as usize
}

fn first_hash(cell: usize) -> u32 {
    (cell as u32) << CELL_SHIFT
}

fn last_hash(cell: usize) -> u32 {
    first_hash(cell) | (u32::MAX >> CELLS.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(arcs: &[(u32, u32)]) -> Part {
        let arcs = arcs.iter().map(|&(first, last)| HashArc { first, last });
        Part::new(HashAlgorithm::Md5, arcs.collect())
    }

    #[test]
    fn a_hash_is_in_the_domain_where_an_arc_has_it_wherever_arcs_end() {
        let cell = 1 << CELL_SHIFT;
        let ends = [0, 1, cell - 1, cell, cell + 1, 2 * cell - 1, 2 * cell];
        let ends = ends.into_iter().flat_map(|end| [end, u32::MAX - end]);
        let ends: Vec<u32> = ends.collect();
        for &first in &ends {
            for &last in ends.iter().filter(|&&last| last >= first) {
                let part = part(&[(first, last)]);
                for &hash in &ends {
                    let is_in = (first..=last).contains(&hash);
                    assert_eq!(part.has(hash), is_in, "{hash:x} {first:x}-{last:x}");
                }
            }
        }
    }

    #[test]
    fn arcs_within_one_cell_are_told_apart() {
        let part = part(&[(10, 20), (30, 30), (40, 50)]);
        let within = (0..60).filter(|&hash| part.has(hash));
        let expected: Vec<u32> = (10..=20).chain([30]).chain(40..=50).collect();
        assert_eq!(within.collect::<Vec<u32>>(), expected);
    }
}
