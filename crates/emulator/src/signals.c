// Preloaded into a server under emulation: QEMU 7.2 enters a signal handler with a stack that is 8
// bytes off the alignment that the ABI promises. A server that works in its handlers, as Postgres
// does before 16, then ends with signal 11 at its first aligned store. Handlers are entered through
// code that aligns the stack first, whatever it was.

#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

// The other name of `sigaction` in glibc, of all versions. `dlsym` has another version in each half of
// them, and a server may bring an older glibc than this was compiled with.
extern int __sigaction(int, const struct sigaction *, struct sigaction *);

// By signal, as the program set them.
__attribute__((used)) static void (*handlers[NSIG])(int);

// The arguments stay where they are: this serves handlers of one and of three.
__attribute__((naked, used)) static void aligned(__attribute__((unused)) int signal) {
    __asm__("push %rbp\n\t"
            "mov %rsp, %rbp\n\t"
            "and $-16, %rsp\n\t"
            "movslq %edi, %rax\n\t"
            "lea handlers(%rip), %rcx\n\t"
            "call *(%rcx, %rax, 8)\n\t"
            "mov %rbp, %rsp\n\t"
            "pop %rbp\n\t"
            "ret");
}

EXPORT int sigaction(int signal, const struct sigaction *new, struct sigaction *old) {
    if (signal <= 0 || signal >= NSIG) return __sigaction(signal, new, old);
    void (*before)(int) = handlers[signal];
    struct sigaction with;
    if (new && new->sa_handler != SIG_DFL && new->sa_handler != SIG_IGN) {
        with = *new;
        // In place before the system can call it.
        handlers[signal] = new->sa_handler;
        with.sa_handler = aligned;
        new = &with;
    }
    int result = __sigaction(signal, new, old);
    if (result) handlers[signal] = before;
    if (!result && old && old->sa_handler == aligned) old->sa_handler = before;
    return result;
}
