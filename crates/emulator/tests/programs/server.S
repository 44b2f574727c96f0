/*
 * Answers each byte: clears and compares buffers, computes, makes a system call, and waits for the
 * next one.
 */
    .globl _start
_start:
    xor %eax, %eax
    xor %edi, %edi
    lea byte(%rip), %rsi
    mov $1, %edx
    syscall
    cmp $1, %eax
    jne 9f
    movzbl byte(%rip), %r12d
1:  lea buffer(%rip), %rdi
    mov %r12d, %ecx
    xor %eax, %eax
    rep stosb
    lea buffer(%rip), %rdi
    lea buffer(%rip), %rsi
    mov %r12d, %ecx
    repe cmpsb
    mov $39, %eax
    syscall
    call work
    dec %r12d
    jnz 1b
    mov $1, %eax
    mov $1, %edi
    lea byte(%rip), %rsi
    mov $1, %edx
    syscall
    jmp _start
9:  mov $60, %eax
    xor %edi, %edi
    syscall
work:
    mov $37, %ecx
1:  imul $3, %rax
    lock incq count(%rip)
    loop 1b
    ret
    .data
count:
    .quad 0
    .lcomm byte, 1
    .lcomm buffer, 256
