//! A tree of calls by the names of functions.

use crate::{
    Tree,
    names::{Function, Names},
};
use std::{collections::HashMap, rc::Rc};

/// A function under its callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The caller, as an index of the list; none for a thread's first function.
    pub parent: Option<usize>,
    /// Short name of the function.
    pub name: Rc<str>,
    /// Instructions of its own.
    pub instructions: u64,
    /// How often it was called, or jumped to from a function that ended so.
    pub calls: u64,
}

/// The functions of a thread, callers before what they call. Calls from several places of one
/// function are one frame. A function that another one jumps to at its end, instead of calling it,
/// is a frame under that one, and so is one that was inlined in it, whose calls are not counted.
pub fn frames(tree: &Tree, names: &mut Names) -> Vec<Frame> {
    frames_at(tree, &mut |address| {
        let address = address.wrapping_add(tree.base);
        (names.at(address), names.inlined(address))
    })
}

/// The function at an address, and what was inlined there.
type At<'a> = dyn FnMut(u64) -> (Function, Rc<[Rc<str>]>) + 'a;

fn frames_at(tree: &Tree, at: &mut At<'_>) -> Vec<Frame> {
    let behind = behind_stubs(tree, &mut |address| at(address).0);
    let at = &mut |address| {
        let (place, inlined) = at(address);
        match behind.get(&place.start).filter(|_| place.is_unnamed()) {
            Some(name) => (Function { name: Rc::clone(name), ..place }, inlined),
            None => (place, inlined),
        }
    };
    let mut frames = Frames::default();
    // Of each node: the function that was called, and its frame.
    let mut called: Vec<(Function, usize)> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let (place, _) = at(node.entry);
        let parent = node.parent.map(|parent| match node.site {
            // The call is the instruction before.
            Some(site) => {
                let (place, inlined) = at(site.wrapping_sub(1));
                frames.within(&called[parent], (&place, &inlined))
            }
            None => called[parent].1,
        });
        let frame = frames.child(parent, &place.name);
        frames.list[frame].calls += node.calls;
        called.push((place, frame));
    }
    for block in &tree.blocks {
        let (place, inlined) = at(block.start);
        let (of_node, _) = &called[block.node];
        // A function and its parts (`.cold`, `.part.0`) have one name: from one to the other is no
        // call.
        let is_jump = place.name != of_node.name && rebased(block.start, tree) == place.start;
        let frame = frames.within(&called[block.node], (&place, &inlined));
        let frame = &mut frames.list[frame];
        frame.instructions = frame.instructions.wrapping_add(block.instructions);
        if is_jump {
            frame.calls += block.times;
        }
    }
    frames.list
}

/// Names of functions without a symbol, by where they begin: `NAME@plt` does nothing but jump to
/// NAME. A libc's variants for a processor have no other name.
fn behind_stubs(tree: &Tree, at: &mut dyn FnMut(u64) -> Function) -> HashMap<u64, Rc<str>> {
    let mut behind: HashMap<u64, Rc<str>> = HashMap::new();
    let stubs: Vec<Function> = tree.nodes.iter().map(|node| at(node.entry)).collect();
    for block in &tree.blocks {
        let Some(name) = stubs[block.node].stub_of() else { continue };
        let place = at(block.start);
        if !place.is_unnamed() || rebased(block.start, tree) != place.start {
            continue;
        }
        // `memcpy` and `memmove` are one function: the first name in the alphabet, in every run.
        let known = behind.entry(place.start).or_insert_with(|| name.into());
        if name < &**known {
            *known = name.into();
        }
    }
    behind
}

fn rebased(address: u64, tree: &Tree) -> u64 {
    address.wrapping_add(tree.base)
}

#[derive(Default)]
struct Frames {
    list: Vec<Frame>,
    known: HashMap<(Option<usize>, Rc<str>), usize>,
}

impl Frames {
    fn child(&mut self, parent: Option<usize>, name: &Rc<str>) -> usize {
        let next = self.list.len();
        let key = (parent, Rc::clone(name));
        let index = *self.known.entry(key).or_insert(next);
        if index == next {
            let name = Rc::clone(name);
            self.list.push(Frame { parent, name, instructions: 0, calls: 0 });
        }
        index
    }

    /// The frame of a function that works in the node of another one, or is it, or of what was
    /// inlined there.
    fn within(
        &mut self,
        (of_node, frame): &(Function, usize),
        (place, inlined): (&Function, &[Rc<str>]),
    ) -> usize {
        let own = match place.name == of_node.name {
            true => *frame,
            false => self.child(Some(*frame), &place.name),
        };
        inlined.iter().fold(own, |frame, name| self.child(Some(frame), name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Node};

    fn node(parent: Option<usize>, entry: u64, site: Option<u64>, calls: u64) -> Node {
        Node { parent, entry, site, calls }
    }

    fn block(node: usize, start: u64, instructions: u64, times: u64) -> Block {
        Block { node, start, instructions, times }
    }

    #[test]
    fn a_jump_to_another_function_is_a_frame_under_it() {
        // `a` calls `b` from two places; `b` ends with a jump to `c`, which calls `d`.
        let tree = Tree {
            nodes: vec![
                node(None, 0x100, None, 0),
                node(Some(0), 0x200, Some(0x110), 3),
                node(Some(0), 0x200, Some(0x120), 4),
                node(Some(2), 0x400, Some(0x308), 5),
            ],
            blocks: vec![
                block(0, 0x100, 10, 1),
                block(1, 0x200, 30, 3),
                block(2, 0x200, 40, 4),
                block(2, 0x300, 50, 4),
                block(2, 0x304, 5, 4),
                block(3, 0x400, 60, 5),
            ],
            base: 0,
        };
        let mut at = |address: u64| {
            let name = ["?", "a", "b", "c", "d"][(address >> 8) as usize];
            let inlined: &[Rc<str>] = if address == 0x304 { &["i".into()] } else { &[] };
            (Function { start: address & !0xff, name: name.into() }, Rc::from(inlined))
        };
        let found = frames_at(&tree, &mut at);
        let seen: Vec<_> =
            found.iter().map(|f| (f.parent, &*f.name, f.instructions, f.calls)).collect();
        let expected = [
            (None, "a", 10, 0),
            (Some(0), "b", 70, 7),
            (Some(1), "c", 50, 4),
            (Some(2), "d", 60, 5),
            (Some(2), "i", 5, 0),
        ];
        assert_eq!(seen, expected);
        assert_eq!(seen.iter().map(|one| one.2).sum::<u64>(), tree.instructions());
    }

    #[test]
    fn a_jump_to_another_part_of_a_function_is_no_call() {
        // `a` calls `b`, which goes on in a part of its own elsewhere.
        let tree = Tree {
            nodes: vec![node(None, 0x100, None, 0), node(Some(0), 0x200, Some(0x110), 3)],
            blocks: vec![block(1, 0x200, 30, 3), block(1, 0x300, 8, 2)],
            base: 0,
        };
        let mut at = |address: u64| {
            let name = ["", "a", "b", "b"][(address >> 8) as usize];
            (Function { start: address & !0xff, name: name.into() }, Rc::from([]))
        };
        let found = frames_at(&tree, &mut at);
        let seen: Vec<_> = found.iter().map(|f| (&*f.name, f.instructions, f.calls)).collect();
        assert_eq!(seen, [("a", 0, 0), ("b", 38, 3)]);
    }

    #[test]
    fn what_only_a_stub_names_has_its_name_everywhere() {
        // `a` calls by two stubs and by a pointer what has no symbol, and the linker by a stub.
        let tree = Tree {
            nodes: vec![
                node(None, 0x100, None, 0),
                node(Some(0), 0x200, Some(0x110), 1),
                node(Some(0), 0x300, Some(0x120), 1),
                node(Some(0), 0x400, Some(0x130), 1),
                node(Some(0), 0x500, Some(0x140), 1),
            ],
            blocks: vec![
                block(1, 0x200, 1, 1),
                block(1, 0x400, 20, 1),
                block(2, 0x300, 1, 1),
                block(2, 0x400, 30, 1),
                block(3, 0x400, 40, 1),
                block(4, 0x500, 1, 1),
                block(4, 0x600, 50, 1),
                block(4, 0x708, 60, 1),
            ],
            base: 0,
        };
        let mut at = |address: u64| {
            let names =
                ["", "a", "memmove@plt", "memcpy@plt", "[libc+400]", "x@plt", "[ld-linux+600]"];
            let name = names.get((address >> 8) as usize).copied().unwrap_or("[libc+700]");
            (Function { start: address & !0xff, name: name.into() }, Rc::from([]))
        };
        let found = frames_at(&tree, &mut at);
        let seen: Vec<_> = found.iter().map(|f| (&*f.name, f.instructions)).collect();
        let expected = [
            ("a", 0),
            ("memmove@plt", 1),
            ("memcpy@plt", 1),
            ("memcpy", 40),
            ("x@plt", 1),
            ("memcpy", 20),
            ("memcpy", 30),
            ("[ld-linux+600]", 50),
            // Not where a function begins.
            ("[libc+700]", 60),
        ];
        assert_eq!(seen, expected);
    }
}
