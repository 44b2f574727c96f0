/*
 * 100 times a fault within a block, whose handler mends an address; then the instruction is executed
 * again. Each time: 4 instructions before the fault, 3 of the handler, 2 of the return, 4 from the
 * fault on. 9 at the start and 3 at the end.
 */
    .globl _start
_start:
    mov $13, %eax
    mov $11, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $100, %ebx
    nop
    nop
1:  xor %r8d, %r8d
    nop
    nop
    nop
    mov (%r8), %rax
    nop
    dec %ebx
    jnz 1b
    mov $60, %eax
    xor %edi, %edi
    syscall
handler:
    lea action(%rip), %rax
    mov %rax, 40(%rdx)  /* r8 */
    ret
restore:
    mov $15, %eax
    syscall
    .data
action:
    .quad handler
    .quad 0x04000004    /* SA_SIGINFO and SA_RESTORER */
    .quad restore
    .quad 0
