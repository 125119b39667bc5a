use super::super::content::Ours;
use super::*;
use crate::format::{Member, Members};

const A: [u8; 16] = [1; 16];
const B: [u8; 16] = [2; 16];

/// A device of the store 9 with the members A and B, each with the epoch at which it left.
fn full(device_id: [u8; 16], epoch: u64, left: [u64; 2]) -> Content {
    let members = [(A, left[0]), (B, left[1])];
    let members = members.map(|(device_id, left)| Member { device_id, left });
    of_store(9, device_id, epoch, Members::from_iter(members))
}

fn of_store(store: u8, device_id: [u8; 16], epoch: u64, members: Members) -> Content {
    Content::Ours(Box::new(Ours {
        superblock: Superblock {
            segment_bytes: 1 << 20,
            store_id: [store; 16],
            index_seed: 0,
            fingerprint_seed: 0,
            epoch,
            device_bytes: 1 << 30,
            flush_floor: 0,
            watermark: 0,
            device_id,
            members,
        },
        copy: 0,
        is_whole: true,
    }))
}

/// What becomes of two devices, of which those named may be formatted.
fn decide(contents: [Content; 2], may_format: [bool; 2]) -> Result<Vec<Role>, TierRefusal> {
    let given: Vec<Given> = contents
        .into_iter()
        .zip(may_format)
        .zip(["a", "b"])
        .map(|((content, may_format), name)| Given {
            name: name.into(),
            content,
            may_format,
        })
        .collect();
    Ok(membership(&given)?.roles)
}

fn refused(device: &str, why: Unusable) -> Result<Vec<Role>, TierRefusal> {
    Err(TierRefusal::Device {
        device: device.into(),
        why,
    })
}

const NOBODY: [bool; 2] = [false, false];

#[test]
fn a_member_that_lags_has_missed_nothing() {
    let roles = decide([full(A, 4, [0, 0]), full(B, 3, [0, 0])], NOBODY);
    assert_eq!(roles.unwrap(), [Role::Member, Role::Member]);
}

#[test]
fn a_device_that_fell_behind_is_left_aside_or_formatted_where_that_is_permitted() {
    let contents = || [full(A, 4, [0, 4]), full(B, 3, [0, 0])];
    let roles = decide(contents(), NOBODY);
    assert_eq!(roles.unwrap(), [Role::Member, Role::Aside]);
    let roles = decide(contents(), [true, true]);
    let new = Role::New(Some(Unusable::FellBehind));
    assert_eq!(roles.unwrap(), [Role::Member, new]);
}

#[test]
fn devices_that_each_went_on_without_the_other_are_refused() {
    for (epoch_a, epoch_b) in [(4, 4), (4, 7), (7, 4)] {
        let contents = || [full(A, epoch_a, [0, 4]), full(B, epoch_b, [4, 0])];
        let roles = decide(contents(), NOBODY);
        let Err(TierRefusal::Device { why, .. }) = roles else {
            panic!("{roles:?}");
        };
        assert_eq!(why, Unusable::Diverged);
        let new = Role::New(Some(Unusable::Diverged));
        let roles = decide(contents(), [true, false]);
        assert_eq!(roles.unwrap(), [new.clone(), Role::Member]);
        let roles = decide(contents(), [false, true]);
        assert_eq!(roles.unwrap(), [Role::Member, new]);
    }
}

#[test]
fn where_every_device_fell_behind_none_is_used() {
    let contents = || [full(A, 4, [4, 4]), full(B, 3, [0, 0])];
    assert_eq!(
        decide(contents(), NOBODY),
        refused("a", Unusable::FellBehind)
    );
    let contents_of_both = [full(A, 4, [4, 4]), full(B, 4, [4, 4])];
    let refusal = decide(contents_of_both, NOBODY);
    assert_eq!(refusal, refused("a", Unusable::FellBehind));
    let new = Role::New(Some(Unusable::FellBehind));
    assert_eq!(
        decide(contents(), [false, true]).unwrap(),
        [Role::Aside, new]
    );
}

#[test]
fn a_joining_device_is_a_member_only_if_others_say_so() {
    let joining = |store, id| of_store(store, id, 4, Members::default());
    let roles = decide([full(A, 4, [0, 0]), joining(9, B)], NOBODY);
    assert_eq!(roles.unwrap(), [Role::Member, Role::Member]);
    for (store, id) in [(9, [3; 16]), (8, B)] {
        let roles = decide([full(A, 4, [0, 4]), joining(store, id)], NOBODY);
        assert_eq!(roles.unwrap(), [Role::Member, Role::New(None)]);
    }
    let roles = decide([joining(8, A), joining(9, B)], NOBODY);
    assert_eq!(roles.unwrap(), [Role::New(None), Role::New(None)]);
}

#[test]
fn what_is_not_the_stores_is_overwritten_only_where_that_is_permitted() {
    let foreign = || Unusable::Foreign("ext4".into());
    let contents = || [full(A, 1, [0, 1]), Content::Other(foreign())];
    assert_eq!(decide(contents(), NOBODY), refused("b", foreign()));
    let roles = decide(contents(), [false, true]);
    assert_eq!(roles.unwrap(), [Role::Member, Role::New(Some(foreign()))]);
    let members = Members::from_iter([Member {
        device_id: B,
        left: 0,
    }]);
    let contents = || [full(A, 1, [0, 1]), of_store(8, B, 5, members.clone())];
    assert_eq!(
        decide(contents(), NOBODY),
        refused("b", Unusable::OtherStore)
    );
    assert_eq!(
        decide(contents(), [true, true]),
        refused("b", Unusable::OtherStore)
    );
    let new = Role::New(Some(Unusable::OtherStore));
    assert_eq!(
        decide(contents(), [true, false]).unwrap(),
        [new.clone(), Role::Member]
    );
    assert_eq!(
        decide(contents(), [false, true]).unwrap(),
        [Role::Member, new]
    );
}
