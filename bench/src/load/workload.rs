//! What a run asks for: the mix of operations, the keys and the values.

use super::connection::{Connection, Pending};
use super::keys::{KeyId, KeyPicker};
use super::protocol::{Operation, Renderer};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A stream of operations.
pub struct Workload {
    renderer: Renderer,
    picker: KeyPicker,
    /// Share of sets, in 2^-32.
    set_share: u64,
    multi_get_keys: usize,
    batch: Vec<KeyId>,
    random: SmallRng,
}

/// The mix of operations.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Share of sets, from 0 to 1.
    pub set_ratio: f64,
    /// Keys of each fetch; 1 is a plain get.
    pub multi_get_keys: usize,
}

impl Workload {
    /// A stream that depends on nothing but its arguments.
    pub fn new(renderer: Renderer, picker: KeyPicker, mix: Mix, seed: u64) -> Self {
        Workload {
            renderer,
            picker,
            set_share: (mix.set_ratio.clamp(0.0, 1.0) * (1u64 << 32) as f64) as u64,
            multi_get_keys: mix.multi_get_keys.max(1),
            batch: Vec::new(),
            random: SmallRng::seed_from_u64(seed),
        }
    }

    /// Queues the next operation on a connection.
    pub fn queue_next(&mut self, connection: &mut Connection, since_ns: u64) {
        if self.next_is_set() {
            let id = self.picker.pick(&mut self.random);
            let pending = Pending {
                operation: Operation::Set(id),
                since_ns,
            };
            connection.queue(pending, |buffer| self.renderer.set(id, buffer));
        } else if self.multi_get_keys == 1 {
            let id = self.picker.pick(&mut self.random);
            let pending = Pending {
                operation: Operation::Get(id),
                since_ns,
            };
            connection.queue(pending, |buffer| self.renderer.get(id, buffer));
        } else {
            self.queue_multi_get(connection, since_ns);
        }
    }

    fn next_is_set(&mut self) -> bool {
        match self.set_share {
            0 => false,
            share => u64::from(self.random.random::<u32>()) < share,
        }
    }

    fn queue_multi_get(&mut self, connection: &mut Connection, since_ns: u64) {
        self.batch.clear();
        for _ in 0..self.multi_get_keys {
            self.batch.push(self.picker.pick(&mut self.random));
        }
        let operation = Operation::MultiGet {
            keys: self.batch.len() as u32,
        };
        let pending = Pending {
            operation,
            since_ns,
        };
        connection.queue(pending, |buffer| {
            self.renderer.multi_get(&self.batch, buffer)
        });
    }
}
