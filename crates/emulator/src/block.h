/* What the files of the plugin share: blocks of instructions, and the thread that executes. */

#ifndef BLOCK_H
#define BLOCK_H

#include <stdint.h>

/* A translated block. */
enum leaves { BY_BRANCH, ANYHOW };
enum again { ONCE, REPEATED, SYSTEM_CALL };
enum ends { BY_JUMP, BY_CALL, BY_RETURN };
struct block {
    uint64_t start;
    uint32_t bytes;
    uint16_t count;
    uint8_t leaves;           /* ANYHOW: an indirect branch or a system call */
    uint8_t again;            /* why its last instruction may be executed more than once */
    uint8_t handles;          /* it begins a signal handler */
    uint8_t ends;             /* what its last instruction does to the stack of calls */
    uint8_t chosen;           /* it begins this chosen function, from 1 on; 0: none */
    uint64_t target;          /* of the branch at its end */
    uint16_t offset[];        /* of each instruction */
};

/* The tree of calls, `calls.c`. All but the first act for the calling thread. */
int calls_open(const char *file);
void calls_begin(uint64_t entry);
void calls_fork(void);
void calls_end(void);
void calls_signal(uint64_t handler);
void calls_signal_done(void);
void calls_follow(const struct block *before, const struct block *now);
/* Books a block; false where the tree has no room for it. */
int calls_count(const struct block *now, uint32_t task);
/* What to add to an address of the program for one of this process. */
void calls_note_base(uint64_t base);

/* Chosen functions, `chosen.c`. */
enum { CHOSEN = 7 };
struct chosen {
    uint64_t calls;
    uint64_t instructions;    /* of its calls, with all that they call */
};
/* Takes `INODE:OFFSET/OFFSET`, the places of the functions in their file. */
int chosen_open(const char *functions);
/* The chosen function that begins at this address of this process, from 1 on, or 0. */
uint8_t chosen_at(uint64_t address);
/* Of the calling thread: the function within which it is, from 1 on, or 0. */
extern __thread unsigned chosen_within;
void chosen_follow(struct chosen *all, const struct block *before, const struct block *now);
void chosen_leave(void);

/* Where the block before was booked, or null. */
extern __thread uint64_t *calls_booked;

#endif
