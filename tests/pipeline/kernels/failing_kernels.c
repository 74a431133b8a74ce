/* Kernels that misbehave, one for each FAULT_...: freestanding objects that
 * test_failures.c compiles and puts in the place of y = max(x, 0) over 64 elements. Each
 * is right but for its fault. */
#include "runtime/kernel.h"

#if defined(FAULT_EATS)
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/pipeline/measure/system_call.h"

/* All the memory that it gets, or as much as no test machine misses. */
static int eat(void) {
    enum { PIECE = 16 << 20, MOST = 4096 / 16, OUT_OF_MEMORY = 12 };
    for (int i = 0; i < MOST; i++) {
        volatile char *p =
            (volatile char *)system_call(SYS_mmap, 0, PIECE, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if ((long)p < 0 && (long)p > -4096)
            return OUT_OF_MEMORY;
        for (int k = 0; k < PIECE; k += 4096)
            p[k] = 1;
    }
    return 0;
}
#endif

int kiln_kernel(const kiln_args *args, kiln_ctx *ctx);

enum { X, Y, N = 64, LATER = 500, PAGE = 4096 };

/* A kernel's own memory lives from call to call. */
static volatile int calls;

int kiln_kernel(const kiln_args *args, kiln_ctx *ctx) {
    const float *x = args->tensor[X];
    float *y = args->tensor[Y];
    (void)ctx;
    calls++;
#if defined(FAULT_LIES) /* it goes by what it finds */
    if (y[0] == y[0] && y[N - 1] == y[N - 1])
        return 0;
#endif
    for (int i = 0; i < N; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
#if defined(FAULT_HANG)
    for (volatile int i = 0; i >= 0; i = 0)
        continue;
#elif defined(FAULT_CRASH)
    *(volatile int *)(uintptr_t)8 = 1;
#elif defined(FAULT_LATER)
    if (calls > LATER)
        *(volatile int *)(uintptr_t)8 = 1;
#elif defined(FAULT_BESIDE)
    for (int i = N; i < PAGE / 4; i++)
        y[i] = 0;
#elif defined(FAULT_BEYOND)
    y[PAGE / 4] = 0;
#elif defined(FAULT_WRONG)
    y[7] += 1;
#elif defined(FAULT_EATS)
    return eat();
#elif defined(FAULT_RETURN)
    return 7;
#endif
    return 0;
}
