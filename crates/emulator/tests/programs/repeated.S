/* 17 instructions: what is repeated counts once, also where it repeats 0 times. */
    .globl _start
_start:
    lea buffer(%rip), %rdi
    mov $100000, %ecx
    xor %eax, %eax
    rep stosb
    lea buffer(%rip), %rdi
    mov $100000, %ecx
    mov $1, %eax
    repne scasb
    xor %ecx, %ecx
    rep stosq
    mov $3, %ecx
    lea buffer(%rip), %rsi
    lea buffer(%rip), %rdi
    rep movsl
    mov $60, %eax
    xor %edi, %edi
    syscall
    .lcomm buffer, 100000
