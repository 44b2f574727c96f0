//! A coded workload: orders of a drawn number of lines, some of which are rolled back on purpose.

use load::{
    clock::Clock,
    engine::Engine,
    protocol,
    transaction::{Coded, Operation, Outcome, Setup, Statement, Transaction, Work},
    wire::{Client, Failure, Parameter, Row, Session, Value},
};
use model::{
    drive::{Stretch, StretchEnd, StretchReport, Target},
    workload::{Class, Mode},
};
use values::Random;

const ACCOUNTS: u64 = 3;
const ITEMS: u64 = 20;
const LINES_MAX: usize = 5;
const BALANCE: i64 = 1_000_000;
const SEED: u64 = 7;

/// The orders of one connection.
pub(crate) struct Orders {
    begin: Statement,
    account: Statement,
    item: Statement,
    sale: Statement,
    line: Statement,
    pay: Statement,
    commit: Statement,
    order: Order,
    /// Who pays, as the server says.
    owner: [u8; 16],
}

/// What is drawn of an order.
#[derive(Default)]
struct Order {
    account: i64,
    items: [i64; LINES_MAX],
    lines: usize,
    rolls_back: bool,
}

impl Order {
    fn draw(&mut self, random: &mut Random) {
        let mut one_of = |count: u64| 1 + random.below(count) as i64;
        self.account = one_of(ACCOUNTS);
        self.lines = one_of(LINES_MAX as u64) as usize;
        self.items = std::array::from_fn(|_| one_of(ITEMS));
        self.rolls_back = one_of(10) == 1;
    }
}

impl Coded for Orders {
    const NAME: &'static str = "orders";
    const OPERATIONS: &'static [Operation] = &[Operation { name: "order", weight: 1 }];

    fn new(setup: &mut Setup<'_>) -> Self {
        let (begin, lock) = match setup.dialect {
            "sqlite" => ("BEGIN IMMEDIATE", ""),
            _ => ("BEGIN", " FOR UPDATE"),
        };
        let account = format!("SELECT balance, owner FROM accounts WHERE id = ?{lock}");
        let integers = vec![Parameter::Integer; 3];
        let line = [&integers[..], &[Parameter::Varying(16)]].concat();
        Self {
            begin: setup.statement(Class::Other, begin, &[]),
            account: setup.statement(Class::Read, &account, &integers[..1]),
            item: setup.statement(
                Class::Read,
                "SELECT price FROM items WHERE id = ?",
                &integers[..1],
            ),
            sale: setup.statement(
                Class::Write,
                "UPDATE items SET sold = sold + 1 WHERE id = ?",
                &integers[..1],
            ),
            line: setup.statement(
                Class::Write,
                "INSERT INTO order_lines (account, item, price, owner) VALUES (?, ?, ?, ?)",
                &line,
            ),
            pay: setup.statement(
                Class::Write,
                "UPDATE accounts SET balance = ? WHERE id = ?",
                &integers[..2],
            ),
            commit: setup.statement(Class::Other, "COMMIT", &[]),
            order: Order::default(),
            owner: [0; 16],
        }
    }
}

impl Transaction for Orders {
    fn draw(&mut self, _: usize, random: &mut Random) {
        self.order.draw(random);
    }

    fn attempt<C: Client, K: Clock>(
        &mut self,
        _: usize,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let Order { account, items, lines, rolls_back } = self.order;
        work.execute(self.begin, &[])?;
        let (mut balance, mut owner_length) = (0, 0);
        let owner = &mut self.owner;
        work.fetch(self.account, &[account.into()], |row| {
            balance = integer(row);
            if let Some(Value::Bytes(text)) = row.next() {
                owner_length = text.len().min(owner.len());
                owner[..owner_length].copy_from_slice(&text[..owner_length]);
            }
        })?;
        for item in &items[..lines] {
            let mut price = 0;
            work.fetch(self.item, &[(*item).into()], |row| price = integer(row))?;
            if price % 2 == 0 {
                work.execute(self.sale, &[(*item).into()])?;
            }
            let owner = &self.owner[..owner_length];
            work.execute(self.line, &[account.into(), (*item).into(), price.into(), owner.into()])?;
            balance -= price;
        }
        if rolls_back {
            return work.roll_back();
        }
        work.execute(self.pay, &[balance.into(), account.into()])?;
        work.execute(self.commit, &[])?;
        Ok(Outcome::Done)
    }
}

fn integer(row: &mut dyn Row) -> i64 {
    row.next().and_then(|value| value.integer()).unwrap_or_default()
}

/// Makes the tables anew. Items cost as much as their number.
pub(crate) fn make_tables(session: &mut dyn Session) {
    let mut execute = |sql: &str| {
        session.query(sql).unwrap_or_else(|error| panic!("`{sql}`: {error}"));
    };
    for (table, columns) in [
        ("accounts", "id BIGINT PRIMARY KEY, balance BIGINT, owner VARCHAR(16)"),
        ("items", "id BIGINT PRIMARY KEY, price BIGINT, sold BIGINT"),
        ("order_lines", "account BIGINT, item BIGINT, price BIGINT, owner VARCHAR(16)"),
    ] {
        execute(&format!("DROP TABLE IF EXISTS {table}"));
        execute(&format!("CREATE TABLE {table} ({columns})"));
    }
    for id in 1..=ACCOUNTS {
        execute(&format!("INSERT INTO accounts VALUES ({id}, {BALANCE}, 'owner-{id}')"));
    }
    for id in 1..=ITEMS {
        execute(&format!("INSERT INTO items VALUES ({id}, {id}, 0)"));
    }
}

/// Executes so many orders on each connection.
pub(crate) fn run(engine: &mut Engine, operations: u64) -> StretchReport {
    let end = StretchEnd::Operations(operations);
    let stretch = Stretch { end, seed: SEED, interval_ms: 1000 };
    engine.run(&stretch).unwrap()
}

/// Orders of two connections must leave behind what their inputs say, however often they were
/// attempted.
pub(crate) fn check(target: &Target, mode: Mode) {
    const CLIENTS: u32 = 2;
    const OPERATIONS: u64 = 200;
    let mut session = protocol::open(target).unwrap();
    make_tables(session.as_mut());
    let mut engine = Engine::connect(target, CLIENTS).unwrap();
    engine.compile_coded::<Orders>(mode).unwrap();
    let report = run(&mut engine, OPERATIONS);
    let [lines, price, sold, rolled_back] = expected(CLIENTS, OPERATIONS);
    let all = u64::from(CLIENTS) * OPERATIONS;
    assert_eq!((report.succeeded, report.failed), (all, 0), "{:?}", report.errors);
    let order = &report.ops[0];
    assert_eq!((order.name.as_str(), order.count, order.rolled_back), ("order", all, rolled_back));
    assert_eq!(found(session.as_mut()), [lines, price, sold]);
    assert!(rolled_back > 10 && report.rows_read > lines, "{report:?}");
}

/// What so many operations on so many connections leave behind, drawn again: lines, their price,
/// sales of items with an even price, and the orders that are rolled back.
fn expected(clients: u32, operations: u64) -> [u64; 4] {
    let [mut lines, mut price, mut sold, mut rolled_back] = [0; 4];
    for client in 0..clients {
        let (mut random, mut order) = (Random::new(SEED, u64::from(client)), Order::default());
        for _ in 0..operations {
            order.draw(&mut random);
            let items = &order.items[..order.lines];
            if order.rolls_back {
                rolled_back += 1;
                continue;
            }
            lines += items.len() as u64;
            price += items.iter().sum::<i64>() as u64;
            sold += items.iter().filter(|item| **item % 2 == 0).count() as u64;
        }
    }
    [lines, price, sold, rolled_back]
}

/// The same, as the tables say it; the balances and the owners must agree with the lines.
fn found(session: &mut dyn Session) -> [u64; 3] {
    let mut number = |sql: &str| -> u64 {
        let rows = session.query(sql).unwrap_or_else(|error| panic!("`{sql}`: {error}"));
        rows.rows[0][0].as_deref().unwrap_or("0").parse().unwrap()
    };
    let price = number("SELECT SUM(price) FROM order_lines");
    let spent = ACCOUNTS * BALANCE as u64 - number("SELECT SUM(balance) FROM accounts");
    assert_eq!(spent, price);
    let joined = "SELECT COUNT(*) FROM order_lines l JOIN accounts a ON a.id = l.account";
    let lines = number(joined);
    assert_eq!(number(&format!("{joined} WHERE a.owner = l.owner")), lines);
    [lines, price, number("SELECT SUM(sold) FROM items")]
}
