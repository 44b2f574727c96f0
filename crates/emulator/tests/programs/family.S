/*
 * A fork whose child executes 2,006 instructions, and a thread `worker` that executes 4,010.
 */
    .globl _start
_start:
    mov $57, %eax
    syscall
    test %eax, %eax
    jz child
    mov $61, %eax
    mov $-1, %rdi
    xor %esi, %esi
    xor %edx, %edx
    xor %r10d, %r10d
    syscall
    mov $56, %eax
    mov $0x3d0f00, %edi     /* what pthread_create asks for */
    lea stack_end(%rip), %rsi
    lea place(%rip), %rdx
    lea place(%rip), %r10
    lea block(%rip), %r8
    syscall
    test %eax, %eax
    jz thread
2:  mov place(%rip), %edx   /* waits for the end of the thread */
    test %edx, %edx
    jz 3f
    mov $202, %eax
    lea place(%rip), %rdi
    xor %esi, %esi
    xor %r10d, %r10d
    syscall
    jmp 2b
3:  mov $231, %eax
    xor %edi, %edi
    syscall
child:
    mov $1000, %ecx
1:  dec %ecx
    jnz 1b
    mov $60, %eax
    xor %edi, %edi
    syscall
thread:
    mov $157, %eax
    mov $15, %edi
    lea name(%rip), %rsi
    syscall
    mov $2000, %ecx
1:  dec %ecx
    jnz 1b
    mov $60, %eax
    xor %edi, %edi
    syscall
    .data
name:
    .asciz "worker"
    .balign 16
place:
    .quad 0
block:
    .fill 256
stack:
    .fill 4096
stack_end:
    .quad 0
