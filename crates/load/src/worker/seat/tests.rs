use super::*;
use crate::clock::Monotonic;
use crate::testing::*;
use model::drive::Assignment;
use model::workload::{Pair, Role, RoleEnd};
use std::thread;

fn role(name: &str, clients: &str, end: RoleEnd, pair: Option<(&str, u32)>) -> Role {
    let pair = pair.map(|(role, lead)| Pair { role: role.to_owned(), lead });
    Role { clients: expression(clients), pair, ..closed_role(name, end) }
}

fn operations(count: &str) -> RoleEnd {
    RoleEnd::Operations(expression(count))
}

fn with(name: &str) -> RoleEnd {
    RoleEnd::With(name.to_owned())
}

fn cast(roles: Vec<Role>) -> Cast {
    let mut assignment: Assignment = point_query();
    assignment.workload.roles = roles;
    Cast::compile(&assignment, "null").unwrap()
}

fn seats(roles: Vec<Role>) -> Seats {
    let cast = cast(roles);
    let stretch = Stretch { end: StretchEnd::Roles, ..closed(0) };
    Seats::new(&cast, &stretch, cast.connections().unwrap() as u32)
}

/// Executes nothing as often as a role may, and returns the count and the largest lead over the
/// partner that an operation started with.
fn play(seats: &Seats, seat: u32, partner: u32, operations: u64) -> (u64, i64) {
    let guide = seats.guide(seat).unwrap();
    let other = seats.seat(partner).unwrap();
    let (mut own, mut lead_max) = (0, i64::MIN);
    while own < operations {
        guide.go_together(&mut Monotonic, own, u64::MAX);
        if guide.is_over(Monotonic.now(), u64::MAX, own) {
            break;
        }
        if !other.ended.load(Acquire) {
            lead_max = lead_max.max(own as i64 - other.completed.load(Acquire) as i64);
        }
        own += 1;
        guide.publish(own);
    }
    guide.leave(Monotonic.now());
    (own, lead_max)
}

fn check_pair(lead: u32) {
    const OPERATIONS: u64 = 20_000;
    let seats = seats(vec![
        role("a", "1", operations("20000"), Some(("b", 8))),
        role("b", "1", with("a"), Some(("a", lead))),
    ]);
    let ((first, first_lead), (second, second_lead)) = thread::scope(|scope| {
        let second = scope.spawn(|| play(&seats, 1, 0, u64::MAX));
        let first = play(&seats, 0, 1, OPERATIONS);
        (first, second.join().unwrap())
    });
    assert_eq!(first, OPERATIONS);
    assert!(first_lead <= 8, "the first was {first_lead} ahead");
    assert!(second_lead <= i64::from(lead), "the second was {second_lead} ahead of {lead}");
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
    let seats = seats(vec![
        role("a", "1", operations("100"), Some(("b", 0))),
        role("b", "1", with("a"), Some(("a", 0))),
    ]);
    let done = thread::scope(|scope| {
        let first = scope.spawn(|| play(&seats, 0, 1, 100));
        // It leaves as a lost connection does, before it did anything.
        seats.guide(1).unwrap().leave(Monotonic.now());
        first.join().unwrap().0
    });
    assert_eq!(done, 100);
}

#[test]
fn connections_are_stopped_by_their_like_or_by_all_others() {
    let seats = seats(vec![
        role("a", "2", operations("1"), None),
        role("b", "2", with("a"), None),
        role("c", "1", with("a"), None),
        role("d", "1", with(""), None),
    ]);
    let stopped = || -> Vec<Option<u64>> {
        (2..6).map(|seat| seats.guide(seat).unwrap().stopped_at()).collect()
    };
    assert_eq!(stopped(), [None, None, None, None]);
    seats.guide(1).unwrap().leave(100);
    assert_eq!(stopped(), [None, Some(100), None, None]);
    seats.guide(0).unwrap().leave(200);
    assert_eq!(stopped(), [Some(200), Some(100), Some(200), None]);
    for (seat, time) in [(2, 300), (3, 400), (4, 500)] {
        seats.guide(seat).unwrap().leave(time);
    }
    assert_eq!(stopped()[3], Some(500));
    let guide = seats.guide(5).unwrap();
    assert!(!guide.is_over(499, u64::MAX, 0) && guide.is_over(500, u64::MAX, 0));
}

#[test]
fn a_stretch_that_is_cut_short_cuts_those_that_end_by_themselves() {
    let cast = cast(vec![role("a", "1", operations("9"), None), role("b", "1", with("a"), None)]);
    let limits = |end| {
        let seats = Seats::new(&cast, &Stretch { end, ..closed(0) }, 2);
        [seats.seat(0).unwrap().limit, seats.seat(1).unwrap().limit]
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
    assignment.workload.ops[0].statements[0].capture = Some("oldest".to_owned());
    assignment.workload.roles =
        vec![role("a", "2", operations("1"), None), role("b", "2", with("a"), None)];
    let cast = Cast::compile(&assignment, "null").unwrap();
    let seats = Seats::new(&cast, &closed(1), 4);
    seats.guide(1).unwrap().kept.set(0, 42);
    seats.guide(3).unwrap().kept.add(0, 1);
    let values: Vec<i64> = (0..4).map(|seat| seats.guide(seat).unwrap().kept.get(0)).collect();
    assert_eq!(values, [0, 43, 0, 43]);
}
