use super::*;

fn arc(first: u32, last: u32) -> HashArc {
    HashArc { first, last }
}

fn tenure(epoch: u64, arcs: &[(u32, u32)]) -> Tenure {
    Tenure {
        cluster: "c".into(),
        epoch,
        incarnation: 1,
        hash: 1,
        arcs: arcs
            .iter()
            .map(|(first, last)| arc(*first, *last))
            .collect(),
    }
}

fn map(epoch: u64, placement: &str, states: &[&str]) -> ClusterMap {
    let servers = states.iter().enumerate().map(|(index, state)| {
        let id = index + 1;
        format!("server {id} incarnation=1 weight=1 zone=- state={state} addresses=h{id}:1\n")
    });
    let servers: String = servers.collect();
    let head = format!("farcache-cluster-map 1\ncluster c\nepoch {epoch}\nplacement {placement}\n");
    format!("{head}{servers}end\n").parse().expect("a map")
}

#[test]
fn arcs_without_others_are_what_only_they_have() {
    let all = [HashArc::ALL];
    assert_eq!(without(&all, &[]), all);
    assert_eq!(without(&all, &all), []);
    assert_eq!(
        without(&[arc(3, 9)], &[arc(0, 2), arc(10, 11)]),
        [arc(3, 9)]
    );
    assert_eq!(
        without(
            &[arc(3, 9), arc(20, 30)],
            &[arc(0, 3), arc(5, 6), arc(9, 22), arc(24, 24)]
        ),
        [arc(4, 4), arc(7, 8), arc(23, 23), arc(25, 30)]
    );
    assert_eq!(
        without(&all, &[arc(0, 0), arc(u32::MAX, u32::MAX)]),
        [arc(1, u32::MAX - 1)]
    );
}

#[test]
fn a_server_gains_what_it_did_not_own() {
    let before = tenure(4, &[(10, 19), (40, 49)]);
    let after = tenure(5, &[(15, 29), (40, 45)]);
    assert_eq!(
        before.gained(&after, None),
        Gained::Arcs(1, vec![arc(20, 29)])
    );
    assert_eq!(after.gained(&tenure(6, &[(16, 20)]), None), Gained::Nothing);
    assert_eq!(before.gained(&before, None), Gained::Nothing);
}

#[test]
fn where_an_epoch_is_left_out_everything_is_gained() {
    let before = tenure(4, &[(10, 19)]);
    for epoch in [0, 3, 6, u64::MAX] {
        let after = tenure(epoch, &[(10, 19)]);
        assert_eq!(before.gained(&after, None), Gained::Everything, "{epoch}");
        let nothing = tenure(epoch, &[]);
        assert_eq!(before.gained(&nothing, None), Gained::Nothing, "{epoch}");
    }
    let other = Tenure {
        cluster: "d".into(),
        ..tenure(5, &[(10, 19)])
    };
    assert_eq!(before.gained(&other, None), Gained::Everything);
}

#[test]
fn only_the_life_before_counts_as_this_one() {
    let before = tenure(4, &[(10, 19)]);
    let of_life = |incarnation| Tenure {
        incarnation,
        ..tenure(5, &[(10, 19)])
    };
    assert_eq!(before.gained(&of_life(2), Some(2)), Gained::Nothing);
    // The map lists a life that is not this server's: somebody else's, with its address.
    assert_eq!(before.gained(&of_life(2), Some(3)), Gained::Everything);
    assert_eq!(before.gained(&of_life(2), None), Gained::Everything);
    assert_eq!(before.gained(&of_life(3), Some(3)), Gained::Everything);
}

#[test]
fn the_arcs_of_all_servers_are_the_ring() {
    for placement in ["ketama"] {
        let map = map(1, placement, &["serving", "joining", "draining", "serving"]);
        let mut all: Vec<HashArc> = (1..=4).flat_map(|id| map.arcs_of(ServerId(id))).collect();
        all.sort_unstable();
        assert_eq!(all[0].first, 0);
        assert_eq!(all[all.len() - 1].last, u32::MAX);
        assert!(all.windows(2).all(|pair| pair[0].last + 1 == pair[1].first));
        assert!(map.arcs_of(ServerId(3)).is_empty());
        for hash in (0..u32::MAX - 100_003).step_by(100_003) {
            let owner = map.locate_hash(hash, 1)[0];
            assert!(map.arcs_of(owner).iter().any(|arc| arc.contains(hash)));
        }
    }
}

#[test]
fn an_arc_that_is_being_handed_over_is_its_old_owners() {
    let text = "farcache-cluster-map 1\ncluster c\nepoch 1\nplacement slots\n\
        server 1 incarnation=1 weight=1 zone=- state=serving addresses=h1:1\n\
        server 2 incarnation=1 weight=1 zone=- state=joining addresses=h2:1\n\
        slots 1 0-8191\nslots 2 8192-16383\n\
        move from=1 to=2 phase=handing-over\narc 80000000-8fffffff\narc a0000000-a00000ff\nend\n";
    let map: ClusterMap = text.parse().expect("a map");
    let expected = [arc(0, 0x8fff_ffff), arc(0xa000_0000, 0xa000_00ff)];
    assert_eq!(map.arcs_of(ServerId(1)), expected);
    let expected = [arc(0x9000_0000, 0x9fff_ffff), arc(0xa000_0100, u32::MAX)];
    assert_eq!(map.arcs_of(ServerId(2)), expected);
}

#[test]
fn keys_that_clients_placed_may_be_anybodys() {
    let (one, two) = (["serving", "serving"], Some(ServerId(1)));
    let placed = Tenure::new(&map(1, "client", &one), two);
    let ring = Tenure::new(&map(2, "ketama", &one), two);
    assert_eq!(placed.gained(&ring, None), Gained::Everything);
    let placed = Tenure::new(&map(3, "client", &one), two);
    let foreign = map(2, "ketama", &one).arcs_of(ServerId(2));
    assert_eq!(ring.gained(&placed, None), Gained::Arcs(1, foreign));
    assert_eq!(placed.gained(&placed, None), Gained::Nothing);
    let unlisted = Tenure::new(&map(2, "ketama", &one), None);
    assert_eq!((unlisted.share(), placed.share()), (0, 1 << 32));
}

#[test]
fn a_tenure_is_read_as_it_was_written() {
    let tenure = tenure(1 << 40, &[(0, 0), (7, u32::MAX)]);
    let bytes = tenure.encode(1000);
    assert_eq!(Tenure::decode(&bytes).as_ref(), Some(&tenure));
    for length in 0..bytes.len() {
        assert_ne!(Tenure::decode(&bytes[..length]).as_ref(), Some(&tenure));
    }
    let short = Tenure::decode(&tenure.encode(bytes.len() - 1)).expect("a tenure");
    assert_eq!(short.arcs, [arc(0, 0)]);
    let mut backwards = bytes.clone();
    let end = bytes.len();
    backwards[end - 16..].rotate_left(8);
    assert_eq!(Tenure::decode(&backwards), None);
}
