//! The file of calls that the plugin writes while it records: a tree of calls for each thread, and
//! the blocks of instructions that each node of it executed. The layout is that of `calls.c`.

use crate::{Error, Result, counters::open_plain};
use fs_err as fs;
use std::{
    collections::HashMap,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// Its name.
pub(crate) const FILE: &str = "calls";
const PAGE: usize = 4096;
/// Nodes of all threads. The file has holes where there is nothing.
const NODES: u64 = 1 << 20;
/// Blocks of all nodes: a power of two.
const BOOKS: u64 = 1 << 21;
const NODE: usize = 40;
const BOOK: usize = 32;
/// Words of the head.
const USED: usize = 2;
const RECORDING: u64 = 24;
const BASE: usize = 4;

/// The calls of one program.
#[derive(Debug)]
pub struct Calls {
    path: PathBuf,
    file: fs::File,
}

/// The calls of one thread, while they were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The calls, callers before what they call.
    pub nodes: Vec<Node>,
    /// The blocks that were executed.
    pub blocks: Vec<Block>,
    /// What to add to an address of the program for one of its process.
    pub base: u64,
}

/// All calls from one place to one address, under the same callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The caller, as an index of [`Tree::nodes`]; none for a thread's first function.
    pub parent: Option<usize>,
    /// The address that was called.
    pub entry: u64,
    /// The address that the call returns to; none where nothing called.
    pub site: Option<u64>,
    /// How often.
    pub calls: u64,
}

/// A block of instructions that a node executed itself. It belongs to another function than that of
/// the node's entry where that function ended with a jump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Index of [`Tree::nodes`].
    pub node: usize,
    /// Address of its first instruction.
    pub start: u64,
    /// Instructions of all executions.
    pub instructions: u64,
    /// How often it was begun.
    pub times: u64,
}

impl Calls {
    /// Makes an empty file of calls in a folder, or empties the one that is there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let mut options = fs::OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path)?;
        file.set_len(PAGE as u64 + NODES * NODE as u64 + BOOKS * BOOK as u64)?;
        file.file().write_all_at(&NODES.to_ne_bytes(), 0)?;
        file.file().write_all_at(&BOOKS.to_ne_bytes(), 8)?;
        Ok(Self { path, file })
    }

    /// The calls in a folder that was prepared for a program.
    ///
    /// # Errors
    /// If there are none.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let file = open_plain(&path, fs::OpenOptions::new().read(true).write(true))?;
        Ok(Self { path, file })
    }

    /// Begins to record; what was recorded before stays.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(&self) -> Result<()> {
        Ok(self.file.file().write_all_at(&1_u64.to_ne_bytes(), RECORDING)?)
    }

    /// Ends recording: a thread that waits now has recorded all that it did.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end(&self) -> Result<()> {
        Ok(self.file.file().write_all_at(&0_u64.to_ne_bytes(), RECORDING)?)
    }

    /// The calls of a thread.
    ///
    /// # Errors
    /// If the file cannot be read, or something else wrote to it.
    pub fn read(&self, task: u32) -> Result<Tree> {
        let mut head = [0; PAGE];
        self.file.file().read_exact_at(&mut head, 0)?;
        if (word(&head, 0), word(&head, 1)) != (NODES, BOOKS) {
            return Err(Error::Calls(self.path.clone()));
        }
        let wrong = || Error::Calls(self.path.clone());
        // The first node is unused.
        let used = (word(&head, USED) + 1).min(NODES);
        let nodes = self.part(PAGE as u64, used * NODE as u64)?;
        let mut places = vec![None; used as usize];
        let mut tree = Tree { base: word(&head, BASE), ..Tree::default() };
        for (index, bytes) in nodes.chunks_exact(NODE).enumerate().skip(1) {
            if half(bytes, 0) != task {
                continue;
            }
            let parent = match half(bytes, 4) as usize {
                0 => None,
                // A caller is taken before what it calls.
                known => Some(places.get(known).copied().flatten().ok_or_else(wrong)?),
            };
            places[index] = Some(tree.nodes.len());
            // Less than a page: the marks of frames that nothing called.
            let site = Some(word(bytes, 2)).filter(|site| *site >= PAGE as u64);
            tree.nodes.push(Node { parent, entry: word(bytes, 1), site, calls: word(bytes, 3) });
        }
        let books = self.part(PAGE as u64 + NODES * NODE as u64, BOOKS * BOOK as u64)?;
        for bytes in books.chunks_exact(BOOK).filter(|bytes| half(bytes, 0) != 0) {
            let Some(node) = places.get(half(bytes, 0) as usize).copied().flatten() else {
                continue;
            };
            let (start, instructions, times) = (word(bytes, 1), word(bytes, 2), word(bytes, 3));
            tree.blocks.push(Block { node, start, instructions, times });
        }
        tree.blocks.sort_by_key(|block| (block.node, block.start));
        Ok(tree)
    }

    fn part(&self, start: u64, length: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length as usize];
        self.file.file().read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }
}

impl Tree {
    /// Instructions of all nodes.
    pub fn instructions(&self) -> u64 {
        // Of a block that was left in the middle, the rest is taken away later.
        self.blocks.iter().fold(0, |sum, block| sum.wrapping_add(block.instructions))
    }

    /// What was recorded after an earlier reading of the same thread.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        // Nodes are taken for good, so those of the earlier reading come first.
        for (node, before) in self.nodes.iter_mut().zip(&earlier.nodes) {
            node.calls = node.calls.wrapping_sub(before.calls);
        }
        let place = |block: &Block| (block.node, block.start);
        let known: HashMap<_, &Block> = earlier.blocks.iter().map(|b| (place(b), b)).collect();
        for block in &mut self.blocks {
            if let Some(before) = known.get(&place(block)) {
                block.instructions = block.instructions.wrapping_sub(before.instructions);
                block.times = block.times.wrapping_sub(before.times);
            }
        }
        self.blocks.retain(|block| block.instructions != 0 || block.times != 0);
        self.without_idle_nodes()
    }

    /// The same without nodes that did nothing and called nobody who did.
    fn without_idle_nodes(mut self) -> Self {
        let mut works: Vec<bool> = self.nodes.iter().map(|node| node.calls != 0).collect();
        for block in &self.blocks {
            works[block.node] = true;
        }
        // Callers come before what they call.
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent.filter(|_| works[index]) {
                works[parent] = true;
            }
        }
        let mut places = Vec::with_capacity(works.len());
        let mut kept = 0;
        for works in &works {
            places.push(kept);
            kept += usize::from(*works);
        }
        let mut works = works.into_iter();
        self.nodes.retain(|_| works.next() == Some(true));
        for node in &mut self.nodes {
            node.parent = node.parent.map(|parent| places[parent]);
        }
        for block in &mut self.blocks {
            block.node = places[block.node];
        }
        self
    }
}

fn word(bytes: &[u8], index: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|byte| bytes[index * 8 + byte]))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let calls = Calls::create(folder.path()).unwrap();
        assert_eq!(calls.read(1).unwrap(), Tree::default());
        calls.file.file().write_all_at(&[1; 8], 0).unwrap();
        let error = calls.read(1).unwrap_err().to_string();
        assert!(error.ends_with("is not a file of calls"), "{error}");
    }

    #[test]
    fn the_nodes_of_one_thread_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let calls = Calls::create(folder.path()).unwrap();
        let node = |index: u64, parts: [u64; 4]| {
            let at = PAGE as u64 + index * NODE as u64;
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_ne_bytes()).collect();
            calls.file.file().write_all_at(&bytes, at).unwrap();
        };
        // Task and parent, entry, site, calls.
        node(1, [7, 0x5000, 0, 0]);
        node(2, [8, 0x5000, 0, 0]);
        node(3, [7 | 1 << 32, 0x6000, 0x5008, 4]);
        calls.file.file().write_all_at(&3_u64.to_ne_bytes(), 16).unwrap();
        let book: Vec<u8> = [3, 0x6000, 90, 2].iter().flat_map(|w: &u64| w.to_ne_bytes()).collect();
        let books = PAGE as u64 + NODES * NODE as u64;
        calls.file.file().write_all_at(&book, books + 5 * BOOK as u64).unwrap();
        let found = calls.read(7).unwrap();
        let first = Node { parent: None, entry: 0x5000, site: None, calls: 0 };
        let second = Node { parent: Some(0), entry: 0x6000, site: Some(0x5008), calls: 4 };
        assert_eq!(found.nodes, [first, second]);
        let block = Block { node: 1, start: 0x6000, instructions: 90, times: 2 };
        assert_eq!((found.blocks.as_slice(), found.instructions()), ([block].as_slice(), 90));
        assert_eq!(calls.read(8).unwrap().nodes.len(), 1);
    }

    #[test]
    fn what_was_recorded_before_is_taken_away() {
        let node = |parent, entry, calls| Node { parent, entry, site: None, calls };
        let block = |node, start, instructions, times| Block { node, start, instructions, times };
        let tree = |nodes: &[Node], blocks: &[Block]| Tree {
            nodes: nodes.to_vec(),
            blocks: blocks.to_vec(),
            base: 0,
        };
        // The second node was called before only, the third one leads to a new one.
        let root = node(None, 0x100, 0);
        let before = tree(
            &[root.clone(), node(Some(0), 0x200, 3), node(Some(0), 0x300, 2)],
            &[block(0, 0x100, 10, 1), block(1, 0x200, 30, 3), block(2, 0x300, 20, 2)],
        );
        let now = tree(
            &[
                root.clone(),
                node(Some(0), 0x200, 3),
                node(Some(0), 0x300, 2),
                node(Some(2), 0x400, 5),
            ],
            &[
                block(0, 0x100, 14, 2),
                block(1, 0x200, 30, 3),
                block(2, 0x300, 20, 2),
                block(3, 0x400, 50, 5),
            ],
        );
        let expected = tree(
            &[root, node(Some(0), 0x300, 0), node(Some(1), 0x400, 5)],
            &[block(0, 0x100, 4, 1), block(2, 0x400, 50, 5)],
        );
        assert_eq!(now.clone().since(&before), expected);
        assert_eq!(now.clone().since(&Tree::default()), now);
        assert_eq!(now.clone().since(&now), Tree::default());
    }
}
