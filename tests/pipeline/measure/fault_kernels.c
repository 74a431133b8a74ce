/* Kernels that misbehave, one for each FAULT_...: freestanding objects that
 * test_faults.c compiles and puts in the place of good ones. */
#include "runtime/kernel.h"
#include "tests/pipeline/measure/system_call.h"

int kiln_kernel(const kiln_args *args, kiln_ctx *ctx);

/* x, w, y of a convolution. */
enum { X, W, Y, PAGE = 4096 };

static float *tensor(const kiln_args *args, int i) { return args->tensor[i]; }

#if defined(FAULT_EXIT) || defined(FAULT_MEMORY) || defined(FAULT_KILL)
#if defined(__x86_64__)
enum { SYS_MMAP = 9, SYS_EXIT_GROUP = 231, SYS_GETPID = 39, SYS_KILL = 62 };
#else
enum { SYS_MMAP = 222, SYS_EXIT_GROUP = 94, SYS_GETPID = 172, SYS_KILL = 129 };
#endif
#endif

int kiln_kernel(const kiln_args *args, kiln_ctx *ctx) {
    (void)tensor(args, X); /* not every fault looks at one */
    (void)ctx;
#if defined(FAULT_HANG)
    for (volatile int i = 0; i >= 0; i = 0)
        tensor(args, Y)[0] = 1;
#elif defined(FAULT_CRASH)
    *(volatile int *)(uintptr_t)8 = tensor(args, X) != 0;
#elif defined(FAULT_MEMORY)
    enum { STEP = 4 << 20, ALL_ANONYMOUS = 0x22, READ_WRITE = 3 };
    for (;;) {
        const long p = system_call(SYS_MMAP, 0, STEP, READ_WRITE, ALL_ANONYMOUS, -1, 0);
        /* What asks for memory without end asks again. */
        for (long i = 0; p > 0 && i < STEP; i += PAGE)
            ((volatile char *)p)[i] = (char)(tensor(args, X) != 0);
    }
#elif defined(FAULT_EXIT)
    (void)args;
    (void)system_call(SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0);
#elif defined(FAULT_KILL)
    enum { SIGNAL_KILL = 9 };
    (void)args;
    (void)system_call(SYS_KILL, system_call(SYS_GETPID, 0, 0, 0, 0, 0, 0), SIGNAL_KILL,
                      0, 0, 0, 0);
#elif defined(FAULT_BEFORE)
    tensor(args, Y)[-1] = 1;
#elif defined(FAULT_CANARY) /* the output is less than a page */
    for (int i = 0; i < PAGE / 4; i++)
        tensor(args, Y)[i] = 0;
#elif defined(FAULT_INPUT)
    tensor(args, W)[0] = 1;
#elif defined(FAULT_WRONG)
    tensor(args, Y)[0] = 1;
#elif defined(FAULT_RETURN)
    return tensor(args, X) != 0 ? 7 : 0;
#elif defined(FAULT_STACK)
    volatile char frame[PAGE];
    frame[0] = 1;
    return frame[0] + kiln_kernel(args, ctx) + frame[0];
#endif
    return 0;
}
