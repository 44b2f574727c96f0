//! The workload that resembles TPC-C, as a plan gives it to the engine.

use model::{
    Parameters,
    drawn::Drawn,
    drive::{Assignment, StretchReport},
    schema::Schema,
    script::{Coded, Op, Role, Script},
    workload::Mode,
};

const MIX: [(&str, u32); 5] =
    [("new-order", 45), ("payment", 43), ("order-status", 4), ("delivery", 4), ("stock-level", 4)];

/// The mix over so many warehouses, which each transaction draws its own from.
pub(crate) fn assignment(mode: Option<Mode>, warehouses: i64) -> Assignment {
    let op = |(name, weight): (&str, u32)| Op {
        weight,
        transaction: true,
        ..Op::plain(name, Vec::new())
    };
    let parameters = [("warehouses", warehouses), ("home", 2)];
    let parameters: Parameters = parameters.map(|(name, value)| (name.to_owned(), value)).into();
    Assignment {
        script: Script {
            workload: "tpcc".to_owned(),
            schema: "tpcc".to_owned(),
            roles: vec![Role { ops: MIX.map(op).into(), ..Role::default() }],
            coded: Some(Coded {
                name: "tpcc".to_owned(),
                parameters,
                writes: true,
                committed: None,
            }),
            ..Script::default()
        },
        schema: Schema { name: "tpcc".to_owned(), ..Schema::default() },
        mode,
    }
}

/// Every share must be as likely as the specification says, and none may be missing.
pub(crate) fn check_draws(report: &StretchReport, warehouses: u64) {
    let unlikely: Vec<String> = report.drawn.iter().filter_map(Drawn::unlikely).collect();
    // Without a server every item exists, so that nothing is rolled back.
    let expected = report.drawn.iter().find(|drawn| drawn.name == "new orders rolled back");
    assert_eq!(expected.unwrap().count, 0);
    assert_eq!(unlikely.len(), 1, "{unlikely:?}");
    let count = |name: &str| {
        let found = report.drawn.iter().find(|drawn| drawn.name == name).unwrap();
        (found.count, found.draws)
    };
    let (remote, payments) = count("remote payments");
    assert!(payments > 10_000 && (remote > 0) == (warehouses > 1), "{remote} of {payments}");
    let statements = (report.reads + report.writes + report.others) as f64;
    let each = statements / report.succeeded as f64;
    // 26.56 and BEGIN and COMMIT; without a server no customer has bad credit, and nothing is
    // rolled back half way.
    assert!((28.0..29.0).contains(&each), "{each} statements for each transaction");
}
