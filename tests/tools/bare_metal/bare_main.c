/* Runs the network's self-test twice. Workspace and stack are painted before, in another
 * colour each time, so that a byte which is written as it was painted is found by the
 * other run. One line says what was used:
 *
 *     workspace 1234, stack 567, wrong 0
 *
 * The self-test is compiled with -Dmain=selftest -Dstatic=, which gives its workspace
 * away, and this with -DWORKSPACE_BYTES=, as the network's header has it. */
#include "tests/tools/bare_metal/bare_metal.h"

#ifndef WORKSPACE_BYTES
#define WORKSPACE_BYTES 64
#endif

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, EXIT = 0x20026 };
enum { FRAME = 256 }; /* of this function, which paints and looks */

/* Of the linker's script, and of the self-test. */
extern unsigned char bss_begin[], bss_end[], stack_bottom[];
extern unsigned char workspace[WORKSPACE_BYTES];
int selftest(void);

static void leave(uintptr_t code) {
    const uintptr_t why[2] = {EXIT, code};
    (void)bare_ask(SYS_EXIT_EXTENDED, why);
    for (;;)
        ;
}

void bare_fault(void) {
    (void)bare_ask(SYS_WRITE0, "the processor took an exception\n");
    leave(3);
}

static void say(const char *what, size_t n) {
    char text[24];
    size_t at = sizeof text - 1;
    text[at] = '\0';
    do
        text[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    (void)bare_ask(SYS_WRITE0, what);
    (void)bare_ask(SYS_WRITE0, text + at);
}

/* Bytes from the first that has another colour to the end. */
static size_t used_below(const volatile unsigned char *begin, size_t n,
                         unsigned char colour) {
    size_t i = 0;
    while (i < n && begin[i] == colour)
        i++;
    return n - i;
}

static size_t used_above(const volatile unsigned char *begin, size_t n,
                         unsigned char colour) {
    while (n > 0 && begin[n - 1] == colour)
        n--;
    return n;
}

static size_t larger(size_t x, size_t y) { return x > y ? x : y; }

void bare_main(void) {
    volatile unsigned char here = 0;
    const size_t n_bss = (size_t)((uintptr_t)bss_end - (uintptr_t)bss_begin);
    const size_t n_stack = (size_t)((uintptr_t)&here - FRAME - (uintptr_t)stack_bottom);
    size_t workspace_used = 0, stack_used = 0;
    uintptr_t wrong = 0;
    for (size_t i = 0; i < n_bss; i++)
        ((volatile unsigned char *)bss_begin)[i] = 0;
    for (int run = 0; run < 2; run++) {
        const unsigned char colour = run == 0 ? 0xA5 : 0x5A;
        for (size_t i = 0; i < WORKSPACE_BYTES; i++)
            workspace[i] = colour;
        for (size_t i = 0; i < n_stack; i++)
            ((volatile unsigned char *)stack_bottom)[i] = colour;
        wrong += (uintptr_t)selftest();
        workspace_used =
            larger(workspace_used, used_above(workspace, WORKSPACE_BYTES, colour));
        stack_used = larger(stack_used, used_below(stack_bottom, n_stack, colour));
    }
    say("workspace ", workspace_used);
    say(", stack ", stack_used + FRAME);
    say(", wrong ", wrong);
    (void)bare_ask(SYS_WRITE0, "\n");
    leave(wrong);
}
