//! The kernel for every processor, in safe code: what the others are compared with.

use super::table::{Nibbles, ROWS_MAX, Table};
use crate::operands::Operands;

/// Sets the outputs to the product of the table and the sources.
pub fn multiply(table: &Table<Nibbles>, mut operands: Operands<'_, '_>) {
    for output in operands.outputs() {
        output.fill(0);
    }
    add(table, 0, operands);
}

/// Adds to the outputs the product of one column of the table and the one source.
pub fn accumulate(table: &Table<Nibbles>, column: usize, operands: Operands<'_, '_>) {
    add(table, column, operands);
}

fn add(table: &Table<Nibbles>, first_column: usize, mut operands: Operands<'_, '_>) {
    let sources = operands.sources();
    for (group, outputs) in operands.outputs().chunks_mut(ROWS_MAX).enumerate() {
        let coefficients = table.group(group, first_column).chunks(outputs.len());
        for (source, coefficients) in sources.iter().zip(coefficients) {
            for (output, coefficient) in outputs.iter_mut().zip(coefficients) {
                add_product(coefficient, source, output);
            }
        }
    }
}

fn add_product(coefficient: &Nibbles, source: &[u8], output: &mut [u8]) {
    let (low, high) = coefficient.0.split_at(16);
    for (sum, byte) in output.iter_mut().zip(source) {
        *sum ^= low[usize::from(byte & 0xF)] ^ high[usize::from(byte >> 4)];
    }
}
