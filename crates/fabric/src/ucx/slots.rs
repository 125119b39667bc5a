//! Numbered places that are used again, under numbers that are not.

use std::collections::VecDeque;

/// Bits of a number that say where; the rest says how often the place was used, so that an old
/// number does not name a new tenant.
const INDEX_BITS: u32 = 24;

/// Values by number.
#[derive(Debug)]
pub(super) struct Slots<T> {
    places: Vec<Place<T>>,
    /// The one that has been free for longest comes first.
    free: VecDeque<u32>,
}

#[derive(Debug)]
struct Place<T> {
    number: u32,
    value: Option<T>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots {
            places: Vec::new(),
            free: VecDeque::new(),
        }
    }
}

fn index(number: u32) -> usize {
    (number & ((1 << INDEX_BITS) - 1)) as usize
}

impl<T> Slots<T> {
    /// Puts a value somewhere; returns its number.
    ///
    /// # Panics
    /// With more than 16 million values.
    pub fn insert(&mut self, value: T) -> u32 {
        let index = self.free.pop_front().unwrap_or_else(|| self.grow());
        let place = &mut self.places[index as usize];
        place.value = Some(value);
        place.number
    }

    fn grow(&mut self) -> u32 {
        let number = u32::try_from(self.places.len()).expect("fewer than 2^24 places");
        assert!(number >> INDEX_BITS == 0, "too many at once");
        self.places.push(Place {
            number,
            value: None,
        });
        number
    }

    fn place(&self, number: u32) -> Option<&Place<T>> {
        let place = self.places.get(index(number))?;
        (place.number == number).then_some(place)
    }

    /// The value with this number.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.place(number)?.value.as_ref()
    }

    /// The value with this number, to be changed.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let place = self.places.get_mut(index(number))?;
        (place.number == number).then_some(place.value.as_mut()?)
    }

    /// Takes the value with this number out.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let index = index(number);
        let place = self.places.get_mut(index)?;
        let value = (place.number == number).then(|| place.value.take())??;
        place.number = place.number.wrapping_add(1 << INDEX_BITS);
        self.free.push_back(index as u32);
        Some(value)
    }

    /// All values with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let taken = |place: &'_ Place<T>| place.value.is_some();
        let places = self.places.iter().filter(move |place| taken(place));
        places.filter_map(|place| Some((place.number, place.value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_number_does_not_name_a_new_value() {
        let mut slots = Slots::default();
        let first = slots.insert('a');
        let second = slots.insert('b');
        assert_eq!(slots.remove(first), Some('a'));
        let third = slots.insert('c');
        assert_eq!(index(first), index(third));
        assert!(slots.get(first).is_none() && slots.remove(first).is_none());
        assert_eq!(slots.get_mut(third), Some(&mut 'c'));
        let all: Vec<_> = slots
            .iter()
            .map(|(number, value)| (number, *value))
            .collect();
        assert_eq!(all, [(third, 'c'), (second, 'b')]);
        assert!(slots.get(77).is_none());
    }

    #[test]
    fn the_place_that_was_free_for_longest_is_used_first() {
        let mut slots = Slots::default();
        let numbers: Vec<_> = (0..3).map(|value| slots.insert(value)).collect();
        slots.remove(numbers[2]);
        slots.remove(numbers[0]);
        assert_eq!(index(slots.insert(7)), index(numbers[2]));
    }
}
