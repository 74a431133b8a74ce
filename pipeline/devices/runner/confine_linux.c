/* A package's code may compute, and nothing else: once all files are open, a seccomp
 * filter (seccomp(2)) leaves to the process what running kernels, writing to what is
 * open, and ending need. No file can be opened any more, no process, socket or mapping
 * that can be executed be made. The filter is written out: boards have this one program
 * and no library beside it.
 *
 * Kernels without seccomp, and emulators, run packages as before; the report says which
 * it was. */
#include "pipeline/devices/runner/runner.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/arch.h"

/* What a sanitizer adds to a program asks the system for more. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#if !defined(HAS_SANITIZER)

/* Threads that are just being made get ready, wait, wake and end; clocks; files that
 * are open are written and closed; what was mapped is given back. */
static const int allowed[] = {
    SYS_set_robust_list,
    SYS_futex,
    SYS_sched_yield,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_getrusage,
    SYS_write,
    SYS_writev,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_munmap,
    SYS_madvise,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_brk,
#if defined(SYS_newfstatat)
    SYS_newfstatat,
#endif
#if defined(SYS_rseq)
    SYS_rseq,
#endif
#if defined(SYS_getcpu)
    SYS_getcpu,
#endif
};
enum { N_ALLOWED = sizeof allowed / sizeof allowed[0], MAX_STEPS = 2 * N_ALLOWED + 16 };

typedef struct filter {
    struct sock_filter step[MAX_STEPS];
    unsigned short n;
} filter;

static void add(filter *f, int code, uint32_t k, uint8_t yes, uint8_t no) {
    f->step[f->n++] =
        (struct sock_filter){.code = (unsigned short)code, .jt = yes, .jf = no, .k = k};
}

/* Linux numbers architectures as ELF does: <linux/audit.h>. A call of x86-64's second
 * table has a bit that no other architecture's has. */
static void write_filter(filter *f, int machine) {
    enum { X32_BIT = 0x40000000 };
    const uint32_t audit = (uint32_t)machine | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE;
    add(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, audit, 1, 0);
    add(f, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    add(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(f, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    add(f, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    for (int i = 0; i < N_ALLOWED; i++) {
        add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
        add(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    }
    add(f, BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
}

/* On whichever thread it happened; the handler cannot be set again. */
static void on_trap(int number, siginfo_t *info, void *context) {
    char text[96];
    (void)number;
    (void)context;
    const int n = snprintf(text, sizeof text,
                           "error: the package's code made system call %d: not let "
                           "through\n",
                           info->si_syscall);
    const ssize_t written = n > 0 ? write(STDERR_FILENO, text, (size_t)n) : 0;
    (void)written;
    _exit(RUN_KERNEL);
}

/* SPEC_ALLOW: kernels before 5.16 would else run us without speculation of loads past
 * stores, and what is timed would be slower than it is. */
int run_confine(void) {
    filter f = {.n = 0};
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    const kiln_runtime_arch *here = kiln_runtime_arch_here();
    if (here == NULL)
        return 0;
    write_filter(&f, here->machine);
    const struct sock_fprog program = {.len = f.n, .filter = f.step};
    return sigaction(SIGSYS, &action, NULL) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                   &program) == 0;
}

#else

int run_confine(void) { return 0; }

#endif
