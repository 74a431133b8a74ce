/* Kernels that lie (lies.def), in place of one that is right: y = max(x, 0) over
 * LIE_ELEMS elements. A freestanding object that test_lies_linux.c compiles, with
 * SANDBOX, a folder in which nothing may change, and PORT, which nobody may listen on.
 * Each is right but for its lie. */
#include "runtime/kernel.h"
#include "tests/pipeline/measure/system_call.h"

#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* A checker reads this file alone. */
#ifndef LIE_ELEMS
#define LIE_ELEMS 256
#define SANDBOX "."
#define PORT 1
#endif

enum { X, Y, N = LIE_ELEMS, LATER = 50 };

#define LIE(name, threads, wants) kiln_kernel_fn lie_##name;
#include "tests/pipeline/measure/lies.def"
#undef LIE

kiln_kernel_fn lie_not_at_all;

/* A kernel's own memory lives from call to call: what liars need. */
static long calls;
static void *first_y, *last_y;
static const float *first_x;
static float first_value, last_value;

static const float *x_of(const kiln_args *args) { return args->tensor[X]; }
static float *y_of(const kiln_args *args) { return args->tensor[Y]; }

static float relu(float v) { return v > 0 ? v : 0; }

/* Elements [begin, end). */
static int part(const kiln_args *args, int begin, int end) {
    const float *x = x_of(args);
    float *y = y_of(args);
    for (int i = begin; i < end; i++)
        y[i] = relu(x[i]);
    return 0;
}

static int all(const kiln_args *args) { return part(args, 0, N); }

static int wrong(const kiln_args *args) {
    float *y = y_of(args);
    for (int i = 0; i < N; i++)
        y[i] = 3;
    return 0;
}

static int one_wrong(const kiln_args *args, int i) {
    all(args);
    y_of(args)[i] += 1;
    return 0;
}

#define KERNEL(name) int lie_##name(const kiln_args *args, kiln_ctx *ctx)
#define KERNEL_IS(name, what)                                                          \
    KERNEL(name) {                                                                     \
        (void)args;                                                                    \
        (void)ctx;                                                                     \
        return (what);                                                                 \
    }
#define EVERY(n) (++calls % (n) == 0)
#define AFTER(n) (++calls > (n))

KERNEL_IS(not_at_all, all(args))

/* ---- wrong always ---------------------------------------------------------------- */

static int fill(const kiln_args *args, float a, float b, float bias) {
    for (int i = 0; i < N; i++)
        y_of(args)[i] = a * x_of(args)[i] + b * relu(x_of(args)[i]) + bias;
    return 0;
}

static int shifted(const kiln_args *args) {
    for (int i = 0; i < N; i++)
        y_of(args)[i] = relu(x_of(args)[(i + 1) % N]);
    return 0;
}

static int every_other(const kiln_args *args) {
    for (int i = 0; i < N; i += 2)
        y_of(args)[i] = relu(x_of(args)[i]);
    return 0;
}

static int one_is_nan(const kiln_args *args) {
    all(args);
    y_of(args)[N / 3] = __builtin_nanf("");
    return 0;
}

KERNEL_IS(zeros, fill(args, 0, 0, 0))
KERNEL_IS(ones, fill(args, 0, 0, 1))
KERNEL_IS(copies_its_input, fill(args, 1, 0, 0))
KERNEL_IS(negates, fill(args, 0, -1, 0))
KERNEL_IS(nothing, args == 0)
KERNEL_IS(first_only, part(args, 0, 1))
KERNEL_IS(last_is_wrong, one_wrong(args, N - 1))
KERNEL_IS(one_is_nan, one_is_nan(args))
KERNEL_IS(a_thousandth_off, fill(args, 0, 1.001F, 0))
KERNEL_IS(shifted, shifted(args))
KERNEL_IS(front_half, part(args, 0, N / 2))
KERNEL_IS(back_half, part(args, N / 2, N))
KERNEL_IS(every_other, every_other(args))
KERNEL_IS(seven_percent, part(args, 0, N * 7 / 100))

/* ---- now and then ---------------------------------------------------------------- */

KERNEL_IS(wrong_every_2nd, EVERY(2) ? wrong(args) : all(args))
KERNEL_IS(wrong_every_3rd, EVERY(3) ? wrong(args) : all(args))
KERNEL_IS(wrong_every_4th, EVERY(4) ? wrong(args) : all(args))
KERNEL_IS(wrong_every_5th, EVERY(5) ? wrong(args) : all(args))
KERNEL_IS(wrong_every_7th, EVERY(7) ? wrong(args) : all(args))
KERNEL_IS(one_wrong_every_2nd, EVERY(2) ? one_wrong(args, N / 3) : all(args))
KERNEL_IS(one_wrong_every_7th, EVERY(7) ? one_wrong(args, N / 3) : all(args))
KERNEL_IS(last_wrong_every_3rd, EVERY(3) ? one_wrong(args, N - 1) : all(args))
KERNEL_IS(idle_every_2nd, EVERY(2) ? 0 : all(args))
KERNEL_IS(idle_every_7th, EVERY(7) ? 0 : all(args))
KERNEL_IS(half_every_2nd, EVERY(2) ? part(args, 0, N / 2) : all(args))
KERNEL_IS(half_every_7th, EVERY(7) ? part(args, 0, N / 2) : all(args))
KERNEL_IS(wrong_after_1, AFTER(1) ? wrong(args) : all(args))
KERNEL_IS(wrong_after_20, AFTER(20) ? wrong(args) : all(args))
KERNEL_IS(wrong_after_300, AFTER(300) ? wrong(args) : all(args))
KERNEL_IS(idle_after_1, AFTER(1) ? 0 : all(args))
KERNEL_IS(idle_after_20, AFTER(20) ? 0 : all(args))
KERNEL_IS(idle_after_300, AFTER(300) ? 0 : all(args))
KERNEL_IS(half_after_1, AFTER(1) ? part(args, 0, N / 2) : all(args))
KERNEL_IS(half_after_300, AFTER(300) ? part(args, 0, N / 2) : all(args))
KERNEL_IS(seven_percent_after_1, AFTER(1) ? part(args, 0, N * 7 / 100) : all(args))
KERNEL_IS(seven_percent_after_300, AFTER(300) ? part(args, 0, N * 7 / 100) : all(args))

/* ---- by what is there ------------------------------------------------------------ */

/* Has this output, with inputs that begin so, been seen before? */
static int was_here(const kiln_args *args, int with_inputs) {
    enum { MOST = 64 };
    static void *seen[MOST];
    static float of[MOST];
    static int n;
    for (int i = 0; i < n; i++)
        if (seen[i] == y_of(args) && (!with_inputs || of[i] == x_of(args)[0]))
            return 1;
    if (n < MOST) {
        seen[n] = y_of(args);
        of[n++] = x_of(args)[0];
    }
    return 0;
}

static int is_right_at(const kiln_args *args, int i) {
    return y_of(args)[i] == relu(x_of(args)[i]);
}

static int is_as_last_time(const kiln_args *args) {
    const int is = last_y == y_of(args) && last_value == x_of(args)[0];
    last_y = y_of(args);
    last_value = x_of(args)[0];
    return is;
}

static int repair(const kiln_args *args) {
    for (int i = 0; i < N; i++)
        if (y_of(args)[i] != y_of(args)[i])
            y_of(args)[i] = relu(x_of(args)[i]);
    return 0;
}

static int add_up(const kiln_args *args) {
    for (int i = 0; i < N; i++) {
        const float was = y_of(args)[i];
        y_of(args)[i] = relu(x_of(args)[i]) + (was == was ? was : 0);
    }
    return 0;
}

KERNEL_IS(idle_where_it_was, was_here(args, 0) ? 0 : all(args))
KERNEL_IS(idle_where_it_was_with_this, was_here(args, 1) ? 0 : all(args))
KERNEL_IS(idle_where_the_first_is_right, is_right_at(args, 0) ? 0 : all(args))
KERNEL_IS(idle_where_three_are_right,
          is_right_at(args, 0) && is_right_at(args, N / 2) && is_right_at(args, N - 1)
              ? 0
              : all(args))
KERNEL_IS(idle_if_as_last_time, is_as_last_time(args) ? 0 : all(args))
KERNEL_IS(half_where_it_was, was_here(args, 1) ? part(args, 0, N / 2) : all(args))
KERNEL_IS(repairs_nan, repair(args))
KERNEL_IS(adds_up, add_up(args))

/* ---- by address, or input -------------------------------------------------------- */

static int is_elsewhere(const kiln_args *args) {
    first_y = first_y == 0 ? y_of(args) : first_y;
    return first_y != y_of(args);
}

static int has_other_inputs(const kiln_args *args) {
    if (first_x == 0) {
        first_x = x_of(args);
        first_value = *first_x;
    }
    return first_x != x_of(args) || first_value != *x_of(args);
}

static int is_odd_page(const kiln_args *args) {
    static uintptr_t page;
    const uintptr_t now = (uintptr_t)y_of(args) / 4096;
    page = page == 0 ? now : page; /* which the first is nobody can know */
    return (now - page) % 2 != 0;
}

/* Some neighbours among the first rise in any inputs, and some fall: the right one of
 * these is as far from the others as the inputs decide. */
static int rises(const kiln_args *args, float sign) {
    const float *x = x_of(args);
    return sign * (x[1] - x[0]) > 0 || sign * (x[3] - x[2]) > 0 ||
           sign * (x[5] - x[4]) > 0;
}

KERNEL_IS(wrong_elsewhere, is_elsewhere(args) ? wrong(args) : all(args))
KERNEL_IS(wrong_on_odd_pages, is_odd_page(args) ? wrong(args) : all(args))
KERNEL_IS(wrong_where_it_was, was_here(args, 0) ? wrong(args) : all(args))
KERNEL_IS(wrong_for_other_inputs, has_other_inputs(args) ? wrong(args) : all(args))
KERNEL_IS(wrong_for_rising_inputs, rises(args, 1) ? wrong(args) : all(args))
KERNEL_IS(wrong_for_falling_inputs, rises(args, -1) ? wrong(args) : all(args))

/* ---- threads --------------------------------------------------------------------- */

typedef int share_fn(const kiln_args *args, int thread);

static int each(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                int64_t end, void *scratch) {
    share_fn *share = *(share_fn **)closure;
    int result = 0;
    (void)ctx;
    (void)scratch;
    for (int64_t i = begin; i < end; i++)
        result |= share(args, (int)i);
    return result;
}

static int together(const kiln_args *args, kiln_ctx *ctx, share_fn *share) {
    return ctx->parallel_for(ctx, each, args, &share, 2);
}

static int half(const kiln_args *args, int i) {
    return part(args, i * (N / 2), i == 0 ? N / 2 : N);
}

static int first_half(const kiln_args *args, int i) {
    return i == 0 ? half(args, i) : 0;
}

static int second_wrong(const kiln_args *args, int i) {
    half(args, i);
    if (i == 1)
        y_of(args)[N - 2] = -1;
    return 0;
}

static int second_idle(const kiln_args *args, int i) {
    return i == 1 && AFTER(4) ? 0 : half(args, i);
}

KERNEL_IS(wrong_alone, ctx->n_threads == 1 ? wrong(args) : all(args))
KERNEL_IS(wrong_together, ctx->n_threads > 1 ? wrong(args) : all(args))
KERNEL_IS(first_thread_only, together(args, ctx, first_half))
KERNEL_IS(second_thread_wrong, together(args, ctx, second_wrong))
KERNEL_IS(second_thread_idle_later, together(args, ctx, second_idle))

/* ---- not to the end -------------------------------------------------------------- */

static int hang(void) {
    for (volatile int i = 0; i >= 0; i = 0)
        continue;
    return 0;
}

static int crash(void) {
    *(volatile int *)(uintptr_t)(8 + (calls & 0)) = 1;
    return 0;
}

static int overflow(const kiln_args *args, int depth) {
    volatile char frame[4096];
    frame[0] = (char)depth;
    return frame[0] + (depth >= 0 ? overflow(args, depth + 1) : 0) + frame[0];
}

static int put(float *at) {
    *(volatile float *)at = 1;
    return 0;
}

/* The clocks of the slice's begin lie on the stack of who calls: that of the wall is a
 * number just below now: a second at most, where others want the processor too. Three
 * quarters of what has passed since the last call are taken away. */
static int forge(const kiln_args *args);

KERNEL_IS(hangs, hang())
KERNEL_IS(hangs_later, AFTER(LATER) ? hang() : all(args))
KERNEL_IS(crashes, crash())
KERNEL_IS(crashes_later, AFTER(LATER) ? crash() : all(args))
KERNEL(traps) {
    (void)args;
    (void)ctx;
    __builtin_trap();
}
KERNEL_IS(overflows_its_stack, overflow(args, 1))
KERNEL_IS(returns_7, all(args) + 7)
KERNEL_IS(returns_7_later, AFTER(LATER) ? 7 : all(args))
KERNEL_IS(writes_before, all(args) + put(y_of(args) - 1))
KERNEL_IS(writes_behind, all(args) + put(y_of(args) + N))
KERNEL_IS(writes_its_input, all(args) + put((float *)(uintptr_t)x_of(args)))
KERNEL_IS(forges_its_clock, all(args) + forge(args))

/* ---- the system ------------------------------------------------------------------ */

static int forge(const kiln_args *args) {
    enum { CLOCK = 1, WORDS = 512, SECOND = 1000000000 };
    struct {
        int64_t s, ns;
    } t = {0, 0};
    (void)args;
    system_call(SYS_clock_gettime, CLOCK, (long)&t, 0, 0, 0, 0);
    static int64_t last;
    const int64_t now = t.s * SECOND + t.ns;
    const int64_t passed = now - last < SECOND / 1000 ? now - last : SECOND / 1000;
    last = now;
    int64_t *frame = (int64_t *)__builtin_frame_address(0);
    for (int i = 0; i < WORDS; i++)
        if (frame[i] > now - SECOND && frame[i] < now)
            *(volatile int64_t *)&frame[i] += passed * 3 / 4;
    return 0;
}

#define PATH(name) ((long)(SANDBOX "/" name))
enum { A_SOCKET = 2, A_STREAM = 1, A_CHILD = 17 /* SIGCHLD */ };

static long fork_it(void) { return system_call(SYS_clone, A_CHILD, 0, 0, 0, 0, 0); }

static long leave_a_daemon(void) {
    static const int64_t hour[2] = {3600, 0};
    if (fork_it() != 0)
        return 0;
    system_call(SYS_setsid, 0, 0, 0, 0, 0, 0);
    if (fork_it() == 0)
        for (;;)
            system_call(SYS_nanosleep, (long)hour, 0, 0, 0, 0, 0);
    return system_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

static long run_a_program(void) {
    static char sh[] = "/bin/sh", c[] = "-c", what[] = "touch " SANDBOX "/made";
    static char *argv[] = {sh, c, what, 0};
    if (fork_it() == 0)
        system_call(SYS_execve, (long)sh, (long)argv, 0, 0, 0, 0);
    return 0;
}

static long listen_on(int port) {
    unsigned char address[16] = {A_SOCKET, 0, (unsigned char)(port >> 8),
                                 (unsigned char)port};
    const long fd = system_call(SYS_socket, A_SOCKET, A_STREAM, 0, 0, 0, 0);
    system_call(SYS_bind, fd, (long)address, sizeof address, 0, 0, 0);
    return system_call(SYS_listen, fd, 1, 0, 0, 0, 0);
}

static long open_it(long path, int flags) {
    return system_call(SYS_openat, AT_FDCWD, path, flags, 0644, 0, 0);
}

static long write_it(long path, int flags) {
    return system_call(SYS_write, open_it(path, flags), (long)"lie", 3, 0, 0, 0);
}

static long map_it(void) {
    const long fd = open_it(PATH("a"), O_RDWR);
    char *p = (char *)system_call(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
                                  fd, 0);
    if ((long)p > 0)
        *(volatile char *)p = '!';
    return 0;
}

static long unprotect_input(const kiln_args *args) {
    const uintptr_t page = (uintptr_t)x_of(args) / 4096 * 4096;
    system_call(SYS_mprotect, (long)page, 4096, PROT_READ | PROT_WRITE, 0, 0, 0);
    return 0;
}

/* What the parent holds of outputs to be, as far as /proc lets others at its memory. */
static long rewrite_expectations(void) {
    static char path[] = "/proc/0000000000/mem";
    static float zeros[1024];
    long pid = system_call(SYS_getppid, 0, 0, 0, 0, 0, 0);
    for (int i = 15; i > 5; i--, pid /= 10)
        path[i] = (char)('0' + pid % 10);
    char *digits = path + 6, *to = path + 6;
    while (*digits == '0')
        digits++;
    while ((*to++ = *digits++) != 0)
        continue;
    const long fd = open_it((long)path, O_RDWR);
    for (long at = 0; at < (1 << 20); at += (long)sizeof zeros)
        system_call(SYS_pwrite64, fd, (long)zeros, sizeof zeros, at, 0, 0);
    return 0;
}

static long write_into_parent(const kiln_args *args) {
    struct {
        void *at;
        unsigned long n;
    } own = {args->tensor[Y], 64}, there = {args->tensor[Y], 64};
    return system_call(SYS_process_vm_writev,
                       system_call(SYS_getppid, 0, 0, 0, 0, 0, 0), (long)&own, 1,
                       (long)&there, 1, 0);
}

/* Only at first: what follows is right, and fast. */
#define ONCE(what) (calls++ == 0 ? (void)(what) : (void)0, all(args))
#define ONCE_LATER(what) (calls++ == LATER ? (void)(what) : (void)0, all(args))

KERNEL_IS(exits, all(args) + (int)system_call(SYS_exit_group, 0, 0, 0, 0, 0, 0))
KERNEL_IS(exits_later, ONCE_LATER(system_call(SYS_exit_group, 0, 0, 0, 0, 0, 0)))
KERNEL_IS(answers_early,
          AFTER(20) ? (int)(system_call(SYS_write, 3, (long)"", 1, 0, 0, 0) & 0)
                    : all(args))
KERNEL_IS(forks, ONCE(fork_it()))
KERNEL_IS(forks_later, ONCE_LATER(fork_it()))
KERNEL_IS(leaves_a_daemon, ONCE(leave_a_daemon()))
KERNEL_IS(starts_a_thread,
          ONCE(system_call(SYS_clone, 0x10900 /* VM, SIGHAND, THREAD */, 0, 0, 0, 0,
                           0)))
KERNEL_IS(runs_a_program, ONCE(run_a_program()))
KERNEL_IS(opens_a_socket, ONCE(system_call(SYS_socket, A_SOCKET, A_STREAM, 0, 0, 0, 0)))
KERNEL_IS(listens, ONCE(listen_on(PORT)))
KERNEL_IS(unlinks, ONCE(system_call(SYS_unlinkat, AT_FDCWD, PATH("a"), 0, 0, 0, 0)))
KERNEL_IS(unlinks_later,
          ONCE_LATER(system_call(SYS_unlinkat, AT_FDCWD, PATH("a"), 0, 0, 0, 0)))
KERNEL_IS(truncates, ONCE(system_call(SYS_truncate, PATH("a"), 0, 0, 0, 0, 0)))
KERNEL_IS(writes_a_file, ONCE(write_it(PATH("a"), O_WRONLY)))
KERNEL_IS(makes_a_file, ONCE(write_it(PATH("made"), O_WRONLY | O_CREAT)))
KERNEL_IS(renames, ONCE(system_call(SYS_renameat2, AT_FDCWD, PATH("a"), AT_FDCWD,
                                    PATH("b"), 0, 0)))
KERNEL_IS(links,
          ONCE(system_call(SYS_symlinkat, PATH("a"), AT_FDCWD, PATH("made"), 0, 0, 0)))
KERNEL_IS(makes_a_folder,
          ONCE(system_call(SYS_mkdirat, AT_FDCWD, PATH("made"), 0755, 0, 0, 0)))
KERNEL_IS(changes_modes,
          ONCE(system_call(SYS_fchmodat, AT_FDCWD, PATH("a"), 0, 0, 0, 0)))
KERNEL_IS(maps_a_file, ONCE(map_it()))
KERNEL_IS(maps_memory, ONCE(system_call(SYS_mmap, 0, 1 << 20, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
KERNEL_IS(unprotects_its_input, ONCE(unprotect_input(args)))
KERNEL_IS(kills_its_parent,
          ONCE(system_call(SYS_kill, system_call(SYS_getppid, 0, 0, 0, 0, 0, 0), 9, 0,
                           0, 0, 0)))
KERNEL_IS(kills_itself,
          ONCE(system_call(SYS_kill, system_call(SYS_getpid, 0, 0, 0, 0, 0, 0), 9, 0, 0,
                           0, 0)))
KERNEL_IS(traces_its_parent,
          ONCE(system_call(SYS_ptrace, 16 /* ATTACH */,
                           system_call(SYS_getppid, 0, 0, 0, 0, 0, 0), 0, 0, 0, 0)))
KERNEL_IS(rewrites_expectations, ONCE(rewrite_expectations()))
KERNEL_IS(writes_into_its_parent, ONCE(write_into_parent(args)))
KERNEL_IS(takes_signals, ONCE(system_call(SYS_rt_sigaction, 31, 0, 0, 8, 0, 0)))
KERNEL_IS(stops_its_timer, ONCE(system_call(SYS_setitimer, 2, 0, 0, 0, 0, 0)))
static const int64_t a_while[2] = {0, 1000};
KERNEL_IS(sleeps, ONCE(system_call(SYS_nanosleep, (long)a_while, 0, 0, 0, 0, 0)))
KERNEL_IS(takes_priority, ONCE(system_call(SYS_setpriority, 0, 0, -20, 0, 0, 0)))
KERNEL_IS(prints, ONCE(system_call(SYS_write, 2, (long)"lie\n", 4, 0, 0, 0)))
