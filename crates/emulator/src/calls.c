/*
 * The tree of calls of each thread, with the blocks of instructions that each node executed.
 *
 * A call at the end of a block pushes a frame, a return pops all frames down to the one that it
 * returns to: so longjmp and exceptions, which leave frames behind, are mended by the next return.
 * The stack is kept all the time, nodes only while the reader records. A node is a call from one
 * place to one address; which functions these are is known to the reader, who has the symbols. A
 * jump to another function's entry is no call here: the reader sees it by the address of the block.
 *
 * Nodes and books are taken from the file for good. A node belongs to one thread, so only the
 * taking is atomic. The layout is that of `calls.rs`.
 */

#define _GNU_SOURCE
#include "block.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, DEPTH = 4096, PROBES = 256 };

struct head {
    uint64_t nodes;             /* how many there are, the first unused */
    uint64_t books;             /* a power of two */
    _Atomic uint64_t used;      /* nodes taken; may exceed their number */
    _Atomic uint64_t recording;
    _Atomic uint64_t base;
};

struct node {
    uint32_t task;
    uint32_t parent;            /* 0: none */
    uint64_t entry;
    uint64_t site;              /* where the call returns to; 0: none */
    uint64_t calls;
    uint32_t child;
    uint32_t sibling;
};

/* The executions of one block in one node. */
struct book {
    _Atomic uint32_t node;
    uint32_t spare;
    uint64_t start;
    uint64_t instructions;
    uint64_t times;
};

static struct head *head;
static struct node *nodes;
static struct book *books;

/* Frames return to an address; the marks of a thread's first frame and of signals are none. */
enum { FIRST, SIGNAL };
static const uint32_t LOST = UINT32_MAX;
struct frame {
    uint64_t site;
    uint64_t entry;
    uint32_t node;              /* 0: not known yet */
};

static __thread struct frame *stack;
static __thread unsigned depth;
static __thread int called;     /* the last frame is new */
__thread uint64_t *calls_booked;

int calls_open(const char *file)
{
    struct head known;
    int fd = open(file, O_RDWR | O_CLOEXEC);
    if (fd < 0 || pread(fd, &known, sizeof known, 0) != sizeof known)
        return 0;
    size_t length = PAGE + known.nodes * sizeof *nodes + known.books * sizeof *books;
    head = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (head == MAP_FAILED)
        return 0;
    nodes = (struct node *)((char *)head + PAGE);
    books = (struct book *)(nodes + known.nodes);
    return 1;
}

static void push(uint64_t entry, uint64_t site)
{
    if (depth < DEPTH)
        stack[depth++] = (struct frame){site, entry, 0};
}

/* The frames down to the one that returns to `site`, which must not be the first. */
static void pop(uint64_t site)
{
    for (unsigned i = depth; i-- > 1;)
        if (stack[i].site == site) {
            depth = i;
            return;
        }
}

void calls_begin(uint64_t entry)
{
    if (stack)
        return;
    stack = malloc(DEPTH * sizeof *stack);
    if (!stack)
        abort();
    push(entry, FIRST);
}

/* The frames stay, and get nodes of the new process. */
void calls_fork(void)
{
    for (unsigned i = 0; i < depth; i++)
        stack[i].node = 0;
    calls_booked = NULL;
}

void calls_end(void)
{
    free(stack);
    stack = NULL;
    depth = 0;
    calls_booked = NULL;
}

void calls_signal(uint64_t handler)
{
    push(handler, SIGNAL);
}

void calls_signal_done(void)
{
    pop(SIGNAL);
}

void calls_follow(const struct block *before, const struct block *now)
{
    if (before->ends == BY_CALL) {
        push(now->start, before->start + before->bytes);
        called = 1;
    } else if (before->ends == BY_RETURN) {
        pop(now->start);
    }
}

static uint32_t take_node(uint32_t task, uint32_t parent, const struct frame *frame)
{
    uint64_t index = atomic_fetch_add(&head->used, 1) + 1;
    if (index >= head->nodes)
        return LOST;
    uint32_t next = parent ? nodes[parent].child : 0;
    nodes[index] = (struct node){task, parent, frame->entry, frame->site, 0, 0, next};
    if (parent)
        nodes[parent].child = index;
    return index;
}

static uint32_t find_node(uint32_t task, uint32_t parent, const struct frame *frame)
{
    if (parent == LOST)
        return LOST;
    for (uint32_t i = parent ? nodes[parent].child : 0; i; i = nodes[i].sibling)
        if (nodes[i].entry == frame->entry && nodes[i].site == frame->site)
            return i;
    return take_node(task, parent, frame);
}

/* The node of the last frame; those below it may be unknown as well. */
static uint32_t last_node(uint32_t task)
{
    unsigned i = depth;
    while (i > 1 && !stack[i - 1].node)
        i--;
    for (i -= stack[i - 1].node == 0; i < depth; i++)
        stack[i].node = find_node(task, i ? stack[i - 1].node : 0, &stack[i]);
    return stack[depth - 1].node;
}

static struct book *find_book(uint32_t node, uint64_t start)
{
    uint64_t mask = head->books - 1;
    uint64_t at = ((start ^ ((uint64_t)node << 32)) * 0x9e3779b97f4a7c15u) >> 24;
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct book *book = &books[(at + probe) & mask];
        uint32_t owner = atomic_load_explicit(&book->node, memory_order_relaxed);
        if (!owner && atomic_compare_exchange_strong(&book->node, &owner, node)) {
            book->start = start;
            return book;
        }
        if (owner == node && book->start == start)
            return book;
    }
    return NULL;
}

int calls_count(const struct block *now, uint32_t task)
{
    int is_new = called;
    called = 0;
    calls_booked = NULL;
    if (!atomic_load_explicit(&head->recording, memory_order_relaxed))
        return 1;
    uint32_t node = last_node(task);
    struct book *book = node == LOST ? NULL : find_book(node, now->start);
    if (!book)
        return 0;
    nodes[node].calls += is_new;
    book->instructions += now->count;
    book->times++;
    calls_booked = &book->instructions;
    return 1;
}

void calls_note_base(uint64_t base)
{
    atomic_store(&head->base, base);
}
