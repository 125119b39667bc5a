//! GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11D), the field of ISA-L and of RAID 6.

/// The polynomial less its highest term, which a shift drops.
const POLYNOMIAL: u8 = 0x1D;

/// The powers of the generator 2, twice over, so that a sum of two logarithms needs no modulo.
const POWERS: [u8; 510] = powers();
/// The inverse of [`POWERS`]; the entry of 0 is unused.
const LOGARITHMS: [u8; 256] = logarithms();

/// The product by 2.
const fn double(value: u8) -> u8 {
    (value << 1) ^ if value & 0x80 == 0 { 0 } else { POLYNOMIAL }
}

const fn powers() -> [u8; 510] {
    let mut powers = [0; 510];
    let mut power = 1;
    let mut exponent = 0;
    while exponent < 510 {
        powers[exponent] = power;
        power = double(power);
        exponent += 1;
    }
    powers
}

const fn logarithms() -> [u8; 256] {
    let mut logarithms = [0; 256];
    let mut exponent = 0;
    while exponent < 255 {
        logarithms[POWERS[exponent] as usize] = exponent as u8;
        exponent += 1;
    }
    logarithms
}

/// The product of two elements.
pub fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    let sum = usize::from(LOGARITHMS[usize::from(a)]) + usize::from(LOGARITHMS[usize::from(b)]);
    POWERS[sum]
}

/// The inverse of an element.
///
/// # Panics
///
/// If the element is 0, which has none.
pub fn invert(value: u8) -> u8 {
    assert_ne!(value, 0, "0 has no inverse");
    POWERS[255 - usize::from(LOGARITHMS[usize::from(value)])]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product by shifting and adding, straight from the definition.
    fn defined_product(mut a: u8, b: u8) -> u8 {
        let mut product = 0;
        for bit in 0..8 {
            if b >> bit & 1 == 1 {
                product ^= a;
            }
            a = double(a);
        }
        product
    }

    #[test]
    fn products_follow_the_definition() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(multiply(a, b), defined_product(a, b), "{a} * {b}");
            }
        }
    }

    #[test]
    fn an_element_times_its_inverse_is_one() {
        for value in 1..=255 {
            assert_eq!(multiply(value, invert(value)), 1, "{value}");
        }
    }
}
