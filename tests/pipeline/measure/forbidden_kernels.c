/* Kernels that ask the system for something, one for each FAULT_...: freestanding objects
 * that test_board_linux.c puts in the place of good ones. */
#include "runtime/kernel.h"
#include "tests/pipeline/measure/system_call.h"

int kiln_kernel(const kiln_args *args, kiln_ctx *ctx);

enum { X, W, Y }; /* of a convolution */

#if defined(__x86_64__)
enum { CLONE = 56, OPENAT = 257, SOCKET = 41, PTRACE = 101, KILL = 62 };
#else
enum { CLONE = 220, OPENAT = 56, SOCKET = 198, PTRACE = 117, KILL = 129 };
#endif

int kiln_kernel(const kiln_args *args, kiln_ctx *ctx) {
    static const char name[] = "stolen";
    (void)ctx;
    (void)name;
#if defined(FAULT_clone)
    enum { SIGNAL_CHLD = 17 };
    (void)system_call(CLONE, SIGNAL_CHLD, 0, 0, 0, 0, 0);
#elif defined(FAULT_openat)
    enum { CREATES_AND_WRITES = 0101, HERE = -100 };
    (void)system_call(OPENAT, HERE, (long)(uintptr_t)name, CREATES_AND_WRITES, 0600, 0,
                      0);
#elif defined(FAULT_socket)
    enum { INTERNET = 2, STREAM = 1 };
    (void)system_call(SOCKET, INTERNET, STREAM, 0, 0, 0, 0);
#elif defined(FAULT_ptrace)
    (void)system_call(PTRACE, 0, 0, 0, 0, 0, 0);
#elif defined(FAULT_kill)
    (void)system_call(KILL, -1, 15, 0, 0, 0, 0);
#elif defined(FAULT_write)
    ((float *)args->tensor[W])[0] = 1;
#elif defined(FAULT_beyond)
    ((float *)args->tensor[Y])[-1] = 1;
#endif
    return args->tensor[X] == 0;
}
