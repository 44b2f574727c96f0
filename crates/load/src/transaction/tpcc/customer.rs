//! What a transaction keeps of the rows that it finds.

/// Customers of one district with one last name, at most: about three have each, and the most
/// frequent ones some tens.
const SAME_NAME_MAX: usize = 1024;

/// Room for what rows tell, which every attempt fills anew.
pub(super) struct Found {
    /// Customers of a last name in the order of their first names.
    same_name: Box<[i64]>,
    count: usize,
    /// A text of the server, such as a customer's data.
    pub(super) text: [u8; 512],
    /// A text that is put together from it.
    pub(super) made: [u8; 512],
    /// Districts of a delivery that its committed transactions have served.
    pub(super) served: u64,
    /// Those of them without an order.
    pub(super) skipped: u64,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            same_name: vec![0; SAME_NAME_MAX].into(),
            count: 0,
            text: [0; 512],
            made: [0; 512],
            served: 0,
            skipped: 0,
        }
    }
}

impl Found {
    /// Customers of a name follow.
    pub(super) fn begin_name(&mut self) {
        self.count = 0;
    }

    /// The next customer of the name.
    pub(super) fn add(&mut self, customer: i64) {
        if let Some(place) = self.same_name.get_mut(self.count) {
            *place = customer;
            self.count += 1;
        }
    }

    /// The one in the middle, of two the first (clause 2.5.2.2).
    pub(super) fn middle(&self) -> i64 {
        self.same_name[self.count.saturating_sub(1) / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_name_is_the_one_that_the_specification_says() {
        let mut found = Found::default();
        for (count, expected) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
            found.begin_name();
            (1..=count).for_each(|customer| found.add(customer));
            assert_eq!(found.middle(), expected, "{count}");
        }
    }
}
