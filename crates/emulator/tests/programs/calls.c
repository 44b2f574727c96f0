/* Calls whose number is known, with a jump at the end of a function, a recursion and a longjmp. */
#include <setjmp.h>
#include <unistd.h>

static volatile long sum;
static jmp_buf back;

__attribute__((noinline)) void leaf(long n)
{
    for (long i = 0; i < n; i++)
        sum += i;
}

/* A jump to `leaf`: see the optimization that the test asks for. */
__attribute__((noinline)) void tail(long n)
{
    sum++;
    leaf(n);
}

__attribute__((noinline)) long depth(long n)
{
    return n ? depth(n - 1) + sum : 0;
}

__attribute__((noinline)) void leaves(long n)
{
    sum += n;
    longjmp(back, 1);
}

__attribute__((noinline)) void after(void)
{
    leaf(10);
}

__attribute__((noinline)) void round_of_work(void)
{
    for (int i = 0; i < 7; i++)
        tail(100);
    sum += depth(5);
    if (!setjmp(back))
        leaves(1);
    after();
}

int main(void)
{
    char byte;
    while (read(0, &byte, 1) == 1) {
        round_of_work();
        if (write(1, &byte, 1) != 1)
            return 1;
    }
    return 0;
}
