//! What is drawn of a transaction before it begins (clauses 2.4.1 to 2.8.1), and what is counted of
//! it.

use super::Setup;
use crate::keys::tpcc::*;
use model::drawn::{Drawn, Expected};
use values::Random;

/// Greatest number of lines of an order.
pub(super) const LINES_MAX: usize = LINES.1 as usize;
/// An item that does not exist.
const UNUSED_ITEM: u64 = ITEMS + 1;
/// One new order of so many is rolled back.
const ROLLED_BACK: u64 = 100;
/// One order line of so many comes from another warehouse.
const REMOTE_LINES: u64 = 100;
/// Of 100 payments, those of a customer of another warehouse.
const REMOTE_PAYMENTS: u64 = 15;
/// Of 100 customers, those that are looked up by their last name.
const BY_NAME: u64 = 60;

/// Where the transactions of a connection come from.
pub(super) struct Terminal {
    warehouses: u64,
    home: Home,
}

/// How the home warehouse of a transaction is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    /// Always the same.
    Fixed(u64),
    /// Any, uniform.
    Any,
    /// Uniform among `first`, `first + step`, …: `count` warehouses of this connection alone.
    Share { first: u64, step: u64, count: u64 },
}

impl Terminal {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let warehouses = setup.number("warehouses", 1).max(1) as u64;
        let index = u64::from(setup.member.index);
        let clients = u64::from(setup.member.clients).max(1);
        let fixed = Home::Fixed(index % warehouses + 1);
        let home = match setup.number("home", 1) {
            2 => Home::Any,
            3 if clients < warehouses => {
                let count = (warehouses - index).div_ceil(clients);
                Home::Share { first: index + 1, step: clients, count }
            }
            _ => fixed,
        };
        Self { warehouses, home }
    }

    fn home(&self, random: &mut Random) -> u64 {
        match self.home {
            Home::Fixed(warehouse) => warehouse,
            Home::Any => between(random, 1, self.warehouses),
            Home::Share { first, step, count } => first + step * random.below(count),
        }
    }

    /// Another warehouse, uniform among all others; home where there is none.
    fn other(&self, home: u64, random: &mut Random) -> u64 {
        if self.warehouses == 1 {
            return home;
        }
        let drawn = between(random, 1, self.warehouses - 1);
        drawn + u64::from(drawn >= home)
    }
}

/// The inputs of the transaction in hand, of each kind the last.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) new_order: NewOrder,
    pub(super) payment: Payment,
    pub(super) order_status: OrderStatus,
    pub(super) delivery: Delivery,
    pub(super) stock_level: StockLevel,
}

/// A district and its warehouse.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct District {
    pub(super) warehouse: i64,
    pub(super) number: i64,
}

impl District {
    fn draw(warehouse: u64, random: &mut Random) -> Self {
        let number = between(random, 1, DISTRICTS) as i64;
        Self { warehouse: warehouse as i64, number }
    }
}

/// Which customer of a district.
#[derive(Debug, Clone, Copy)]
pub(super) enum Customer {
    Id(i64),
    Name { text: [u8; NAME_MAX], length: usize },
}

impl Default for Customer {
    fn default() -> Self {
        Self::Id(1)
    }
}

impl Customer {
    fn draw(random: &mut Random, counted: &mut Counted) -> Self {
        counted.customers += 1;
        if random.below(100) >= BY_NAME {
            return Self::Id(ASKED_CUSTOMER.draw(random) as i64);
        }
        counted.by_name += 1;
        let mut text = [0; NAME_MAX];
        let length = last_name(ASKED_NAME.draw(random), &mut text);
        Self::Name { text, length }
    }
}

/// One line of a new order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    pub(super) supply: i64,
    pub(super) item: i64,
    pub(super) quantity: i64,
}

#[derive(Default)]
pub(super) struct NewOrder {
    pub(super) district: District,
    pub(super) customer: i64,
    lines: [Line; LINES_MAX],
    count: usize,
    pub(super) is_local: bool,
    /// Whether its last line has an item that does not exist.
    pub(super) rolls_back: bool,
}

impl NewOrder {
    pub(super) fn draw(&mut self, terminal: &Terminal, random: &mut Random, counted: &mut Counted) {
        let home = terminal.home(random);
        self.district = District::draw(home, random);
        self.customer = ASKED_CUSTOMER.draw(random) as i64;
        self.count = between(random, LINES.0, LINES.1) as usize;
        self.rolls_back = random.below(ROLLED_BACK) == 0;
        self.is_local = true;
        for line in &mut self.lines[..self.count] {
            let item = ASKED_ITEM.draw(random) as i64;
            let supply = match random.below(REMOTE_LINES) {
                0 => terminal.other(home, random),
                _ => home,
            };
            self.is_local &= supply == home;
            counted.remote_lines += u64::from(supply != home);
            *line = Line { supply: supply as i64, item, quantity: between(random, 1, 10) as i64 };
        }
        if self.rolls_back {
            self.lines[self.count - 1].item = UNUSED_ITEM as i64;
        }
        // All clients lock stocks in the same order, so that none waits for one that waits for it.
        self.lines[..self.count].sort_unstable();
        counted.new_orders += 1;
        counted.lines += self.count as u64;
    }

    pub(super) fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }
}

#[derive(Default)]
pub(super) struct Payment {
    pub(super) district: District,
    /// That of the customer.
    pub(super) of_customer: District,
    pub(super) customer: Customer,
    /// Cents.
    pub(super) amount: i64,
}

impl Payment {
    pub(super) fn draw(&mut self, terminal: &Terminal, random: &mut Random, counted: &mut Counted) {
        let home = terminal.home(random);
        self.district = District::draw(home, random);
        let other = match random.below(100) {
            ..REMOTE_PAYMENTS => terminal.other(home, random),
            _ => home,
        };
        self.of_customer = match other == home {
            true => self.district,
            false => District::draw(other, random),
        };
        counted.payments += 1;
        counted.remote_payments += u64::from(other != home);
        self.customer = Customer::draw(random, counted);
        self.amount = between(random, 100, 500_000) as i64;
    }
}

#[derive(Default)]
pub(super) struct OrderStatus {
    pub(super) district: District,
    pub(super) customer: Customer,
}

impl OrderStatus {
    pub(super) fn draw(&mut self, terminal: &Terminal, random: &mut Random, counted: &mut Counted) {
        self.district = District::draw(terminal.home(random), random);
        self.customer = Customer::draw(random, counted);
    }
}

#[derive(Default)]
pub(super) struct Delivery {
    pub(super) warehouse: i64,
    pub(super) carrier: i64,
}

impl Delivery {
    pub(super) fn draw(&mut self, terminal: &Terminal, random: &mut Random) {
        self.warehouse = terminal.home(random) as i64;
        self.carrier = between(random, 1, 10) as i64;
    }
}

#[derive(Default)]
pub(super) struct StockLevel {
    pub(super) district: District,
    pub(super) threshold: i64,
}

impl StockLevel {
    pub(super) fn draw(&mut self, terminal: &Terminal, random: &mut Random) {
        self.district = District::draw(terminal.home(random), random);
        self.threshold = between(random, 10, 20) as i64;
    }
}

/// Counts of a connection in a stretch.
#[derive(Default)]
pub(super) struct Counted {
    new_orders: u64,
    lines: u64,
    remote_lines: u64,
    /// Those that ended well: an open loop draws also what it then has no time for.
    pub(super) ended_orders: u64,
    pub(super) rolled_back: u64,
    payments: u64,
    remote_payments: u64,
    customers: u64,
    by_name: u64,
    districts: u64,
    skipped: u64,
}

impl Counted {
    /// A committed delivery that found no order in some districts.
    pub(super) fn delivered(&mut self, skipped: u64) {
        self.districts += DISTRICTS;
        self.skipped += skipped;
    }

    /// What is held against the specification.
    pub(super) fn drawn(&self, terminal: &Terminal) -> Vec<Drawn> {
        let drawn = |name: &str, count: u64, draws: u64, expected: Option<Expected>| Drawn {
            name: name.to_owned(),
            count,
            draws,
            expected,
        };
        let percent = |percent: u64| Some(Expected::share(percent as f64 / 100.0));
        let has_others = u64::from(terminal.warehouses > 1);
        let (low, high) = (LINES.0 as f64, LINES.1 as f64);
        // Variance of a uniform integer.
        let variance = ((high - low + 1.0).powi(2) - 1.0) / 12.0;
        let lines = Some(Expected { mean: (low + high) / 2.0, deviation: variance.sqrt() });
        vec![
            drawn("lines of new orders", self.lines, self.new_orders, lines),
            drawn("new orders rolled back", self.rolled_back, self.ended_orders, percent(1)),
            drawn("remote order lines", self.remote_lines, self.lines, percent(has_others)),
            drawn(
                "remote payments",
                self.remote_payments,
                self.payments,
                percent(REMOTE_PAYMENTS * has_others),
            ),
            drawn("customers by last name", self.by_name, self.customers, percent(BY_NAME)),
            drawn("districts without an order to deliver", self.skipped, self.districts, None),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_that_were_drawn_and_dropped_are_not_expected_to_be_rolled_back() {
        let terminal = Terminal { warehouses: 1, home: Home::Any };
        let counted = Counted {
            new_orders: 5_000,
            ended_orders: 500,
            rolled_back: 5,
            lines: 50_000,
            ..Counted::default()
        };
        let drawn = counted.drawn(&terminal);
        let unlikely: Vec<String> = drawn.iter().filter_map(Drawn::unlikely).collect();
        assert_eq!(unlikely, Vec::<String>::new());
        assert_eq!((drawn[1].count, drawn[1].draws), (5, 500));
    }
}
