/*
 * A plugin of QEMU's user-mode emulator: counts user instructions and system calls of each thread,
 * and keeps the tree of its calls (`calls.c`) or counts calls of chosen functions (`chosen.c`) where
 * it is asked for.
 *
 * Counters lie in a file that every process of the program maps and the measuring process reads. A
 * thread has its slot there from its first block of instructions on, and writes to it alone. The
 * layout is that of `counters.rs`. A callback at each block finds the slot of its thread in
 * thread-local storage; additions without a callback would need one address for all threads.
 *
 * A block counts as a whole when it begins. Three things are settled when the next block begins:
 *  - A repeated string instruction is a block for each repetition. It counts once, as in hardware.
 *  - A block that a fault left in the middle counts the instructions before the fault.
 *  - The same where a signal handler was executed in between: it is compared with the block after
 *    the handler's return.
 *  - A system call that a signal interrupted and that is made again after it counts once.
 */

#define _GNU_SOURCE
#include "block.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Declarations of the emulator's interface, as far as it is used here. */
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
EXPORT int qemu_plugin_version = INTERFACE;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int,
                                          void *);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id,
                                          void (*)(plugin_id, unsigned, int64_t, uint64_t, uint64_t,
                                                   uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                   uint64_t));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);

/* The file: a head and slots, each of one page. */
enum { PAGE = 4096, CALLS = 480, NAME = 16 };
enum state { FREE, RUNNING, ENDED };

struct head {
    uint64_t slots;           /* how many there are */
    _Atomic uint64_t used;    /* how many were ever taken; may exceed the number of slots */
};

struct slot {
    _Atomic uint64_t state;
    uint64_t task;
    uint64_t process;
    uint64_t instructions;
    char name[NAME];
    uint64_t unplaced;        /* instructions for which the tree of calls had no room */
    uint64_t spare[9];
    uint64_t calls[CALLS];    /* by number; the last one is of all greater numbers */
    struct chosen chosen[CHOSEN];
};
_Static_assert(sizeof(struct slot) <= PAGE, "a slot fits its page");

static struct head *head;
static char program[NAME];

static const struct block nothing;

/* Of the calling thread. */
enum { SIGNALS = 8 };
static __thread struct slot *mine;
static __thread const struct block *last;
static __thread struct {
    const struct block *block;
    uint64_t *booked;
} interrupted[SIGNALS];
static __thread unsigned signals;
static __thread int restarts;       /* the next system call has been counted */

/* For threads that find no slot: what is counted here is lost, and the reader sees it by `used`. */
static struct slot beyond;

static int has_calls;

static void name_slot(void)
{
    char name[NAME + 1] = {0};
    prctl(PR_GET_NAME, name);
    memcpy(mine->name, strncmp(name, "qemu-", 5) ? name : program, NAME);
}

static void take_slot(void)
{
    uint64_t index = atomic_fetch_add(&head->used, 1);
    mine = index < head->slots ? (struct slot *)((char *)head + PAGE * (index + 1)) : &beyond;
    mine->task = syscall(SYS_gettid);
    mine->process = getpid();
    last = &nothing;
    name_slot();
    atomic_store(&mine->state, RUNNING);
}

static void after_fork(void)
{
    mine = NULL;
    signals = 0;
    chosen_leave();
    if (has_calls)
        calls_fork();
}

/* What `before` counted too much, now that `now` begins within it. */
static uint64_t surplus(const struct block *before, const struct block *now)
{
    uint64_t at = now->start - before->start;
    if (before->again && at == before->offset[before->count - 1]) {
        restarts = before->again == SYSTEM_CALL;
        return 1;
    }
    if (before->leaves == ANYHOW || before->target == now->start)
        return 0;
    for (unsigned i = 0; i < before->count; i++)
        if (before->offset[i] == at)
            return before->count - i;
    return 0;
}

static void execute(unsigned cpu, void *data)
{
    const struct block *now = data;
    (void)cpu;
    if (__builtin_expect(!mine, 0))
        take_slot();
    const struct block *before = last;
    uint64_t count = now->count;
    if (__builtin_expect(now->start - before->start < before->bytes, 0))
        count -= surplus(before, now);
    if (__builtin_expect(now->handles, 0))
        interrupted[signals++ % SIGNALS].block = before;
    mine->instructions += count;
    if (__builtin_expect(now->chosen | chosen_within, 0)) {
        chosen_follow(mine->chosen, before, now);
        if (chosen_within)
            mine->chosen[chosen_within - 1].instructions += count;
    }
    last = now;
}

/* The same, and books the block in the tree of calls. */
static void execute_with_calls(unsigned cpu, void *data)
{
    const struct block *now = data;
    (void)cpu;
    if (__builtin_expect(!mine, 0)) {
        take_slot();
        calls_begin(now->start);
    }
    const struct block *before = last;
    uint64_t lost = 0;
    if (now->start - before->start < before->bytes)
        lost = surplus(before, now);
    if (lost && calls_booked)
        *calls_booked -= lost;
    if (__builtin_expect(now->handles, 0)) {
        interrupted[signals % SIGNALS].block = before;
        interrupted[signals++ % SIGNALS].booked = calls_booked;
        calls_signal(now->start);
    } else if (!lost) {
        calls_follow(before, now);
    }
    mine->instructions += now->count - lost;
    if (!calls_count(now, mine->task)) {
        mine->unplaced += now->count;
        calls_booked = &mine->unplaced;
    }
    last = now;
}

/* Addresses of signal handlers, of any process since the program began. */
enum { HANDLERS = 256 };
static _Atomic uint64_t handlers[HANDLERS];

static int is_handler(uint64_t address)
{
    for (int i = 0; i < HANDLERS; i++) {
        uint64_t known = atomic_load_explicit(&handlers[i], memory_order_relaxed);
        if (known == address)
            return 1;
        if (!known)
            return 0;
    }
    return 0;
}

static void note_handler(uint64_t address)
{
    for (int i = 0; i < HANDLERS; i++) {
        uint64_t known = 0;
        if (atomic_compare_exchange_strong(&handlers[i], &known, address) || known == address)
            return;
    }
}

/* What to add to an address of the program for one of this process. */
static _Atomic uint64_t base;

/* The first field of the program's `struct sigaction`; the address may be wrong. */
static uint64_t handler_at(uint64_t address)
{
    uint64_t handler = 0;
    struct iovec here = {&handler, sizeof handler};
    struct iovec there = {(void *)(address + base), sizeof handler};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof handler ? handler : 0;
}

static void call(plugin_id id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                 uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    (void)id, (void)cpu, (void)a, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (!mine)
        take_slot();
    if (!restarts)
        mine->calls[number >= 0 && number < CALLS ? number : CALLS - 1]++;
    restarts = 0;
    switch (number) {
    case SYS_rt_sigaction: {
        uint64_t handler = b ? handler_at(b) : 0;
        if (handler > 1)
            note_handler(handler);
        break;
    }
    case SYS_rt_sigreturn:
        if (!signals)
            break;
        last = interrupted[--signals % SIGNALS].block;
        if (has_calls) {
            calls_booked = interrupted[signals % SIGNALS].booked;
            calls_signal_done();
        }
        break;
    case SYS_recvfrom:
        /* A server that waits for a request has left everything, by whatever way. */
        chosen_leave();
        break;
    case SYS_exit:
        if (has_calls)
            calls_end();
        /* fall through */
    case SYS_exit_group:
        name_slot();
        atomic_store(&mine->state, ENDED);
        break;
    }
}

/* Whether an instruction is a string instruction with a prefix that repeats it. */
static int is_repeated(const uint8_t *code, size_t bytes)
{
    int repeats = 0;
    for (size_t i = 0; i < bytes; i++) {
        uint8_t byte = code[i];
        if (byte == 0xf2 || byte == 0xf3)
            repeats = 1;
        else if ((byte >= 0xa4 && byte <= 0xa7) || (byte >= 0xaa && byte <= 0xaf) ||
                 (byte >= 0x6c && byte <= 0x6f))
            return repeats;
        else if (byte != 0x66 && byte != 0x67 && (byte & 0xf0) != 0x40 && byte != 0x2e &&
                 byte != 0x36 && byte != 0x3e && byte != 0x26 && byte != 0x64 && byte != 0x65)
            return 0;
    }
    return 0;
}

/* Notes where the instruction at the end of a block leads; `next` is the address behind it. */
static void follow(struct block *block, const uint8_t *code, size_t bytes, uint64_t next)
{
    size_t i = 0;
    block->target = next;
    block->again = is_repeated(code, bytes) ? REPEATED : ONCE;
    while (i + 1 < bytes && (code[i] == 0x66 || code[i] == 0xf2 || code[i] == 0xf3 ||
                             code[i] == 0x2e || code[i] == 0x3e || (code[i] & 0xf0) == 0x40))
        i++;
    uint8_t first = code[i], second = i + 1 < bytes ? code[i + 1] : 0;
    uint8_t extension = (second >> 3) & 7;
    int8_t near = (int8_t)code[bytes - 1];
    int32_t far = 0;
    if (bytes >= 4)
        memcpy(&far, code + bytes - 4, 4);
    if ((first >= 0x70 && first <= 0x7f) || first == 0xeb || (first >= 0xe0 && first <= 0xe3))
        block->target = next + near;
    else if (first == 0xe8 || first == 0xe9 || (first == 0x0f && (second & 0xf0) == 0x80))
        block->target = next + far;
    else if (first == 0xff || first == 0xc2 || first == 0xc3 || (first == 0x0f && second == 0x05))
        block->leaves = ANYHOW;
    if (first == 0x0f && second == 0x05)
        block->again = SYSTEM_CALL;
    if (first == 0xe8 || (first == 0xff && extension == 2))
        block->ends = BY_CALL;
    else if (first == 0xc2 || first == 0xc3)
        block->ends = BY_RETURN;
}

static void translate(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct block *block = calloc(1, sizeof *block + count * sizeof *block->offset);
    if (!block || !count)
        abort();
    block->start = qemu_plugin_tb_vaddr(tb);
    block->count = count;
    for (size_t i = 0; i < count; i++)
        block->offset[i] = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i)) - block->start;
    const struct qemu_plugin_insn *final = qemu_plugin_tb_get_insn(tb, count - 1);
    const uint8_t *code = qemu_plugin_insn_haddr(final);
    size_t bytes = qemu_plugin_insn_size(final);
    uint64_t address = qemu_plugin_insn_vaddr(final);
    block->bytes = address + bytes - block->start;
    block->leaves = code ? BY_BRANCH : ANYHOW;
    if (code) {
        atomic_store(&base, (uint64_t)code - address);
        if (has_calls)
            calls_note_base((uint64_t)code - address);
        follow(block, code, bytes, address + bytes);
    }
    block->handles = is_handler(block->start);
    block->chosen = code ? chosen_at((uint64_t)code - (address - block->start)) : 0;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, has_calls ? execute_with_calls : execute, 0, block);
}

/* The value of an argument `name=value`. */
static const char *argument(int argc, char **argv, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
            return argv[i] + length + 1;
    return NULL;
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    const char *file = argument(argc, argv, "counters"), *name = argument(argc, argv, "program");
    int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
    struct head known;
    if (fd < 0 || pread(fd, &known, sizeof known, 0) != sizeof known)
        return 1;
    head = mmap(NULL, PAGE * (known.slots + 1), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (head == MAP_FAILED)
        return 1;
    const char *calls = argument(argc, argv, "calls");
    has_calls = calls && calls_open(calls);
    if (calls && !has_calls)
        return 1;
    const char *chosen = argument(argc, argv, "chosen");
    if (chosen && !chosen_open(chosen))
        return 1;
    strncpy(program, name ? name : "", NAME - 1);
    pthread_atfork(NULL, NULL, after_fork);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_vcpu_syscall_cb(id, call);
    return 0;
}
