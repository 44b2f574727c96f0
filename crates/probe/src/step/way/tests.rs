//! Short programs, decoded from an address of our own.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::*;

const START: u64 = 0x40_0000;
const NOP: u8 = 0x90;
const RET: u8 = 0xc3;

/// What lies ahead of the `offset`th byte of a code that ends with its last one.
fn from(code: &[u8], offset: u64) -> Ahead {
    let read = |at: u64| {
        let bytes = at.checked_sub(START).and_then(|skip| code.get(skip as usize..));
        bytes.unwrap_or_default().iter().copied().take(PIECE).collect()
    };
    ahead(START + offset, LONGEST, read)
}

/// Offsets of the instructions on the way, and of its ends.
fn way(code: &[u8]) -> (Vec<u64>, [u64; 2]) {
    match from(code, 0) {
        Ahead::Way(way) => {
            let through = way.through.iter().map(|address| address - START).collect();
            (through, way.ends.map(|end| end - START))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_way_ends_before_what_leads_to_an_unknown_place() {
    // A return, an indirect jump, an indirect call, a trap, flags from the stack.
    for end in [&[RET][..], &[0xff, 0xe0], &[0xff, 0xd0], &[0xcc], &[0x9d]] {
        let code = [&[NOP, NOP, NOP], end].concat();
        assert_eq!(way(&code), (vec![0, 1, 2], [3, 3]), "{end:x?}");
        assert_eq!(from(&code, 3), Ahead::Step, "{end:x?}");
    }
    assert_eq!(way(&[NOP, NOP, 0x0f, 0x05]), (vec![0, 1], [2, 2]));
    assert_eq!(from(&[NOP, NOP, 0x0f, 0x05], 2), Ahead::SystemCall);
}

#[test]
fn jumps_and_calls_to_a_place_that_the_code_names_are_on_the_way() {
    // jmp to 4; (2 bytes not executed); nop; call 11; (1 byte); nop; ret.
    let code = [0xeb, 2, NOP, NOP, NOP, 0xe8, 1, 0, 0, 0, NOP, NOP, RET];
    assert_eq!(way(&code), (vec![0, 4, 5, 11], [12, 12]));
}

#[test]
fn a_conditional_jump_is_the_last_of_a_way_with_two_ends() {
    // nop; je 5; nop; ret; nop; ret.
    assert_eq!(way(&[NOP, 0x74, 2, NOP, RET, NOP, RET]), (vec![0, 1], [5, 3]));
    // Alone it is not worth a leap.
    assert_eq!(from(&[0x74, 2, NOP, RET], 0), Ahead::Step);
}

#[test]
fn no_way_ends_where_it_has_been() {
    // nop; nop; je 0: the loop would end at its own beginning.
    assert_eq!(way(&[NOP, NOP, 0x74, 0xfc, RET]), (vec![0, 1], [2, 2]));
    // nop; nop; jmp 1.
    assert_eq!(way(&[NOP, NOP, 0xeb, 0xfd]), (vec![0, 1], [2, 2]));
    // A jump to itself.
    assert_eq!(from(&[0xeb, 0xfe], 0), Ahead::Step);
}

#[test]
fn a_repeated_string_instruction_is_one_on_a_way() {
    let codes: [&[u8]; 5] = [
        &[0xf3, 0xa4],
        &[0xf3, 0x48, 0xab],
        &[0xf2, 0xae],
        &[0xf3, 0x66, 0xa7],
        &[0x66, 0xf3, 0xa5],
    ];
    for code in codes {
        let length = code.len() as u64;
        assert_eq!(way(&[code, &[RET]].concat()), (vec![0], [length; 2]), "{code:x?}");
    }
    // A store without repetition, a pause, a bit count: steps do as well.
    for code in [&[0xaa][..], &[0xf3, 0x90], &[0xf3, 0x0f, 0xb8, 0xc0]] {
        assert_eq!(from(&[code, &[RET]].concat(), 0), Ahead::Step, "{code:x?}");
    }
}

#[test]
fn what_cannot_be_read_or_decoded_is_stepped() {
    assert_eq!(from(&[], 0), Ahead::Step);
    // The code ends within an instruction.
    assert_eq!(way(&[NOP, NOP, 0xe8, 1]), (vec![0, 1], [2, 2]));
    // An instruction that does not exist in 64 bits.
    assert_eq!(way(&[NOP, NOP, 0x06]), (vec![0, 1], [2, 2]));
    // Longer than a piece, and than a way may be.
    let long = vec![NOP; 3 * PIECE];
    assert_eq!(way(&long), ((0..LONGEST as u64).collect(), [LONGEST as u64; 2]));
}

#[test]
fn where_a_task_is_tells_what_it_has_executed() {
    let Ahead::Way(way) = from(&[NOP, 0x66, NOP, 0x74, 2, NOP, RET, NOP, RET], 0) else {
        panic!("there is a way")
    };
    let executed = |offset| way.executed(START + offset);
    assert_eq!([executed(0), executed(1), executed(3)], [Some(0), Some(1), Some(2)]);
    // Both ends, and a place that is none.
    assert_eq!([executed(5), executed(7), executed(2)], [Some(3), Some(3), None]);
}
