use super::*;
use crate::clock::Monotonic;
use crate::testing::*;
use model::drive::Assignment;
use model::script::{End, Pairing, Role};
use model::workload::{Arrival, Spacing};
use std::thread;

fn role(name: &str, clients: u32, end: End, pairing: Option<(usize, u64)>) -> Role {
    let pairing = pairing.map(|(role, lead)| Pairing { role, lead });
    let ops = &point_query().script.roles[0].ops;
    Role { clients, pairing, ..closed_role(name, ops, end) }
}

fn compiled(roles: Vec<Role>) -> Roles {
    let mut assignment: Assignment = point_query();
    assignment.script.roles = roles;
    Roles::compile(&assignment, "null").unwrap()
}

fn peers(roles: Vec<Role>) -> Peers {
    let roles = compiled(roles);
    let stretch = Stretch { end: StretchEnd::Roles, ..closed(0) };
    Peers::new(&roles, &stretch, roles.connections().unwrap() as u32)
}

/// Executes nothing as often as a role may, and returns the count and the largest lead over the
/// partner that an operation started with.
fn play(peers: &Peers, peer: u32, partner: u32, operations: u64) -> (u64, i64) {
    let pairing = peers.pairing(peer).unwrap();
    let other = peers.peer(partner).unwrap();
    let (mut own, mut lead_max) = (0, i64::MIN);
    while own < operations {
        pairing.go_together(&mut Monotonic, own, u64::MAX);
        if pairing.is_over(Monotonic.now(), u64::MAX, own) {
            break;
        }
        if !other.ended.load(Acquire) {
            lead_max = lead_max.max(own as i64 - other.completed.load(Acquire) as i64);
        }
        own += 1;
        pairing.publish(own);
    }
    pairing.leave(Monotonic.now());
    (own, lead_max)
}

fn check_pair(lead: u64) {
    const OPERATIONS: u64 = 20_000;
    let peers = peers(vec![
        role("a", 1, End::Operations(20000), Some((1, 8))),
        role("b", 1, End::With(0), Some((0, lead))),
    ]);
    let ((first, first_lead), (second, second_lead)) = thread::scope(|scope| {
        let second = scope.spawn(|| play(&peers, 1, 0, u64::MAX));
        let first = play(&peers, 0, 1, OPERATIONS);
        (first, second.join().unwrap())
    });
    assert_eq!(first, OPERATIONS);
    assert!(first_lead <= 8, "the first was {first_lead} ahead");
    assert!(second_lead <= lead as i64, "the second was {second_lead} ahead of {lead}");
    // It catches up with what the first one did, and does no more, whatever its lead is.
    assert_eq!(second, OPERATIONS);
}

#[test]
fn a_pair_is_never_further_apart_than_its_lead() {
    check_pair(0);
    check_pair(8);
}

#[test]
fn a_partner_that_is_gone_releases_who_waits() {
    let peers = peers(vec![
        role("a", 1, End::Operations(100), Some((1, 0))),
        role("b", 1, End::With(0), Some((0, 0))),
    ]);
    let done = thread::scope(|scope| {
        let first = scope.spawn(|| play(&peers, 0, 1, 100));
        // It leaves as a lost connection does, before it did anything.
        peers.pairing(1).unwrap().leave(Monotonic.now());
        first.join().unwrap().0
    });
    assert_eq!(done, 100);
}

#[test]
fn connections_are_stopped_by_their_like_or_by_all_others() {
    let peers = peers(vec![
        role("a", 2, End::Operations(1), None),
        role("b", 2, End::With(0), None),
        role("c", 1, End::With(0), None),
        role("d", 1, End::Others, None),
    ]);
    let stopped = || -> Vec<Option<u64>> {
        (2..6).map(|peer| peers.pairing(peer).unwrap().stopped_at()).collect()
    };
    assert_eq!(stopped(), [None, None, None, None]);
    peers.pairing(1).unwrap().leave(100);
    assert_eq!(stopped(), [None, Some(100), None, None]);
    peers.pairing(0).unwrap().leave(200);
    assert_eq!(stopped(), [Some(200), Some(100), Some(200), None]);
    for (peer, time) in [(2, 300), (3, 400), (4, 500)] {
        peers.pairing(peer).unwrap().leave(time);
    }
    assert_eq!(stopped()[3], Some(500));
    let pairing = peers.pairing(5).unwrap();
    assert!(!pairing.is_over(499, u64::MAX, 0) && pairing.is_over(500, u64::MAX, 0));
}

#[test]
fn a_role_does_not_wait_for_those_that_end_with_it() {
    let peers = peers(vec![
        role("a", 1, End::Others, None),
        role("b", 1, End::With(0), None),
        role("c", 1, End::Operations(1), None),
    ]);
    let stopped = |peer| peers.pairing(peer).unwrap().stopped_at();
    peers.pairing(2).unwrap().leave(100);
    assert_eq!(stopped(0), Some(100));
    assert_eq!(stopped(1), None);
    peers.pairing(0).unwrap().leave(200);
    assert_eq!(stopped(1), Some(200));
}

#[test]
fn a_stretch_that_is_cut_short_cuts_those_that_end_by_themselves() {
    let roles =
        compiled(vec![role("a", 1, End::Operations(9), None), role("b", 1, End::With(0), None)]);
    let limits = |end| {
        let peers = Peers::new(&roles, &Stretch { end, ..closed(0) }, 2);
        [peers.peer(0).unwrap().limit, peers.peer(1).unwrap().limit]
    };
    let some = |operations| Limit { operations, time: u64::MAX };
    assert_eq!(limits(StretchEnd::Roles), [some(9), Limit::NONE]);
    assert_eq!(limits(StretchEnd::Operations(4)), [some(4), Limit::NONE]);
    let second = Limit { operations: u64::MAX, time: 1_000_000_000 };
    assert_eq!(limits(StretchEnd::Seconds(1.0)), [second, Limit::NONE]);
}

#[test]
fn connections_of_different_roles_share_what_they_keep() {
    let mut assignment = point_query();
    let mut roles = vec![role("a", 2, End::Operations(1), None), role("b", 2, End::With(0), None)];
    roles[0].ops[0].statements[0].capture = Some("oldest".to_owned());
    assignment.script.roles = roles;
    let roles = Roles::compile(&assignment, "null").unwrap();
    let peers = Peers::new(&roles, &closed(1), 4);
    peers.pairing(1).unwrap().kept.set(0, 42);
    peers.pairing(3).unwrap().kept.add(0, 1);
    let values: Vec<i64> = (0..4).map(|peer| peers.pairing(peer).unwrap().kept.get(0)).collect();
    assert_eq!(values, [0, 43, 0, 43]);
}

#[test]
fn what_all_connections_of_a_role_record_is_counted_once() {
    let own = OWN_MAX + 5;
    let roles =
        vec![role("a", own, End::Operations(1), None), role("b", 1, End::Operations(1), None)];
    let peers = peers(roles);
    for peer in 0..own {
        peers.peer(peer).unwrap().latencies.service[0].record(u64::from(peer));
    }
    let counts = [0, 1].map(|part| peers.latencies(part).service[0].to_hdr().unwrap().len());
    assert_eq!(counts, [u64::from(own), 0]);
}

#[test]
fn roles_of_one_rate_do_not_start_their_operations_together() {
    let paced = |name: &str| {
        let arrival = Arrival::Open { per_second: 1000.0, spacing: Spacing::Poisson };
        Role { arrival, ..role(name, 2, End::Operations(1), None) }
    };
    let peers = peers(vec![paced("a"), paced("b")]);
    let times = |peer| {
        let mut schedule = peers.peer(peer).unwrap().schedule.clone();
        (0..100).map(|_| schedule.take()).collect::<std::collections::BTreeSet<u64>>()
    };
    let all: Vec<_> = (0..4).map(times).collect();
    for (place, one) in all.iter().enumerate() {
        for other in &all[place + 1..] {
            assert!(one.intersection(other).count() < 10, "{one:?} {other:?}");
        }
    }
}
