/* kiln doctor: what makes measurements noisy, and what is there besides kiln. */
#include "cli/help/verb_doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/options/db_option.h"
#include "pipeline/baselines/baselines.h"
#include "tuning_db/tuning_db.h"

/* The first line of a small file of the system's; NULL: there is none. */
static const char *line_of(kiln_arena *a, const char *path) {
    char line[256];
    FILE *in = fopen(path, "r"); /* such files cannot be mapped */
    if (in == NULL)
        return NULL;
    const char *got = fgets(line, sizeof line, in);
    (void)fclose(in);
    return got == NULL ? NULL : kiln_str_dupv(a, kiln_str_trim(kiln_str_from(line)));
}

static void check_governor(findings *f) {
    const char *governor =
        line_of(f->arena, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if (governor == NULL) {
        doctor_add(f, "governor", GOOD, "none to be seen: the clock is not ours to set",
                   NULL);
        return;
    }
    const bool is_steady = strcmp(governor, "performance") == 0;
    doctor_add(f, "governor", is_steady ? GOOD : NOTE,
               kiln_str_printable(f->arena, kiln_str_from(governor), 64),
               is_steady ? NULL
                         : "the clock follows the load: before measuring, as root, "
                           "'cpupower frequency-set -g performance'");
}

static void check_siblings(findings *f) {
    const char *active = line_of(f->arena, "/sys/devices/system/cpu/smt/active");
    const bool is_on = active != NULL && strcmp(active, "1") == 0;
    doctor_add(f, "SMT", is_on ? NOTE : GOOD,
               active == NULL ? "not known"
               : is_on        ? "on: two processors share a core"
                              : "off",
               is_on ? "measure with as many threads as there are cores, and nothing "
                       "else at work"
                     : NULL);
}

/* Processes that want to run, of the last minute (proc(5), loadavg). */
static void check_load(findings *f) {
    static const double quiet = 0.5;
    const char *line = line_of(f->arena, "/proc/loadavg");
    kiln_str rest = kiln_str_from(line != NULL ? line : ""), word;
    double load = 0;
    if (!kiln_str_cut(&rest, ' ', &word) || !kiln_parse_f64(word, &load)) {
        doctor_add(f, "load", GOOD, "not known", NULL);
        return;
    }
    const bool is_quiet = load <= quiet;
    doctor_add(f, "load", is_quiet ? GOOD : NOTE,
               kiln_format(f->arena, "%.2f of %ld processors wanted by others", load,
                           sysconf(_SC_NPROCESSORS_ONLN)),
               is_quiet ? NULL
                        : "times are noisy now: end other programs before measuring");
}

void doctor_measuring(findings *f) {
    check_governor(f);
    check_siblings(f);
    check_load(f);
}

/* ---- what is there --------------------------------------------------------------- */

/* What there is to compare with, and how old it is; one that is absent is no fault. */
static void check_baselines(findings *f) {
    const char *dir = "";
    kiln_err why = {0};
    if (kiln_baselines_dir(f->arena, &dir, &why) != KILN_OK) {
        doctor_add(f, "baselines", NOTE, kiln_str_dup(f->arena, why.text), NULL);
        return;
    }
    for (int i = 0; kiln_baseline_at(i) != NULL; i++) {
        const kiln_baseline *b = kiln_baseline_at(i);
        const char *name = kiln_format(f->arena, "baseline %s", b->name);
        kiln_baseline_here here = {.version = NULL};
        kiln_err_clear(&why);
        if (b->find(b, f->arena, dir, &here, &why) != KILN_OK)
            doctor_add(f, name, NOTE, "is broken", kiln_str_dup(f->arena, why.text));
        else if (here.is_here)
            doctor_add(f, name, GOOD,
                       kiln_format(f->arena, "%s, for %s", here.version,
                                   kiln_baseline_runs(b)),
                       here.hint);
        else
            doctor_add(f, name, NOTE, "is not here", here.remedy);
    }
}

void doctor_installed(findings *f, const kiln_cli_args *args, int db_option) {
    static const kiln_db_options reads = {.read_only = true, .busy_ms = 2000};
    const char *path = NULL;
    kiln_db *db = NULL;
    kiln_db_stats s;
    kiln_err why = {.status = KILN_OK};
    check_baselines(f);
    kiln_status st = kiln_cli_db_path(args, db_option, false, &path, &why);
    const char *file = st == KILN_OK ? kiln_db_file(path) : NULL;
    if (file != NULL && !kiln_file_exists(file)) {
        doctor_add(f, "tuning database", NOTE,
                   kiln_format(f->arena, "there is none yet at '%s'", path),
                   "'kiln tune MODEL' makes it");
        return;
    }
    if (st == KILN_OK)
        st = kiln_db_open(f->arena, path, &reads, &db, &why);
    if (st == KILN_OK)
        st = kiln_db_stats_of(db, f->arena, &s, &why);
    if (st == KILN_OK)
        doctor_add(f, "tuning database", GOOD,
                   kiln_format(f->arena, "'%s': %lld trial%s of %lld task%s",
                               kiln_db_path(db), (long long)s.n_trials,
                               kiln_plural(s.n_trials), (long long)s.n_tasks,
                               kiln_plural(s.n_tasks)),
                   NULL);
    else
        doctor_add(f, "tuning database", NOTE, "it cannot be read",
                   kiln_str_dup(f->arena, why.text));
    kiln_db_close(db);
}
