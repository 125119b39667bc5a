//! Kernels: multiplying a matrix by shards, with what the processor has.
//!
//! [`Kernel`] is chosen once, when a coder is made. A [`Product`] is a matrix in the form that its
//! kernel reads. `lanes` and `pass` have the loops that all kernels with vectors share; `scalar`
//! has none and is what the others are compared with.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod gfni256;
#[cfg(target_arch = "x86_64")]
mod gfni512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", test))]
mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", test))]
mod part;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", test))]
mod pass;
#[cfg(test)]
mod portable;
mod scalar;
mod table;

use crate::{matrix::Matrix, operands::Operands};
#[cfg(target_arch = "x86_64")]
use table::Affine;
use table::{Nibbles, Table};

/// The instructions that a [`Coder`](crate::Coder) computes with. All give the same shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Gfni512(gfni512::Gfni512),
    #[cfg(target_arch = "x86_64")]
    Gfni256(gfni256::Gfni256),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
    Scalar,
}

impl Kernel {
    /// The kernels that this processor can run, the fastest first.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let with_vectors = [
            gfni512::Gfni512::detect().map(Instructions::Gfni512),
            gfni256::Gfni256::detect().map(Instructions::Gfni256),
            avx2::Avx2::detect().map(Instructions::Avx2),
        ];
        #[cfg(target_arch = "aarch64")]
        let with_vectors = [neon::Neon::detect().map(Instructions::Neon)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let with_vectors = [];
        let found = with_vectors.into_iter().flatten();
        found.chain([Instructions::Scalar]).map(Self)
    }

    /// The fastest kernel that this processor can run.
    ///
    /// # Panics
    ///
    /// Never: one kernel runs everywhere.
    pub fn fastest() -> Self {
        Self::available().next().expect("one runs everywhere")
    }

    /// What it is called in reports: `gfni512`, `gfni256`, `avx2`, `neon` or `scalar`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni512(_) => "gfni512",
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni256(_) => "gfni256",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(_) => "avx2",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon(_) => "neon",
            Instructions::Scalar => "scalar",
        }
    }
}

/// A matrix that multiplies shards, ready for one kernel.
pub struct Product(Prepared);

enum Prepared {
    #[cfg(target_arch = "x86_64")]
    Gfni512(gfni512::Gfni512, Table<Affine>),
    #[cfg(target_arch = "x86_64")]
    Gfni256(gfni256::Gfni256, Table<Affine>),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2, Table<Nibbles>),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon, Table<Nibbles>),
    Scalar(Table<Nibbles>),
}

impl Product {
    pub fn new(kernel: Kernel, matrix: &Matrix) -> Self {
        Self(match kernel.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni512(gfni) => Prepared::Gfni512(gfni, Table::new(matrix)),
            #[cfg(target_arch = "x86_64")]
            Instructions::Gfni256(gfni) => Prepared::Gfni256(gfni, Table::new(matrix)),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(avx) => Prepared::Avx2(avx, Table::new(matrix)),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon(neon) => Prepared::Neon(neon, Table::new(matrix)),
            Instructions::Scalar => Prepared::Scalar(Table::new(matrix)),
        })
    }

    /// Sets the outputs, one for each row, to the product of the matrix and the sources, one for
    /// each column.
    pub fn multiply(&self, operands: Operands<'_, '_>) {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Prepared::Gfni512(gfni, table) => gfni.multiply(table, operands),
            #[cfg(target_arch = "x86_64")]
            Prepared::Gfni256(gfni, table) => gfni.multiply(table, operands),
            #[cfg(target_arch = "x86_64")]
            Prepared::Avx2(avx, table) => avx.multiply(table, operands),
            #[cfg(target_arch = "aarch64")]
            Prepared::Neon(neon, table) => neon.multiply(table, operands),
            Prepared::Scalar(table) => scalar::multiply(table, operands),
        }
    }

    /// Adds to the outputs, one for each row, the product of one column and the one source.
    pub fn accumulate(&self, column: usize, operands: Operands<'_, '_>) {
        match &self.0 {
            #[cfg(target_arch = "x86_64")]
            Prepared::Gfni512(gfni, table) => gfni.accumulate(table, column, operands),
            #[cfg(target_arch = "x86_64")]
            Prepared::Gfni256(gfni, table) => gfni.accumulate(table, column, operands),
            #[cfg(target_arch = "x86_64")]
            Prepared::Avx2(avx, table) => avx.accumulate(table, column, operands),
            #[cfg(target_arch = "aarch64")]
            Prepared::Neon(neon, table) => neon.accumulate(table, column, operands),
            Prepared::Scalar(table) => scalar::accumulate(table, column, operands),
        }
    }
}
