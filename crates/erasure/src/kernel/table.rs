use crate::{field, matrix::Matrix};

/// The most outputs of one pass over the sources.
pub const ROWS_MAX: usize = 4;

/// A matrix in the form and order in which a kernel reads it: group by group of up to [`ROWS_MAX`]
/// rows, within it column by column, so that a pass over the sources walks through it once.
pub struct Table<C> {
    rows: usize,
    columns: usize,
    coefficients: Box<[C]>,
    is_all_ones: bool,
}

impl<C: From<u8>> Table<C> {
    pub fn new(matrix: &Matrix) -> Self {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let mut coefficients = Vec::with_capacity(rows * columns);
        for first in (0..rows).step_by(ROWS_MAX) {
            let group = first..rows.min(first + ROWS_MAX);
            for column in 0..columns {
                let elements = group.clone().map(|row| matrix.at(row, column));
                coefficients.extend(elements.map(C::from));
            }
        }
        Self {
            rows,
            columns,
            coefficients: coefficients.into(),
            is_all_ones: matrix.is_all_ones(),
        }
    }
}

impl<C> Table<C> {
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether multiplying by it is nothing but XOR.
    pub fn is_all_ones(&self) -> bool {
        self.is_all_ones
    }

    /// A group's coefficients from a column on: one for each of its rows, then the next column's.
    pub fn group(&self, group: usize, first_column: usize) -> &[C] {
        let first = group * ROWS_MAX;
        let rows = (self.rows - first).min(ROWS_MAX);
        let end = (first + rows) * self.columns;
        &self.coefficients[first * self.columns + first_column * rows..end]
    }
}

/// A coefficient's products by the 16 values of a byte's lower half, then of its upper half.
#[derive(Clone, Copy)]
pub struct Nibbles(pub [u8; 32]);

impl From<u8> for Nibbles {
    fn from(coefficient: u8) -> Self {
        Self(std::array::from_fn(|place| {
            let value = if place < 16 { place } else { (place - 16) << 4 };
            field::multiply(coefficient, value as u8)
        }))
    }
}

/// A coefficient as the matrix over bits that the affine instruction of GFNI multiplies by.
///
/// The product is linear in the bits of a byte. Bit `i` of the instruction's result is the parity
/// of the byte and byte `7 - i` of the matrix (Intel's manual, GF2P8AFFINEQB), so bit `j` of that
/// byte is bit `i` of the product by `2^j`. The instruction has no polynomial of its own.
#[cfg(any(target_arch = "x86_64", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine(pub u64);

#[cfg(any(target_arch = "x86_64", test))]
impl From<u8> for Affine {
    fn from(coefficient: u8) -> Self {
        let mut matrix = 0_u64;
        for column in 0..8 {
            let product = field::multiply(coefficient, 1 << column);
            for bit in 0..8 {
                let place = (7 - bit) * 8 + column;
                matrix |= u64::from(product >> bit & 1) << place;
            }
        }
        Self(matrix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_affine_matrix_of_one_is_the_identity() {
        // The identity of Intel's manual: row 0, the highest byte's, yields the lowest bit.
        assert_eq!(Affine::from(1), Affine(0x0102_0408_1020_4080));
    }

    #[test]
    fn a_table_walks_through_groups_of_rows_column_by_column() {
        let matrix = Matrix::new(5, 2, |row, column| (10 * row + column) as u8);
        let table = Table::<u8>::new(&matrix);
        assert_eq!(table.group(0, 0), [0, 10, 20, 30, 1, 11, 21, 31]);
        assert_eq!(table.group(0, 1), [1, 11, 21, 31]);
        assert_eq!(table.group(1, 0), [40, 41]);
        assert_eq!(table.group(1, 1), [41]);
    }
}
