use crate::field;

/// A matrix over GF(2^8), row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    columns: usize,
    elements: Vec<u8>,
}

impl Matrix {
    /// A matrix whose element at (row, column) is what the function says.
    pub fn new(rows: usize, columns: usize, element: impl Fn(usize, usize) -> u8) -> Self {
        let elements = (0..rows * columns)
            .map(|place| element(place / columns, place % columns))
            .collect();
        Self { columns, elements }
    }

    pub fn identity(size: usize) -> Self {
        Self::new(size, size, |row, column| u8::from(row == column))
    }

    pub fn rows(&self) -> usize {
        self.elements.len() / self.columns
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn at(&self, row: usize, column: usize) -> u8 {
        self.elements[row * self.columns + column]
    }

    /// Whether multiplying by it is nothing but XOR.
    pub fn is_all_ones(&self) -> bool {
        self.elements.iter().all(|&element| element == 1)
    }

    /// The product of two matrices.
    ///
    /// # Panics
    ///
    /// If the right one has not as many rows as the left one has columns.
    pub fn multiply(&self, right: &Self) -> Self {
        assert_eq!(self.columns, right.rows());
        Self::new(self.rows(), right.columns, |row, column| {
            (0..self.columns)
                .map(|inner| field::multiply(self.at(row, inner), right.at(inner, column)))
                .fold(0, |sum, product| sum ^ product)
        })
    }

    /// The inverse, by Gauss and Jordan; `None` where there is none.
    pub fn invert(&self) -> Option<Self> {
        let (mut left, mut right) = (self.clone(), Self::identity(self.columns));
        for column in 0..self.columns {
            let pivot = (column..left.rows()).find(|&row| left.at(row, column) != 0)?;
            let factor = field::invert(left.at(pivot, column));
            for matrix in [&mut left, &mut right] {
                matrix.swap_rows(pivot, column);
                matrix.scale_row(column, factor);
            }
            for row in (0..left.rows()).filter(|&row| row != column) {
                let factor = left.at(row, column);
                left.add_row(column, factor, row);
                right.add_row(column, factor, row);
            }
        }
        Some(right)
    }

    fn swap_rows(&mut self, a: usize, b: usize) {
        for column in 0..self.columns {
            self.elements
                .swap(a * self.columns + column, b * self.columns + column);
        }
    }

    fn scale_row(&mut self, row: usize, factor: u8) {
        for element in &mut self.elements[row * self.columns..][..self.columns] {
            *element = field::multiply(*element, factor);
        }
    }

    /// Adds a multiple of one row to another.
    fn add_row(&mut self, from: usize, factor: u8, to: usize) {
        for column in 0..self.columns {
            let product = field::multiply(self.at(from, column), factor);
            self.elements[to * self.columns + column] ^= product;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_the_identity() {
        // The first row needs another one as its pivot.
        let rows = [[0, 3, 7], [5, 1, 2], [9, 4, 6]];
        let matrix = Matrix::new(3, 3, |row, column| rows[row][column]);
        let inverse = matrix.invert().expect("it is regular");
        assert_eq!(matrix.multiply(&inverse), Matrix::identity(3));
        assert_eq!(inverse.multiply(&matrix), Matrix::identity(3));
    }

    #[test]
    fn a_singular_matrix_has_no_inverse() {
        let matrix = Matrix::new(2, 2, |_, column| column as u8 + 1);
        assert_eq!(matrix.invert(), None);
    }
}
