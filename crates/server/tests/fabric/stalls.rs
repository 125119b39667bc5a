//! Clients that ask for large values and take none, beside one that goes on storing.

use crate::client::get;
use crate::support::wait_for;
use crate::{Client, figure, over_each, wait_until_clean};

/// By rendezvous over every network.
const VALUE_BYTES: usize = 100_000;
/// As many as fit the memory.
const ITEMS: usize = 640;
const CLIENTS: usize = 16;
/// Values that each client asks for, with a message for each.
const ASKED: usize = 50;

fn key(number: usize) -> String {
    format!("key{number}")
}

#[test]
fn clients_that_take_no_values_have_no_set_refused() {
    over_each(&["-m", "64"], |server, network, _| {
        let mut honest = server.connect();
        let value = vec![b'v'; VALUE_BYTES];
        (0..ITEMS).for_each(|number| honest.set(&key(number), &value));
        let mut stalled: Vec<Client> = (0..CLIENTS)
            .map(|_| Client::connect(server, network))
            .collect();
        for (index, client) in stalled.iter_mut().enumerate() {
            client.take_no_values();
            for number in 0..ASKED {
                let wanted = (index * ASKED + number) * 7 % ITEMS;
                client.send(&get(key(wanted).as_bytes()));
            }
        }
        // All requests, beside the greetings.
        wait_for("the requests", || {
            stalled.iter_mut().for_each(Client::progress);
            let come: usize = figure(server, "messages_in").parse().expect("a number");
            (come >= CLIENTS * (ASKED + 1)).then_some(())
        });
        for number in ITEMS..3 * ITEMS {
            honest.set(&key(number), &value);
        }
        assert_eq!(honest.stat("store_no_memory"), 0);
        wait_for("the end of one that takes nothing", || {
            (figure(server, "sessions_stalled") != "0").then_some(())
        });
        drop(stalled);
        wait_until_clean(server);
    });
}
