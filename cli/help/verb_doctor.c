/* kiln doctor: is this machine fit to run kiln, and what would kiln see of it? */
#include "cli/help/verb_doctor.h"
#include "packager/packager.h"
#include "pipeline/devices/devices.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { OPT_JSON, OPT_DB, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_JSON] = {"--json", "FILE", "write the findings as JSON ('-': standard output)",
                  false},
    [OPT_DB] = {"--db", "FILE", "the tuning database ($KILN_DB)", false},
};

static const char *const level_word[] = {[GOOD] = "ok", [NOTE] = "note", [BAD] = "bad"};

void doctor_add(findings *f, const char *name, level l, const char *text,
                const char *remedy) {
    const finding item = {name, l, text, remedy};
    kiln_vec_push(f->arena, &f->list, item);
}

static bool has_word(const char *list, const char *word) {
    kiln_str rest = kiln_str_from(list), w;
    while (kiln_str_cut(&rest, ' ', &w))
        if (kiln_str_is(w, word))
            return true;
    return false;
}

static void check_cpu(findings *f) {
    struct utsname u;
    if (uname(&u) != 0)
        memset(&u, 0, sizeof u);
    const char *model = kiln_proc_value(f->arena, "/proc/cpuinfo", "model name");
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    doctor_add(f, "cpu", GOOD,
               kiln_format(f->arena, "%s, %s, %ld core%s online",
                           u.machine[0] != '\0' ? u.machine : "unknown architecture",
                           model != NULL ? model : "model unknown", cores,
                           kiln_plural(cores)),
               NULL);
    if (strcmp(u.machine, "x86_64") != 0)
        return;
    const char *flags = kiln_proc_value(f->arena, "/proc/cpuinfo", "flags");
    static const char *const wanted[] = {"avx2", "fma", "avx512f", "avx512_vnni",
                                         "avx512_bf16"};
    kiln_buf text;
    kiln_buf_init(&text, f->arena);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        kiln_buf_printf(&text, "%s%s%s", i > 0 ? " " : "",
                        flags != NULL && has_word(flags, wanted[i]) ? "+" : "-",
                        wanted[i]);
    doctor_add(f, "vector extensions", GOOD, text.p, NULL);
}

/* Below these a note appears: large models need about this much. */
static const int64_t low_memory_kib = INT64_C(1024) * 1024;
static const uint64_t low_disk_mib = 256, bytes_per_mib = UINT64_C(1) << 20;

static void check_memory(findings *f) {
    const char *total = kiln_proc_value(f->arena, "/proc/meminfo", "MemTotal");
    const char *available = kiln_proc_value(f->arena, "/proc/meminfo", "MemAvailable");
    kiln_str number = kiln_str_from(available), head;
    int64_t kib = 0;
    const bool known = available != NULL && kiln_str_cut(&number, ' ', &head) &&
                       kiln_parse_i64(head, &kib);
    const bool low = known && kib < low_memory_kib;
    doctor_add(f, "memory", low ? NOTE : GOOD,
               kiln_format(f->arena, "%s in all, %s available",
                           total != NULL ? total : "unknown",
                           available != NULL ? available : "unknown"),
               low ? "large models need more than 1 GiB: close other programs" : NULL);
}

static void check_disk(findings *f) {
    struct statvfs v;
    if (statvfs(".", &v) != 0) {
        doctor_add(f, "disk", BAD, "the working folder cannot be looked at",
                   "run kiln in a folder that you may read");
        return;
    }
    const uint64_t mib = (uint64_t)v.f_bavail * v.f_frsize / bytes_per_mib;
    const bool writable = access(".", W_OK) == 0;
    doctor_add(f, "disk", !writable || mib < low_disk_mib ? NOTE : GOOD,
               kiln_format(f->arena, "%llu MiB free here, folder is %swritable",
                           (unsigned long long)mib, writable ? "" : "not "),
               !writable ? "reports need -o or --json with a path that can be written"
               : mib < low_disk_mib ? "free some space: packages and reports go to disk"
                                    : NULL);
}

static void check_clock(findings *f) {
    const int64_t begin = kiln_now_ns();
    int64_t step = 0;
    while (step == 0)
        step = kiln_now_ns() - begin;
    doctor_add(
        f, "clock", step < 10000 ? GOOD : NOTE,
        kiln_format(f->arena, "monotonic, steps of %lld ns or less", (long long)step),
        step < 10000 ? NULL : "short kernels are measured in longer batches");
}

/* Everything but building works without it. */
static void check_linker(findings *f) {
    kiln_err why = {0};
    const char *version = NULL;
    if (kiln_package_linker(f->arena, &version, &why) == KILN_OK)
        doctor_add(f, "linker", GOOD, version, NULL);
    else
        doctor_add(f, "linker", NOTE, "packages cannot be built",
                   kiln_str_dup(f->arena, why.text));
}

static void check_operators(findings *f) {
    doctor_add(f, "operators", GOOD,
               kiln_format(f->arena, "%d in the table; frontends: onnx", KILN_N_OPS),
               NULL);
}

/* What candidates of a search can do to this machine. */
static void check_confinement(findings *f) {
    char why[KILN_CONFINE_TEXT];
    const int landlock = kiln_confine_paths_version();
    if (kiln_confine_works(why))
        doctor_add(f, "confinement", GOOD,
                   kiln_format(f->arena,
                               "seccomp: candidates of a search make no system calls%s",
                               landlock > 0 ? "; Landlock" : ""),
                   NULL);
    else
        doctor_add(
            f, "confinement", NOTE,
            kiln_format(f->arena, "candidates of a search are not confined: %s", why),
            "tune what you trust only, as a user of its own; in a container, allow "
            "seccomp");
}

/* Which of the shipped profiles each device runs; where none, what is missing. */
static void check_devices(findings *f) {
    const kiln_device *d = NULL;
    const kiln_profile *p = NULL;
    for (int i = 0; (d = kiln_device_at(i)) != NULL; i++) {
        kiln_buf text;
        const char *missing = NULL;
        bool runs = false;
        kiln_buf_init(&text, f->arena);
        for (int k = 0; (p = kiln_profile_at(k)) != NULL; k++) {
            if (!d->can_run(d, f->arena, p, &missing))
                continue;
            kiln_buf_printf(&text, "%s%s", runs ? ", " : "runs packages for ", p->name);
            runs = true;
        }
        doctor_add(f, kiln_format(f->arena, "device %s", d->name), runs ? GOOD : NOTE,
                   runs ? text.p : "runs none of the shipped profiles",
                   runs ? NULL : missing);
    }
}

static void write_json(const findings *f, bool good, kiln_buf *out) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_bool(&w, "ok", good);
    kiln_json_name(&w, "findings");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < f->list.n; i++) {
        const finding *x = &f->list.v[i];
        kiln_json_begin_object(&w);
        kiln_json_member_str(&w, "name", x->name);
        kiln_json_member_str(&w, "level", level_word[x->level]);
        kiln_json_member_str(&w, "text", x->text);
        kiln_json_member_str(&w, "remedy", x->remedy);
        kiln_json_end_object(&w);
    }
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    findings f = {.arena = args->arena};
    check_cpu(&f);
    check_memory(&f);
    check_disk(&f);
    check_clock(&f);
    check_linker(&f);
    check_confinement(&f);
    check_operators(&f);
    check_devices(&f);
    doctor_measuring(&f);
    doctor_machine(&f);
    doctor_installed(&f, args, OPT_DB);

    bool good = true;
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    for (size_t i = 0; i < f.list.n; i++) {
        const finding *x = &f.list.v[i];
        good = good && x->level != BAD;
        kiln_buf_printf(&answer.text, "%-4s  %s: %s\n", level_word[x->level], x->name,
                        x->text);
        if (x->remedy != NULL)
            kiln_buf_printf(&answer.text, "      %s\n", x->remedy);
    }
    write_json(&f, good, &answer.json);
    KILN_TRY(kiln_cli_answer_give(&answer, args, OPT_JSON, err));
    *exit_code = good ? KILN_EXIT_OK : KILN_EXIT_ENVIRONMENT;
    return KILN_OK;
}

const kiln_verb kiln_verb_doctor = {
    .name = "doctor",
    .summary = "check this machine: processor, memory, disk, devices, quiet, database",
    .usage = "[options]",
    .example = "  kiln doctor\n  kiln doctor --json -\n",
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
