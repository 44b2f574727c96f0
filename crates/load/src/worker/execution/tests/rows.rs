//! Rows of multi-row statements, and what is said of refused ones.

use super::*;
use values::generator::Uniform;

#[test]
fn every_row_has_its_own_draws_and_decimals_follow_them() {
    let draw = |name: &str, high: &str| ModelDraw {
        name: name.to_owned(),
        value: Value::from(Uniform { low: expression("0"), high: expression(high) }),
    };
    let of = || arg(Value::Draw { name: "customer".to_owned(), plus: expression("0") });
    let sum = vec!["customer".to_owned(), "cents".to_owned()];
    let price = arg(Value::Decimal { sum, digits: 2 });
    let mut insert = statement("{rows}", vec![of(), price]);
    insert.rows_per_statement = Some(expression("3"));
    insert.row_draws = vec![draw("customer", "99999"), draw("cents", "499")];
    insert.mode = Mode::Text;
    let mut customers = std::collections::BTreeSet::new();
    for sql in closed_log(&assignment(vec![op("o", vec![insert])], 1), 20) {
        for row in sql.trim_matches(['(', ')']).split("), (") {
            let (customer, price) = row.split_once(", ").unwrap();
            let (customer, price): (f64, f64) = (customer.parse().unwrap(), price.parse().unwrap());
            let cents = price * 100.0 - customer;
            assert!((-0.001..499.001).contains(&cents), "{row}");
            customers.insert(customer as u64);
        }
    }
    assert!(customers.len() > 50, "{customers:?}");
}

#[test]
fn a_refused_statement_is_named_with_its_line_and_a_repeated_or_lost_one_is_not() {
    let check = |mode: Mode, kind: FailureKind, expected: &str| {
        let mut assignment = point_query();
        assignment.script.source = "mine.toml".to_owned();
        let statement = &mut assignment.script.roles[0].ops[0].statements[0];
        (statement.mode, statement.line) = (mode, Some(7));
        let mut client = Scripted { failures: vec![(2, kind)], ..Scripted::default() };
        let mut clock = FakeClock { now: 0, step: 1000 };
        let tally = executed(&assignment, &closed(3), &mut client, &mut clock);
        assert_eq!(tally.errors[0].message, expected);
    };
    check(Mode::Text, FailureKind::Statement, "`mine.toml:7`: scripted");
    check(Mode::Prepared, FailureKind::Statement, "`mine.toml:7`: scripted");
    check(Mode::Text, FailureKind::Retry, "scripted");
    check(Mode::Text, FailureKind::Lost, "scripted");
}
