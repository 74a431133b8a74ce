/* A seccomp filter, written out: libseccomp would be one more library for thirty
 * instructions, in a program that links none.
 *
 * The filter looks at the architecture first: numbers mean other calls elsewhere
 * (seccomp(2), "Caveats"), and x86-64 has a second table of them, x32's, by a bit. What
 * is not on the list is trapped rather than killed: the handler, which was set before
 * and cannot be set again, then tells what was called. */
#include "base/host/confine.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a sanitizer adds to a program goes on asking the system, when it ends at last.
 */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#if !defined(HAS_SANITIZER)

/* 32-bit machines have the same call with an offset in pages. */
#if !defined(SYS_mmap) && defined(SYS_mmap2)
#define SYS_mmap SYS_mmap2
#endif

/* This program's own header, by the name that linkers give it. The machine stands at the
 * same place in both classes. */
extern const Elf64_Ehdr __ehdr_start; /* NOLINT: the name is theirs */
/* Of calls of x86-64's second table. No other architecture has as many. */
enum { X32_BIT = 0x40000000 };

static const int allowed[] = {
    SYS_futex,        SYS_sched_yield,     SYS_clock_gettime,
    SYS_gettimeofday, SYS_getrusage,       SYS_rt_sigreturn,
#if defined(SYS_futex_time64) /* 32-bit machines whose clock has 64 bits */
    SYS_futex_time64, SYS_clock_gettime64,
#endif
    SYS_exit,         SYS_exit_group,      SYS_restart_syscall};
/* On the descriptor only. */
static const int on_descriptor[] = {SYS_read, SYS_write};
enum {
    N_ALLOWED = sizeof allowed / sizeof allowed[0],
    N_ON_DESCRIPTOR = sizeof on_descriptor / sizeof on_descriptor[0],
    MAX_STEPS = 160
};

typedef struct filter {
    struct sock_filter step[MAX_STEPS];
    unsigned short n;
} filter;

static void add(filter *f, int code, uint32_t k, uint8_t yes, uint8_t no) {
    f->step[f->n++] =
        (struct sock_filter){.code = (unsigned short)code, .jt = yes, .jf = no, .k = k};
}

static void load(filter *f, size_t offset) {
    add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(filter *f, uint32_t action) {
    add(f, BPF_RET | BPF_K, action, 0, 0);
}

/* The low half of argument i comes first on little-endian machines, and there are no
 * others here. */
static size_t half(int argument, int high) {
    return offsetof(struct seccomp_data, args) + (size_t)argument * 8 + (high ? 4 : 0);
}

/* Linux numbers architectures as ELF does: <linux/audit.h>. */
static uint32_t architecture(void) {
    return __ehdr_start.e_machine | (sizeof(void *) == 8 ? __AUDIT_ARCH_64BIT : 0) |
           __AUDIT_ARCH_LE;
}

static void begin(filter *f) {
    load(f, offsetof(struct seccomp_data, arch));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, architecture(), 1, 0);
    answer(f, SECCOMP_RET_KILL_PROCESS);
    load(f, offsetof(struct seccomp_data, nr));
    add(f, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    answer(f, SECCOMP_RET_KILL_PROCESS);
}

static void answer_calls(filter *f, const int *call, size_t n, uint32_t action) {
    for (size_t i = 0; i < n; i++) {
        add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call[i], 0, 1);
        answer(f, action);
    }
}

/* Where the accumulator was used for something else, it is the call's number again: for
 * what follows. */
static void allow_on(filter *f, int call, int descriptor) {
    enum { REST = 6 }; /* steps that are skipped for another call */
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, REST);
    load(f, half(0, 1));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, REST - 3);
    load(f, half(0, 0));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)descriptor, 0, 1);
    answer(f, SECCOMP_RET_ALLOW);
    load(f, offsetof(struct seccomp_data, nr));
}

/* Where argument i, as far as `mask` goes, is `want`. */
static void allow_bits(filter *f, int call, int i, uint32_t mask, uint32_t want) {
    enum { REST = 5 };
    add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, REST);
    load(f, half(i, 0));
    add(f, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, want, 0, 1);
    answer(f, SECCOMP_RET_ALLOW);
    load(f, offsetof(struct seccomp_data, nr));
}

/* SPEC_ALLOW: kernels before 5.16 would else run us without speculation of loads past
 * stores, and what is timed here would be slower than it is. */
static bool install(filter *f) {
    answer(f, SECCOMP_RET_TRAP);
    const struct sock_fprog program = {.len = f->n, .filter = f->step};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                   &program) == 0;
}

bool kiln_confine(int descriptor) {
    filter f = {.n = 0};
    begin(&f);
    answer_calls(&f, allowed, N_ALLOWED, SECCOMP_RET_ALLOW);
    for (int i = 0; descriptor >= 0 && i < N_ON_DESCRIPTOR; i++)
        allow_on(&f, on_descriptor[i], descriptor);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install(&f);
}

/* Of a process with sessions: memory and threads come and go. */
static const int of_room[] = {
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_rt_sigprocmask,
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_ppoll,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_gettid,
    SYS_getpid,
    SYS_set_robust_list,
    SYS_close,
#if defined(SYS_poll)
    SYS_poll,
#endif
#if defined(SYS_rseq)
    SYS_rseq,
#endif
#if defined(SYS_getcpu)
    SYS_getcpu,
#endif
};
static const int of_reading[] = {SYS_read, SYS_pread64, SYS_lseek,
#if defined(SYS_newfstatat)
                                 SYS_newfstatat,
#endif
                                 SYS_fstat};
/* Its arguments are in memory, where no filter looks. The C library takes clone then. */
static const int unknown[] = {
#if defined(SYS_clone3)
    SYS_clone3,
#endif
    -1};

enum { OWN_SIGNAL = 32 }; /* <signal.h> begins behind these two */

static void allow_room(filter *f, const kiln_confine_room *room) {
    const uint32_t executable = (room->may & KILN_CONFINE_LOADS) != 0 ? 0 : PROT_EXEC;
    const uint32_t writes = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND;
    answer_calls(f, of_room, sizeof of_room / sizeof of_room[0], SECCOMP_RET_ALLOW);
    answer_calls(f, unknown, sizeof unknown / sizeof unknown[0] - 1,
                 SECCOMP_RET_ERRNO | ENOSYS);
    allow_on(f, SYS_read, room->in);
    allow_on(f, SYS_write, room->out);
    allow_on(f, SYS_write, STDERR_FILENO);
    allow_on(f, SYS_writev, STDERR_FILENO);
    allow_bits(f, SYS_mmap, 2, executable, 0);
    allow_bits(f, SYS_mprotect, 2, executable, 0);
    allow_bits(f, SYS_clone, 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM);
    /* The C library's own signals, which its first thread sets up. */
    allow_bits(f, SYS_rt_sigaction, 0, UINT32_MAX, OWN_SIGNAL);
    allow_bits(f, SYS_rt_sigaction, 0, UINT32_MAX, OWN_SIGNAL + 1);
    if ((room->may & KILN_CONFINE_LOADS) != 0) /* then it may give up more, later */
        allow_bits(f, SYS_seccomp, 0, UINT32_MAX, SECCOMP_SET_MODE_FILTER);
    if ((room->may & KILN_CONFINE_READS) == 0)
        return;
    answer_calls(f, of_reading, sizeof of_reading / sizeof of_reading[0],
                 SECCOMP_RET_ALLOW);
    allow_bits(f, SYS_openat, 2, writes, O_RDONLY);
}

bool kiln_confine_room_to(const kiln_confine_room *room) {
    filter f = {.n = 0};
    begin(&f);
    answer_calls(&f, allowed, N_ALLOWED, SECCOMP_RET_ALLOW);
    allow_room(&f, room);
    /* Once for good: who is confined cannot ask any more whether it was done. */
    static bool has_no_new_privileges;
    has_no_new_privileges =
        has_no_new_privileges || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    return has_no_new_privileges && install(&f);
}

/* Threads that are just being made get ready; files that are open are written and closed;
 * what was mapped is given back. */
static const int of_files[] = {
    SYS_set_robust_list,
    SYS_write,
    SYS_writev,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_munmap,
    SYS_madvise,
    SYS_rt_sigprocmask,
    SYS_brk,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
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

bool kiln_confine_files(void) {
    filter f = {.n = 0};
    begin(&f);
    answer_calls(&f, allowed, N_ALLOWED, SECCOMP_RET_ALLOW);
    answer_calls(&f, of_files, sizeof of_files / sizeof of_files[0], SECCOMP_RET_ALLOW);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install(&f);
}

static const int of_sockets[] = {
    SYS_sendto, SYS_recvfrom, SYS_sendmsg,   SYS_shutdown,
    SYS_close,  SYS_ppoll,    SYS_getrandom,
#if defined(SYS_poll)
    SYS_poll,
#endif
};

bool kiln_confine_sockets(void) {
    filter f = {.n = 0};
    begin(&f);
    answer_calls(&f, allowed, N_ALLOWED, SECCOMP_RET_ALLOW);
    answer_calls(&f, of_sockets, sizeof of_sockets / sizeof of_sockets[0],
                 SECCOMP_RET_ALLOW);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install(&f);
}

static void on_trap(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    _exit(info->si_syscall == SYS_getppid ? 0 : 2);
}

/* In a child: confined, then a call that is not on the list. */
static void try_it(void) {
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    (void)sigaction(SIGSYS, &action, NULL);
    if (!kiln_confine(-1))
        _exit(1);
    (void)syscall(SYS_getppid);
    _exit(3);
}

bool kiln_confine_works(char why[KILN_CONFINE_TEXT]) {
    int status = 0;
    const pid_t pid = fork();
    why[0] = '\0';
    if (pid == 0)
        try_it();
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    (void)snprintf(why, KILN_CONFINE_TEXT, "%s",
                   pid < 0 ? strerror(errno)
                   : WIFEXITED(status) && WEXITSTATUS(status) == 1
                       ? "the system refuses a seccomp filter"
                       : "the system's seccomp does not do what its filter says");
    return false;
}

#else

bool kiln_confine(int descriptor) {
    (void)descriptor;
    errno = ENOSYS;
    return false;
}

bool kiln_confine_room_to(const kiln_confine_room *room) {
    (void)room;
    errno = ENOSYS;
    return false;
}

bool kiln_confine_files(void) {
    errno = ENOSYS;
    return false;
}

bool kiln_confine_sockets(void) {
    errno = ENOSYS;
    return false;
}

bool kiln_confine_works(char why[KILN_CONFINE_TEXT]) {
    (void)snprintf(why, KILN_CONFINE_TEXT, "this is a build for a sanitizer");
    return false;
}

#endif

/* ---- names ----------------------------------------------------------------------- */

/* What code that does not only compute would call. */
static const struct {
    long number;
    const char *name;
} names[] = {
#define NAME(x)                                                                        \
    { SYS_##x, #x }
    NAME(read),
    NAME(write),
    NAME(openat),
    NAME(close),
    NAME(mmap),
    NAME(mprotect),
    NAME(munmap),
    NAME(mremap),
    NAME(brk),
    NAME(madvise),
    NAME(clone),
    NAME(execve),
    NAME(execveat),
    NAME(kill),
    NAME(tkill),
    NAME(tgkill),
    NAME(getpid),
    NAME(getppid),
    NAME(socket),
    NAME(connect),
    NAME(bind),
    NAME(listen),
    NAME(accept),
    NAME(sendto),
    NAME(sendmsg),
    NAME(recvfrom),
    NAME(socketpair),
    NAME(unlinkat),
    NAME(renameat2),
    NAME(linkat),
    NAME(symlinkat),
    NAME(mkdirat),
    NAME(truncate),
    NAME(ftruncate),
    NAME(fallocate),
    NAME(fchmod),
    NAME(fchmodat),
    NAME(fchownat),
    NAME(ioctl),
    NAME(fcntl),
    NAME(dup),
    NAME(dup3),
    NAME(pipe2),
    NAME(ptrace),
    NAME(prctl),
    NAME(setsid),
    NAME(setpgid),
    NAME(setuid),
    NAME(setgid),
    NAME(setrlimit),
    NAME(prlimit64),
    NAME(rt_sigaction),
    NAME(rt_sigprocmask),
    NAME(sigaltstack),
    NAME(nanosleep),
    NAME(clock_nanosleep),
    NAME(setitimer),
    NAME(timer_create),
    NAME(sched_setaffinity),
    NAME(sched_setscheduler),
    NAME(setpriority),
    NAME(mount),
    NAME(umount2),
    NAME(chroot),
    NAME(chdir),
    NAME(unshare),
    NAME(setns),
    NAME(memfd_create),
    NAME(process_vm_readv),
    NAME(process_vm_writev),
    NAME(pidfd_open),
    NAME(shmget),
    NAME(shmat),
    NAME(mq_open),
    NAME(inotify_init1),
    NAME(bpf),
    NAME(perf_event_open),
    NAME(userfaultfd),
    NAME(reboot),
    NAME(seccomp),
    NAME(personality),
    NAME(init_module),
    NAME(add_key),
    NAME(keyctl),
    NAME(utimensat),
    NAME(setxattr),
    NAME(sync),
    NAME(exit),
    NAME(exit_group),
    NAME(getrandom),
#if defined(SYS_open)
    NAME(open),
    NAME(creat),
    NAME(unlink),
    NAME(rename),
    NAME(link),
    NAME(symlink),
    NAME(mkdir),
    NAME(rmdir),
    NAME(chmod),
    NAME(chown),
    NAME(fork),
    NAME(vfork),
    NAME(pipe),
    NAME(dup2),
    NAME(mknod),
    NAME(pause),
#endif
#if defined(SYS_alarm)
    NAME(alarm),
#endif
#if defined(SYS_clone3)
    NAME(clone3),
#endif
#if defined(SYS_io_uring_setup)
    NAME(io_uring_setup),
#endif
#undef NAME
};

const char *kiln_system_call_name(long number, char text[KILN_CONFINE_TEXT]) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    (void)snprintf(text, KILN_CONFINE_TEXT, "system call %ld", number);
    return text;
}
