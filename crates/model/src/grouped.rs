//! Things by what they have in common, in the order in which each group is met first.

/// The things of each group, in their order.
pub fn grouped<K: PartialEq, T>(things: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, thing) in things {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, own)) => own.push(thing),
            None => groups.push((key, vec![thing])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_things_keep_their_order() {
        let found = grouped([("b", 1), ("a", 2), ("b", 3)]);
        assert_eq!(found, [("b", vec![1, 3]), ("a", vec![2])]);
    }
}
