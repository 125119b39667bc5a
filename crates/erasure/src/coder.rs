use crate::{
    Error, Kernel, SHARDS_MAX, Scheme, cache::PatternCache, kernel::Product, operands::Operands,
};
use arrayvec::ArrayVec;
use std::iter;

/// Encodes and reconstructs values in one scheme.
///
/// # Lengths
///
/// All shards of a value have one length, [`Scheme::shard_bytes`] of the value's. A data shard may
/// be given shorter, though no longer than the data shard before it; what it lacks counts as zeros.
/// So a value that is no multiple of k shards is encoded where it lies, see [`Scheme::cut`].
/// Parity shards, and the shards that are written, always have the whole length.
///
/// # Threads
///
/// A coder belongs to a thread, which makes its own: the decode matrices that it keeps need neither
/// a lock nor a shared cache line then. They take at most 512 times m * k * 8 bytes (with AVX2,
/// NEON or no vectors, m * k * 32 bytes), and only as many as loss patterns were met.
pub struct Coder {
    scheme: Scheme,
    kernel: Kernel,
    encoding: Product,
    decoding: PatternCache<Product>,
}

impl Coder {
    /// A coder that computes with the fastest kernel of this processor.
    pub fn new(scheme: Scheme) -> Self {
        Self::with_kernel(scheme, Kernel::fastest())
    }

    /// A coder that computes with this kernel.
    pub fn with_kernel(scheme: Scheme, kernel: Kernel) -> Self {
        let parity: ArrayVec<usize, SHARDS_MAX> = (scheme.data_shards()..scheme.shards()).collect();
        Self {
            scheme,
            kernel,
            encoding: Product::new(kernel, &scheme.generator(&parity)),
            decoding: PatternCache::new(),
        }
    }

    /// The scheme that it codes in.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The kernel that it computes with.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Computes all parity shards from all data shards.
    ///
    /// # Errors
    ///
    /// [`Error::ShardCount`] and [`Error::ShardLength`].
    pub fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) -> Result<(), Error> {
        expect_count(self.scheme.data_shards(), data.len())?;
        expect_count(self.scheme.parity_shards(), parity.len())?;
        self.encoding.multiply(Operands::new(data, parity)?);
        Ok(())
    }

    /// Computes all parity shards of a value, which is [cut](Scheme::cut) without being copied.
    ///
    /// # Errors
    ///
    /// [`Error::ShardCount`]; [`Error::ShardLength`] where the parity shards have not the length
    /// that [`Scheme::shard_bytes`] says.
    pub fn encode_value(&self, value: &[u8], parity: &mut [&mut [u8]]) -> Result<(), Error> {
        let shard_bytes = self.scheme.shard_bytes(value.len());
        if parity.iter().any(|shard| shard.len() != shard_bytes) {
            return Err(Error::ShardLength);
        }
        let mut data = Slices::new();
        data.extend(self.scheme.pieces(value));
        self.encode(&data, parity)
    }

    /// Adds one data shard to the parity shards: after all data shards, in any order, parity that
    /// began as zeros is what [`encode`](Self::encode) computes. So it can be computed while the
    /// data shards arrive.
    ///
    /// Given the XOR of an old and a new data shard, it makes the old parity the new one.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchShard`] where there is no data shard of this number, [`Error::ShardCount`]
    /// and [`Error::ShardLength`].
    pub fn update(&self, shard: usize, data: &[u8], parity: &mut [&mut [u8]]) -> Result<(), Error> {
        if shard >= self.scheme.data_shards() {
            return Err(Error::NoSuchShard(shard));
        }
        expect_count(self.scheme.parity_shards(), parity.len())?;
        self.encoding
            .accumulate(shard, Operands::new(&[data], parity)?);
        Ok(())
    }

    /// Computes shards from any k others.
    ///
    /// Shards are given and asked for by their numbers, data and parity alike and in any order. Of
    /// more than k present shards those with the lowest numbers are used.
    ///
    /// # Errors
    ///
    /// [`Error::TooFewShards`], [`Error::NoSuchShard`], [`Error::RepeatedShard`] (also of two
    /// wanted ones) and [`Error::ShardLength`].
    pub fn reconstruct(
        &mut self,
        present: &[(usize, &[u8])],
        wanted: &mut [(usize, &mut [u8])],
    ) -> Result<(), Error> {
        let scheme = self.scheme;
        let present_set = set_of(scheme, present.iter().map(|(shard, _)| *shard))?;
        let wanted_set = set_of(scheme, wanted.iter().map(|(shard, _)| *shard))?;
        let needed = scheme.data_shards();
        if present.len() < needed {
            let present = present.len();
            return Err(Error::TooFewShards { needed, present });
        }
        let used = (needed..present.len()).fold(present_set, |set, _| set & !(1 << set.ilog2()));
        // Filled in place: moving lists of this capacity costs as much as coding 1 KB.
        let mut sources = Slices::new();
        let parity = push_used(scheme, present, &mut sources);
        let mut outputs = ArrayVec::new();
        push_in_order(wanted, &mut outputs);
        let Some(bytes) = outputs.first().map(|output| output.len()) else {
            return Ok(());
        };
        // Only data lacks bytes.
        if sources[..parity].iter().any(|shard| shard.len() != bytes) {
            return Err(Error::ShardLength);
        }
        let operands = Operands::new(&sources, &mut outputs)?;
        let pattern = u64::from(wanted_set) << 32 | u64::from(used);
        let kernel = self.kernel;
        let product = self.decoding.get_or_insert_with(pattern, || {
            decoding_product(scheme, kernel, used, wanted_set)
        });
        product.multiply(operands);
        Ok(())
    }
}

type Slices<'a> = ArrayVec<&'a [u8], SHARDS_MAX>;

/// The shards that others are computed from, in the order of the decode matrix's columns: parity
/// before data, so that no shard is longer than the one before it.
fn column_order(scheme: Scheme, used: u32) -> impl Iterator<Item = usize> {
    let data = used & ((1 << scheme.data_shards()) - 1);
    members(used ^ data).chain(members(data))
}

/// The k present shards with the lowest numbers, in [`column_order`]; how many of them are parity.
fn push_used<'a>(scheme: Scheme, present: &[(usize, &'a [u8])], sources: &mut Slices<'a>) -> usize {
    let data = scheme.data_shards();
    if !present.is_sorted_by_key(|(shard, _)| *shard) {
        let mut sorted: ArrayVec<_, SHARDS_MAX> = present.iter().copied().collect();
        sorted.sort_unstable_by_key(|(shard, _)| *shard);
        return push_used(scheme, &sorted, sources);
    }
    let used = &present[..data];
    let split = used.iter().position(|(shard, _)| *shard >= data);
    let (data, parity) = used.split_at(split.unwrap_or(data));
    sources.extend(parity.iter().chain(data).map(|(_, bytes)| *bytes));
    parity.len()
}

/// Where the wanted shards go, in the order of their numbers.
fn push_in_order<'a>(
    wanted: &'a mut [(usize, &mut [u8])],
    outputs: &mut ArrayVec<&'a mut [u8], SHARDS_MAX>,
) {
    if wanted.is_sorted_by_key(|(shard, _)| *shard) {
        outputs.extend(wanted.iter_mut().map(|(_, bytes)| &mut **bytes));
        return;
    }
    let mut pairs: ArrayVec<_, SHARDS_MAX> = wanted.iter_mut().collect();
    pairs.sort_unstable_by_key(|(shard, _)| *shard);
    outputs.extend(pairs.into_iter().map(|(_, bytes)| &mut **bytes));
}

/// The shards as a set of bits.
fn set_of(scheme: Scheme, shards: impl Iterator<Item = usize>) -> Result<u32, Error> {
    let mut set = 0;
    for shard in shards {
        if shard >= scheme.shards() {
            return Err(Error::NoSuchShard(shard));
        }
        if set >> shard & 1 == 1 {
            return Err(Error::RepeatedShard(shard));
        }
        set |= 1 << shard;
    }
    Ok(set)
}

/// The members of a set of shards, in order.
fn members(mut set: u32) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let shard = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(shard)
    })
}

/// What computes the wanted shards, in order, from k others.
fn decoding_product(scheme: Scheme, kernel: Kernel, used: u32, wanted: u32) -> Product {
    let sources: ArrayVec<usize, SHARDS_MAX> = column_order(scheme, used).collect();
    let wanted: ArrayVec<usize, SHARDS_MAX> = members(wanted).collect();
    let inverse = scheme.generator(&sources).invert();
    let to_data = inverse.expect("every k rows of a Cauchy generator are independent");
    Product::new(kernel, &scheme.generator(&wanted).multiply(&to_data))
}

fn expect_count(expected: usize, found: usize) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::ShardCount { expected, found })
    }
}
