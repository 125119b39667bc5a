//! Any number of clients doing anything while the network fails: in the end nothing is left.

use super::Server;
use super::client::{Client, get, head, set};
use farcache_fabric::memory::{Action, Death, Rule};
use farcache_fabric::{Kind, Payload, Port};
use farcache_proto::binary::Opcode;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Come,
    Get(usize),
    Set(usize),
    Offer(usize),
    Nonsense(usize),
    Goodbye(usize),
    Receive(usize),
    Disconnect(usize),
    Kill(usize, bool),
    Break(Action),
    Heal,
    Run,
    Sleep,
}

fn step() -> impl Strategy<Value = Step> {
    let action = prop_oneof![
        Just(Action::Drop),
        Just(Action::Hold),
        Just(Action::Duplicate),
        Just(Action::TruncateBody(1)),
        Just(Action::TruncateFront(30)),
        Just(Action::HoldBody),
        Just(Action::Fail),
    ];
    let who = || 0..4_usize;
    prop_oneof![
        2 => Just(Step::Come),
        4 => who().prop_map(Step::Get),
        2 => who().prop_map(Step::Set),
        3 => who().prop_map(Step::Offer),
        1 => who().prop_map(Step::Nonsense),
        1 => who().prop_map(Step::Goodbye),
        4 => who().prop_map(Step::Receive),
        1 => who().prop_map(Step::Disconnect),
        1 => (who(), any::<bool>()).prop_map(|(who, told)| Step::Kill(who, told)),
        2 => action.prop_map(Step::Break),
        2 => Just(Step::Heal),
        6 => Just(Step::Run),
        1 => Just(Step::Sleep),
    ]
}

fn take(server: &mut Server, clients: &mut Vec<Client>, step: Step) {
    match step {
        Step::Come => {
            let mut client = Client::granted(server);
            client.is_tolerant = true;
            client.greet();
            clients.push(client);
        }
        Step::Break(Action::TruncateBody(bytes)) => {
            // Only messages with a body can be cut so.
            let rule = Rule::all(Action::TruncateBody(bytes)).count(0);
            server.network.inject(rule);
        }
        Step::Break(action) => server.network.inject(Rule::all(action).skip(1).count(2)),
        Step::Heal => {
            server.network.heal();
            server.network.release();
        }
        Step::Run => server.run(),
        Step::Sleep => server.sleep(6),
        step => act(server, clients, step),
    }
}

fn act(server: &mut Server, clients: &mut [Client], step: Step) {
    let (Step::Get(who)
    | Step::Set(who)
    | Step::Offer(who)
    | Step::Nonsense(who)
    | Step::Goodbye(who)
    | Step::Receive(who)
    | Step::Disconnect(who)
    | Step::Kill(who, _)) = step
    else {
        return;
    };
    let Some(client) = clients.get_mut(who) else {
        return;
    };
    match step {
        Step::Get(_) => client.send(&get(b"key")),
        Step::Set(_) => client.send(&set(b"key", &[b'v'; 20_000])),
        Step::Offer(_) => {
            client.send_large(&head(Opcode::Set, b"key", 0, 30_000), vec![7; 30_000]);
        }
        Step::Nonsense(_) => client.send(b"nonsense"),
        Step::Goodbye(_) => client
            .port
            .send(client.peer, Kind::Goodbye, 0, Payload::Packets(b"")),
        Step::Receive(_) => drop(client.receive()),
        Step::Disconnect(_) => client.connection = None,
        Step::Kill(_, told) => {
            let death = if told { Death::Reported } else { Death::Silent };
            server.network.kill(client.port.address(), death);
            client.connection = None;
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn in_the_end_nothing_is_left(steps in prop::collection::vec(step(), 1..60)) {
        let mut server = Server::new();
        let mut clients = Vec::new();
        for step in steps {
            take(&mut server, &mut clients, step);
        }
        server.network.heal();
        server.network.release();
        // What is served afterwards is served well.
        let mut sound = server.client();
        prop_assert_eq!(sound.ask(&mut server, &set(b"sound", b"value")).len(), 1);
        prop_assert_eq!(&sound.ask_one(&mut server, &get(b"sound")).value, b"value");
        clients.iter_mut().for_each(|client| client.connection = None);
        sound.connection = None;
        server.run();
        server.sleep(20);
        server.assert_clean();
    }
}
