#include "tests/support/measuring/slurm_cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host/child.h"

enum { CONTROLLER = 0, N_DAEMONS = KILN_TEST_SLURM_NODES + 1 };

static const char *folder; /* NULL: not started */
static kiln_child daemon_of[N_DAEMONS];
static pid_t owner;

/* Nobody listens there now. */
static int free_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void write_conf(const char *path) {
    kiln_err err = {0};
    kiln_buf text;
    kiln_process_result who = kiln_test_shell("id -un; uname -n");
    kiln_str rest = who.out, user = {"", 0}, host = {"", 0};
    assert_true(kiln_str_cut(&rest, '\n', &user));
    (void)kiln_str_cut(&rest, '\n', &host);
    kiln_buf_init(&text, kiln_test_arena());
    kiln_buf_printf(
        &text,
        "ClusterName=kiln\nSlurmctldHost=%.*s(127.0.0.1)\nSlurmctldPort=%d\n"
        "AuthType=auth/none\nCredType=cred/none\nSlurmUser=%.*s\nSlurmdUser=%.*s\n"
        "StateSaveLocation=%s/state\nSlurmdSpoolDir=%s/spool-%%n\n"
        "SlurmctldPidFile=%s/controller.pid\nSlurmdPidFile=%s/%%n.pid\n"
        "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n"
        "SwitchType=switch/none\nSchedulerType=sched/builtin\n"
        "SelectType=select/cons_res\nSelectTypeParameters=CR_CPU\n"
        "JobAcctGatherType=jobacct_gather/none\n"
        "AccountingStorageType=accounting_storage/none\n"
        "SchedulerParameters=batch_sched_delay=0,sched_interval=2\n"
        "SlurmdTimeout=5\nSlurmctldTimeout=10\nKillWait=2\nMinJobAge=3600\n"
        "ReturnToService=2\nSlurmdParameters=config_overrides\n"
        "CommunicationParameters=NoAddrCache\n",
        KILN_STR_ARG(host), free_port(), KILN_STR_ARG(user), KILN_STR_ARG(user), folder,
        folder, folder, folder);
    for (int k = 1; k < N_DAEMONS; k++)
        kiln_buf_printf(&text,
                        "NodeName=n%d NodeHostname=%.*s NodeAddr=127.0.0.1 Port=%d "
                        "CPUs=4 State=UNKNOWN\n",
                        k, KILN_STR_ARG(host), free_port());
    kiln_buf_printf(&text,
                    "PartitionName=main Nodes=n[1-%d] Default=YES MaxTime=INFINITE "
                    "State=UP\n",
                    KILN_TEST_SLURM_NODES);
    kiln_assert_status_ok(kiln_file_write(path, text.p, text.n, &err), &err);
}

static void start(int k, const char *command) {
    kiln_err err = {0};
    const kiln_cpus any = {0};
    const char *const argv[] = {"/bin/sh", "-c",
                                kiln_format(kiln_test_arena(),
                                            "exec %s >%s/daemon-%d.log 2>&1", command,
                                            folder, k),
                                NULL};
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &daemon_of[k], &err), &err);
}

/* Has the process this word in its environment, or such a beginning of one? */
static bool has_word(kiln_str environ_text, const char *word) {
    kiln_str rest = environ_text, one;
    while (kiln_str_cut(&rest, '\0', &one))
        if (kiln_str_starts(one, word))
            return true;
    return false;
}

static kiln_str read_of(kiln_arena *a, const char *pid, const char *name) {
    enum { MOST = 256 * 1024 };
    char *text = kiln_array(a, char, MOST);
    FILE *in = fopen(kiln_format(a, "/proc/%s/%s", pid, name), "r");
    const size_t n = in != NULL ? fread(text, 1, MOST - 1, in) : 0;
    if (in != NULL)
        (void)fclose(in);
    return (kiln_str){text, n};
}

/* "PID (NAME) STATE PARENT ..." */
static void kill_step_above(kiln_arena *a, const char *pid) {
    const kiln_str stat = read_of(a, pid, "stat");
    const char *at = strrchr(stat.p, ')');
    const long up = at != NULL && strlen(at) > 4 ? strtol(at + 4, NULL, 10) : 0;
    const char *parent = kiln_format(a, "%ld", up);
    if (up > 1 && kiln_str_starts(read_of(a, parent, "comm"), "slurmstepd"))
        kill((pid_t)up, SIGKILL);
}

/* Everything that says in its environment that it is of ours, and of that node (0: of
 * any), and the daemons of steps, which are the parents. */
static void kill_processes(int node) {
    kiln_arena a = {0};
    kiln_err err = {0};
    char **name = NULL;
    size_t n = 0;
    const char *conf = kiln_format(&a, "SLURM_CONF=%s/", folder);
    const char *which = kiln_format(&a, "SLURMD_NODENAME=n%d", node);
    if (kiln_dir_list(&a, "/proc", &name, &n, &err) != KILN_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        const long pid = strtol(name[i], NULL, 10);
        const kiln_str env =
            pid > 1 ? read_of(&a, name[i], "environ") : (kiln_str){"", 0};
        if (pid == getpid() || !has_word(env, conf) ||
            !has_word(env, node > 0 ? which : "SLURMD_NODENAME="))
            continue;
        kill_step_above(&a, name[i]);
        kill((pid_t)pid, SIGKILL);
    }
    kiln_arena_fini(&a);
}

static void stop_at_end(void) {
    bool by_itself = false;
    int status = 0;
    if (getpid() != owner)
        return;
    for (int k = N_DAEMONS - 1; k >= 0; k--)
        if (daemon_of[k].pid != 0)
            kiln_child_end(&daemon_of[k], &by_itself, &status);
    kill_processes(0);
}

void kiln_test_slurm(void) {
    kiln_process_result r;
    if (folder != NULL)
        return;
    r = kiln_test_shell("PATH=$PATH:/usr/sbin:/sbin;"
                        "command -v slurmctld && command -v slurmd && command -v sbatch"
                        " && slurmd -V");
    if (r.code != 0)
        kiln_test_skip("Slurm is not installed (apt install slurmctld slurmd "
                       "slurm-client)");
    folder = kiln_test_dir();
    owner = getpid();
    const char *conf = kiln_path_join(kiln_test_arena(), folder, "slurm.conf");
    write_conf(conf);
    setenv("SLURM_CONF", conf, 1);
    setenv("PATH", kiln_format(kiln_test_arena(), "%s:/usr/sbin:/sbin", getenv("PATH")),
           1);
    atexit(stop_at_end);
    (void)kiln_test_shell(kiln_format(kiln_test_arena(), "mkdir %s/state", folder));
    start(CONTROLLER, "slurmctld -D");
    for (int k = 1; k < N_DAEMONS; k++)
        start(k, kiln_format(kiln_test_arena(), "slurmd -D -N n%d", k));
    for (int64_t ms = 0; ms < KILN_TEST_PATIENCE_MS; ms += 200) {
        r = kiln_test_shell("sinfo -h -N -t idle -o %N | wc -l");
        if (r.code == 0 && strtol(r.out.p, NULL, 10) == KILN_TEST_SLURM_NODES)
            return;
        for (int k = 0; k < N_DAEMONS; k++)
            if (waitpid(daemon_of[k].pid, NULL, WNOHANG) != 0) {
                daemon_of[k].pid = 0;
                fail_msg("a daemon ended: %s",
                         kiln_test_shell(kiln_format(kiln_test_arena(),
                                                     "tail -n 3 %s/daemon-%d.log",
                                                     folder, k))
                             .out.p);
            }
        poll(NULL, 0, 200);
    }
    fail_msg("the nodes of '%s' do not come up: %s", conf, r.err.p);
}

void kiln_test_slurm_kill_node(int k) {
    bool by_itself = false;
    int status = 0;
    kiln_child_end(&daemon_of[k], &by_itself, &status);
    assert_false(by_itself);
    kill_processes(k);
}

bool kiln_test_slurm_is_busy(int k) {
    const kiln_process_result r = kiln_test_shell(
        kiln_format(kiln_test_arena(), "squeue -h -t running -w n%d -o %%i", k));
    return r.code == 0 && r.out.n > 0;
}
