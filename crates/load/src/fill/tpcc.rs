//! The loaded rows of TPC-C (clause 4.3.3.1), each from its key alone.

use super::coded::{CodedTable, Maker, RowNumber};
use crate::keys::tpcc::*;
use crate::wire::RowSink;
use values::Random;

/// The nine tables.
pub(super) const TABLES: &[CodedTable] = &[
    CodedTable {
        name: "tpcc.warehouse",
        columns: &[
            "w_id",
            "w_name",
            "w_street_1",
            "w_street_2",
            "w_city",
            "w_state",
            "w_zip",
            "w_tax",
            "w_ytd",
        ],
        rows_per_unit: 1,
        make: warehouse,
    },
    CodedTable {
        name: "tpcc.district",
        columns: &[
            "d_id",
            "d_w_id",
            "d_name",
            "d_street_1",
            "d_street_2",
            "d_city",
            "d_state",
            "d_zip",
            "d_tax",
            "d_ytd",
            "d_next_o_id",
        ],
        rows_per_unit: 1,
        make: district,
    },
    CodedTable {
        name: "tpcc.customer",
        columns: &[
            "c_id",
            "c_d_id",
            "c_w_id",
            "c_first",
            "c_middle",
            "c_last",
            "c_street_1",
            "c_street_2",
            "c_city",
            "c_state",
            "c_zip",
            "c_phone",
            "c_since",
            "c_credit",
            "c_credit_lim",
            "c_discount",
            "c_balance",
            "c_ytd_payment",
            "c_payment_cnt",
            "c_delivery_cnt",
            "c_data",
        ],
        rows_per_unit: 1,
        make: customer,
    },
    CodedTable {
        name: "tpcc.history",
        columns: &[
            "h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data",
        ],
        rows_per_unit: 1,
        make: history,
    },
    CodedTable {
        name: "tpcc.orders",
        columns: &[
            "o_id",
            "o_d_id",
            "o_w_id",
            "o_c_id",
            "o_entry_d",
            "o_carrier_id",
            "o_ol_cnt",
            "o_all_local",
        ],
        rows_per_unit: 1,
        make: order,
    },
    CodedTable {
        name: "tpcc.new_orders",
        columns: &["no_o_id", "no_d_id", "no_w_id"],
        rows_per_unit: 1,
        make: new_order,
    },
    CodedTable {
        name: "tpcc.order_line",
        columns: &[
            "ol_o_id",
            "ol_d_id",
            "ol_w_id",
            "ol_number",
            "ol_i_id",
            "ol_supply_w_id",
            "ol_delivery_d",
            "ol_quantity",
            "ol_amount",
            "ol_dist_info",
        ],
        rows_per_unit: 10,
        make: order_line,
    },
    CodedTable {
        name: "tpcc.stock",
        columns: &[
            "s_i_id",
            "s_w_id",
            "s_quantity",
            "s_dist_01",
            "s_dist_02",
            "s_dist_03",
            "s_dist_04",
            "s_dist_05",
            "s_dist_06",
            "s_dist_07",
            "s_dist_08",
            "s_dist_09",
            "s_dist_10",
            "s_ytd",
            "s_order_cnt",
            "s_remote_cnt",
            "s_data",
        ],
        rows_per_unit: 1,
        make: stock,
    },
    CodedTable {
        name: "tpcc.item",
        columns: &["i_id", "i_im_id", "i_name", "i_price", "i_data"],
        rows_per_unit: 1,
        make: item,
    },
];

/// Where a row stands among those of all districts.
struct Key {
    warehouse: u64,
    district: u64,
    /// Number in the district, from 1.
    number: u64,
}

impl Key {
    fn of(unit: u64, per_district: u64) -> Self {
        let district = unit / per_district;
        Self {
            warehouse: district / DISTRICTS + 1,
            district: district % DISTRICTS + 1,
            number: unit % per_district + 1,
        }
    }

    /// Number, district and warehouse, as most tables begin.
    fn give(&self, sink: &mut dyn RowSink) {
        for value in [self.number, self.district, self.warehouse] {
            sink.integer(value as i64);
        }
    }
}

impl Maker {
    /// A text of letters and digits, of a drawn length.
    fn letters(&mut self, low: u64, high: u64, sink: &mut dyn RowSink) {
        let length = between(&mut self.random, low, high) as usize;
        self.text.resize(length, 0);
        alphanumeric(&mut self.random, &mut self.text);
        sink.text(&self.text);
    }

    /// A text of a number of digits.
    fn digits(&mut self, count: usize, behind: &str, sink: &mut dyn RowSink) {
        self.text.clear();
        for _ in 0..count {
            self.text.push(b'0' + self.random.below(10) as u8);
        }
        self.text.extend_from_slice(behind.as_bytes());
        sink.text(&self.text);
    }

    /// A number from 0 to `high` with a point before its last `digits`.
    fn decimal(&mut self, (low, high): (u64, u64), digits: u32, sink: &mut dyn RowSink) {
        let (value, base) = (between(&mut self.random, low, high), 10_u64.pow(digits));
        let width = digits as usize;
        sink.text(format!("{}.{:0width$}", value / base, value % base).as_bytes());
    }

    /// Street, second street, city, state and zip code.
    fn address(&mut self, sink: &mut dyn RowSink) {
        for _ in 0..3 {
            self.letters(10, 20, sink);
        }
        self.text.clear();
        for _ in 0..2 {
            self.text.push(b'A' + self.random.below(26) as u8);
        }
        sink.text(&self.text);
        self.digits(4, "11111", sink);
    }

    /// 26 to 50 letters and digits, a tenth of which hold a word at a random number.
    fn data(&mut self, sink: &mut dyn RowSink) {
        const ORIGINAL: &[u8] = b"ORIGINAL";
        let length = between(&mut self.random, 26, 50) as usize;
        self.text.resize(length, 0);
        alphanumeric(&mut self.random, &mut self.text);
        if self.random.below(10) == 0 {
            let at = self.random.below((length - ORIGINAL.len() + 1) as u64) as usize;
            self.text[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
        sink.text(&self.text);
    }

    /// The customer of an order: the place of its number in a permutation of its district.
    fn customer_of(&mut self, unit: u64) -> i64 {
        let district = unit / CUSTOMERS;
        let (of, customers) = &mut self.permutation;
        if *of != district || customers.is_empty() {
            *of = district;
            customers.clear();
            customers.extend(1..=CUSTOMERS as u16);
            let mut random = Random::new(self.seed ^ PERMUTATION, district);
            for last in (1..customers.len()).rev() {
                customers.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        i64::from(customers[(unit % CUSTOMERS) as usize])
    }

    /// Lines of an order, which the tables of orders and of lines agree on.
    fn lines_of(&self, unit: u64) -> u64 {
        let mut random = Random::new(self.shared_seed ^ ORDER_LINES, unit);
        between(&mut random, LINES.0, LINES.1)
    }
}

/// Apart from the streams of rows.
const PERMUTATION: u64 = 0x7065_726d_7574_6500;
const ORDER_LINES: u64 = 0x6c69_6e65_7300_0000;

fn warehouse(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    sink.integer(number.unit as i64 + 1);
    maker.letters(6, 10, sink);
    maker.address(sink);
    maker.decimal((0, 2000), 4, sink);
    sink.integer(300_000);
    false
}

fn district(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    sink.integer((number.unit % DISTRICTS) as i64 + 1);
    sink.integer((number.unit / DISTRICTS) as i64 + 1);
    maker.letters(6, 10, sink);
    maker.address(sink);
    maker.decimal((0, 2000), 4, sink);
    sink.integer(30_000);
    sink.integer(CUSTOMERS as i64 + 1);
    false
}

fn customer(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let key = Key::of(number.unit, CUSTOMERS);
    key.give(sink);
    maker.letters(8, 16, sink);
    sink.text(b"OE");
    let number = match key.number {
        first @ ..=1000 => first - 1,
        _ => LOADED_NAME.draw(&mut maker.random),
    };
    let mut name = [0; NAME_MAX];
    let length = last_name(number, &mut name);
    sink.text(&name[..length]);
    maker.address(sink);
    maker.digits(16, "", sink);
    sink.text(&maker.now);
    sink.text(if maker.random.below(10) == 0 { b"BC" } else { b"GC" });
    sink.integer(50_000);
    maker.decimal((0, 5000), 4, sink);
    for value in [-10, 10, 1, 0] {
        sink.integer(value);
    }
    maker.letters(300, 500, sink);
    false
}

fn history(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let key = Key::of(number.unit, CUSTOMERS);
    key.give(sink);
    sink.integer(key.district as i64);
    sink.integer(key.warehouse as i64);
    sink.text(&maker.now);
    sink.integer(10);
    maker.letters(12, 24, sink);
    false
}

fn order(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let key = Key::of(number.unit, CUSTOMERS);
    key.give(sink);
    sink.integer(maker.customer_of(number.unit));
    sink.text(&maker.now);
    match key.number {
        ..=DELIVERED => sink.integer(between(&mut maker.random, 1, 10) as i64),
        _ => sink.null(),
    }
    sink.integer(maker.lines_of(number.unit) as i64);
    sink.integer(1);
    false
}

fn new_order(_: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let mut key = Key::of(number.unit, CUSTOMERS - DELIVERED);
    key.number += DELIVERED;
    key.give(sink);
    false
}

fn order_line(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    let key = Key::of(number.unit, CUSTOMERS);
    key.give(sink);
    sink.integer(number.row as i64 + 1);
    sink.integer(between(&mut maker.random, 1, ITEMS) as i64);
    sink.integer(key.warehouse as i64);
    let is_delivered = key.number <= DELIVERED;
    match is_delivered {
        true => sink.text(&maker.now),
        false => sink.null(),
    }
    sink.integer(5);
    match is_delivered {
        true => sink.integer(0),
        false => maker.decimal((1, 999_999), 2, sink),
    }
    maker.letters(24, 24, sink);
    number.row + 1 < maker.lines_of(number.unit)
}

fn stock(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    sink.integer((number.unit % ITEMS) as i64 + 1);
    sink.integer((number.unit / ITEMS) as i64 + 1);
    sink.integer(between(&mut maker.random, 10, 100) as i64);
    for _ in 0..DISTRICTS {
        maker.letters(24, 24, sink);
    }
    for _ in 0..3 {
        sink.integer(0);
    }
    maker.data(sink);
    false
}

fn item(maker: &mut Maker, number: RowNumber, sink: &mut dyn RowSink) -> bool {
    sink.integer(number.unit as i64 + 1);
    sink.integer(between(&mut maker.random, 1, 10_000) as i64);
    maker.letters(14, 24, sink);
    maker.decimal((100, 10_000), 2, sink);
    maker.data(sink);
    false
}
