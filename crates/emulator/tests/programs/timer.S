/*
 * A timer interrupts repeated instructions and loops. 8 + 7 + 1
 * instructions at the start, 6 in each of 20,000 rounds (the inner loop has 2 * 20 more), 6 + 3 at
 * the end; 2 + 2 for each signal.
 */
    .globl _start
_start:
    mov $13, %eax
    mov $14, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    nop
    nop
    mov $38, %eax
    xor %edi, %edi
    lea times(%rip), %rsi
    xor %edx, %edx
    syscall
    nop
    nop
    mov $20000, %ebx
1:  lea buffer(%rip), %rdi
    mov $1000, %ecx
    rep stosb
    mov $20, %ecx
2:  dec %ecx
    jnz 2b
    dec %ebx
    jnz 1b
    mov $1, %eax
    mov $1, %edi
    lea signals(%rip), %rsi
    mov $8, %edx
    syscall
    nop
    mov $60, %eax
    xor %edi, %edi
    syscall
handler:
    incq signals(%rip)
    ret
restore:
    mov $15, %eax
    syscall
    .data
action:
    .quad handler
    .quad 0x04000000    /* SA_RESTORER */
    .quad restore
    .quad 0
times:
    .quad 0, 1000, 0, 1000
signals:
    .quad 0
    .lcomm buffer, 1000
