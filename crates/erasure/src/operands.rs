use crate::Error;
use std::ops::Range;

/// The shards that a product reads and writes, with lengths that fit together: all outputs have one
/// length, no source is longer, and no source is longer than the one before it. What a source lacks
/// counts as zeros.
///
/// The kernels rely on this without looking again, so nothing but [`Operands::new`] makes one.
pub struct Operands<'a, 'b> {
    sources: &'a [&'a [u8]],
    outputs: &'a mut [&'b mut [u8]],
    bytes: usize,
}

impl<'a, 'b> Operands<'a, 'b> {
    /// # Errors
    ///
    /// [`Error::ShardLength`] where the lengths do not fit together.
    pub fn new(sources: &'a [&'a [u8]], outputs: &'a mut [&'b mut [u8]]) -> Result<Self, Error> {
        let bytes = outputs.first().map_or(0, |output| output.len());
        let mut longest = bytes;
        for source in sources {
            if source.len() > longest {
                return Err(Error::ShardLength);
            }
            longest = source.len();
        }
        if outputs.iter().any(|output| output.len() != bytes) {
            return Err(Error::ShardLength);
        }
        Ok(Self {
            sources,
            outputs,
            bytes,
        })
    }

    pub fn sources(&self) -> &'a [&'a [u8]] {
        self.sources
    }

    pub fn outputs(&mut self) -> &mut [&'b mut [u8]] {
        self.outputs
    }

    /// The next block of columns from `start` on: how many of the sources reach into it, the first
    /// ones, and its columns, which all of these sources have. `None` at the end.
    pub fn block(&self, start: usize) -> Option<(usize, Range<usize>)> {
        if start == self.bytes {
            return None;
        }
        let reaching = self.sources.iter().rposition(|source| source.len() > start);
        Some(match reaching {
            Some(last) => (last + 1, start..self.sources[last].len()),
            None => (0, start..self.bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_where_a_source_ends() {
        let sources: [&[u8]; 4] = [&[1; 5], &[1; 5], &[1; 3], &[]];
        let mut output = [0; 7];
        let mut outputs = [&mut output[..]];
        let operands = Operands::new(&sources, &mut outputs).unwrap();
        assert_eq!(operands.block(0), Some((3, 0..3)));
        assert_eq!(operands.block(3), Some((2, 3..5)));
        assert_eq!(operands.block(5), Some((0, 5..7)));
        assert_eq!(operands.block(7), None);
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let check = |sources: [usize; 2], outputs: [usize; 2]| {
            let zeros = [0; 9];
            let (mut first, mut second) = ([0; 9], [0; 9]);
            let sources = sources.map(|bytes| &zeros[..bytes]);
            let mut outputs = [&mut first[..outputs[0]], &mut second[..outputs[1]]];
            Operands::new(&sources, &mut outputs).map(|_| ())
        };
        assert_eq!(check([4, 3], [4, 4]), Ok(()));
        assert_eq!(check([3, 4], [4, 4]), Err(Error::ShardLength));
        assert_eq!(check([5, 4], [4, 4]), Err(Error::ShardLength));
        assert_eq!(check([4, 4], [4, 5]), Err(Error::ShardLength));
    }
}
