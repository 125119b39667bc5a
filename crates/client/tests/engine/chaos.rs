//! Anything may happen at any time: every operation ends once, and nothing is left over.

use crate::world::{Door, World};
use farcache_client::engine::Ticket;
use farcache_client::{Delivery, Values};

/// A small generator of numbers (Marsaglia, "Xorshift RNGs", 2003).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Operations that are under way.
#[derive(Default)]
struct UnderWay {
    singles: Vec<Ticket>,
    batches: Vec<Ticket>,
}

impl UnderWay {
    /// Fetches whatever is complete; returns how many that were.
    fn collect(&mut self, world: &mut World) -> usize {
        let before = self.singles.len() + self.batches.len();
        self.singles
            .retain(|&ticket| world.engine.fetch(ticket).is_none());
        self.batches
            .retain(|&ticket| world.engine.fetch_values(ticket).is_none());
        before - self.singles.len() - self.batches.len()
    }
}

const DOORS: [Door; 5] = [
    Door::Sockets,
    Door::Fabric,
    Door::FabricWithoutWelcome,
    Door::Closed,
    Door::Silent,
];

fn step(world: &mut World, dice: &mut Dice, under_way: &mut UnderWay) {
    let server = dice.below(3) as usize;
    let key = dice.below(50).to_be_bytes();
    match dice.below(14) {
        0..=2 => under_way.singles.push(world.get(&key)),
        3..=4 => {
            let value = vec![1; dice.below(3000) as usize];
            under_way.singles.push(world.set(&key, value));
        }
        5 => under_way.singles.push(world.set(&key, vec![2; 20_000])),
        6 => {
            let keys: Vec<_> = (0..dice.below(30)).map(u64::to_be_bytes).collect();
            let (values, delivery) = (Values::new(), Delivery::default());
            let ticket = world
                .engine
                .submit_get_many(&keys, values, delivery, world.now_us);
            under_way.batches.push(ticket);
        }
        7 => world.wait_ms(dice.below(3000)),
        8 => world.lose(server),
        9 => world.servers[server].door = DOORS[dice.below(5) as usize],
        10 => world.servers[server].is_mute = dice.below(3) == 0,
        11 => {
            if let Some(ticket) = under_way.singles.pop() {
                world.engine.abandon(ticket);
            }
        }
        12 => {
            if let Some(ticket) = under_way.batches.pop() {
                world.engine.abandon(ticket);
            }
        }
        _ => world.run(),
    }
}

#[test]
fn everything_ends_once_and_nothing_is_left() {
    for seed in 1..200 {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut world = World::new(&[Door::Sockets, Door::Fabric, Door::Fabric], |config| {
            config.remove_after_failures = Some(3);
        });
        let mut under_way = UnderWay::default();
        let mut ended = 0;
        for _ in 0..300 {
            step(&mut world, &mut dice, &mut under_way);
            ended += under_way.collect(&mut world);
        }
        world.run();
        world.wait_ms(5_001);
        ended += under_way.collect(&mut world);
        assert!(ended > 0, "{seed}");
        assert!(
            under_way.singles.is_empty() && under_way.batches.is_empty(),
            "{seed}"
        );
        // Answers to operations that were given up may still come; what they are waited for ends
        // with the connections.
        for server in 0..3 {
            world.servers[server].is_mute = false;
            world.lose(server);
        }
        world.run();
        world.wait_ms(10_000);
        assert_eq!(
            (world.engine.in_use(), world.engine.outstanding()),
            (0, 0),
            "{seed}"
        );
        assert!(world.engine.is_idle(), "{seed}");
    }
}
