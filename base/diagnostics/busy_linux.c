/* Who had the processors: see busy.h. Linux, for /proc (proc(5): /proc/uptime,
 * /proc/stat, /proc/pid/stat).
 *
 * A process has used its own time and that of children that ended and were waited for;
 * what such a child had used at the first moment is in both, and is taken off. */
#include "base/diagnostics/busy.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/files.h"
#include "base/core/core.h"

typedef struct process {
    int64_t pid, parent;
    uint64_t start;       /* with the number: one process of this boot */
    double own, children; /* ticks */
    bool is_ours;         /* of the second moment */
    const char *name;
} process;

struct kiln_busy {
    double now_s; /* since the system began */
    double ticks_per_s, processors;
    double busy, stolen;       /* ticks of all processors */
    KILN_VEC(process) process; /* by number */
};

/* ---- one moment ------------------------------------------------------------------ */

/* Files of /proc have no size. False: it is gone. */
static bool read_text(const char *path, char *text, size_t bytes) {
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    const size_t n = fread(text, 1, bytes - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    return n > 0;
}

/* "12345.67 ...": seconds. */
static bool read_time(kiln_busy *b, const char *path) {
    char text[128];
    kiln_str rest, word;
    if (!read_text(path, text, sizeof text))
        return false;
    rest = kiln_str_from(text);
    return kiln_str_cut(&rest, ' ', &word) && kiln_parse_f64(word, &b->now_s);
}

/* "cpu  user nice system idle iowait irq softirq steal guest ...", then "cpu0 ...". */
static bool read_all(kiln_busy *b, const char *path) {
    enum { TEXT = 64 * 1024, N_FIELDS = 8, IDLE = 3, IO_WAIT = 4, STEAL = 7 };
    char *text = malloc(TEXT);
    kiln_str rest, line;
    bool is_there = text != NULL && read_text(path, text, TEXT);
    rest = kiln_str_from(is_there ? text : "");
    while (kiln_str_cut(&rest, '\n', &line) && kiln_str_starts(line, "cpu")) {
        kiln_str word;
        int field = -1;
        const bool is_sum = kiln_str_starts(line, "cpu ");
        b->processors += is_sum ? 0 : 1;
        while (is_sum && field < N_FIELDS && kiln_str_cut(&line, ' ', &word)) {
            int64_t v = 0;
            if (word.n == 0 || (field++ >= 0 && !kiln_parse_i64(word, &v)))
                continue;
            if (field > 0 && field - 1 == STEAL)
                b->stolen = (double)v;
            else if (field > 0 && field - 1 < N_FIELDS && field - 1 != IDLE &&
                     field - 1 != IO_WAIT)
                b->busy += (double)v;
        }
    }
    free(text);
    return is_there && b->processors > 0;
}

/* Numbers from field 4 on, behind the name, which may hold anything. */
static bool read_process(kiln_arena *a, const char *proc, const char *pid,
                         process *out) {
    enum { PARENT = 4, USER = 14, SYSTEM, CHILD_USER, CHILD_SYSTEM, START = 22 };
    char path[512], text[2048];
    (void)snprintf(path, sizeof path, "%s/%s/stat", proc, pid);
    if (!read_text(path, text, sizeof text))
        return false;
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    process p = {.pid = 0};
    if (begin == NULL || end == NULL || end[1] != ' ' || end[2] == '\0' ||
        end[3] != ' ' || !kiln_parse_i64(kiln_str_from(pid), &p.pid))
        return false;
    kiln_str rest = kiln_str_from(end + 4), word;
    for (int field = PARENT; field <= START; field++) {
        int64_t v = 0;
        if (!kiln_str_cut(&rest, ' ', &word) || !kiln_parse_i64(word, &v))
            return false;
        p.parent = field == PARENT ? v : p.parent;
        p.start = field == START ? (uint64_t)v : p.start;
        p.own += field == USER || field == SYSTEM ? (double)v : 0;
        p.children += field == CHILD_USER || field == CHILD_SYSTEM ? (double)v : 0;
    }
    p.name =
        kiln_str_printable(a, (kiln_str){begin + 1, (size_t)(end - begin - 1)}, 32);
    *out = p;
    return true;
}

static int by_number(const void *x, const void *y) {
    const process *p = x, *q = y;
    return (p->pid > q->pid) - (p->pid < q->pid);
}

const kiln_busy *kiln_busy_now(kiln_arena *a, const char *proc) {
    const char *folder = proc != NULL ? proc : "/proc";
    kiln_busy *b = kiln_new(a, kiln_busy);
    *b = (kiln_busy){.ticks_per_s = (double)sysconf(_SC_CLK_TCK)};
    if (!read_time(b, kiln_path_join(a, folder, "uptime")) ||
        !read_all(b, kiln_path_join(a, folder, "stat")))
        return NULL;
    DIR *d = opendir(folder);
    if (d == NULL)
        return NULL;
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        process p;
        if (isdigit((unsigned char)e->d_name[0]) &&
            read_process(a, folder, e->d_name, &p))
            kiln_vec_push(a, &b->process, p);
    }
    (void)closedir(d);
    if (b->process.n > 1)
        qsort(b->process.v, b->process.n, sizeof b->process.v[0], by_number);
    return b;
}

/* ---- between two ----------------------------------------------------------------- */

static process *find(const kiln_busy *b, int64_t pid) {
    const process key = {.pid = pid};
    return b->process.n == 0
               ? NULL
               : bsearch(&key, b->process.v, b->process.n, sizeof key, by_number);
}

static const process *same(const kiln_busy *b, const process *p) {
    const process *q = find(b, p->pid);
    return q != NULL && q->start == p->start ? q : NULL;
}

/* Its ancestors lead to `own`. A chain is no longer than there are processes. */
static bool descends(const kiln_busy *b, const process *p, int64_t own) {
    for (size_t i = 0; p != NULL && i <= b->process.n; i++) {
        if (p->pid == own)
            return true;
        p = find(b, p->parent);
    }
    return false;
}

typedef struct sums {
    kiln_arena *arena;
    KILN_VEC(kiln_busy_row) row; /* processors are ticks here */
} sums;

static void add(sums *s, const char *name, double ticks) {
    for (size_t i = 0; i < s->row.n; i++)
        if (strcmp(s->row.v[i].name, name) == 0) {
            s->row.v[i].processors += ticks;
            s->row.v[i].n++;
            return;
        }
    const kiln_busy_row row = {kiln_str_dup(s->arena, name), 1, ticks};
    kiln_vec_push(s->arena, &s->row, row);
}

/* What those of p's descendants had used before that are gone since, and whose parents
 * are, up to p: whoever waited for them has it now. A chain is no longer than there are
 * processes. */
static double known_before(const kiln_busy *before, const kiln_busy *after,
                           const process *p) {
    double ticks = 0;
    for (size_t i = 0; i < before->process.n; i++) {
        const process *q = &before->process.v[i], *up = q;
        for (size_t k = 0; up != NULL && up->pid != p->pid && k < before->process.n;
             k++)
            up = same(after, up) == NULL ? find(before, up->parent) : NULL;
        if (up != NULL && up->pid == p->pid && q != up)
            ticks += q->own + q->children;
    }
    return ticks;
}

static double ticks_of(const kiln_busy *before, const kiln_busy *after,
                       const process *p) {
    const process *was = same(before, p);
    double children = p->children - (was != NULL ? was->children : 0);
    if (children > 0)
        children = fmax(0, children - known_before(before, after, p));
    return fmax(0, p->own - (was != NULL ? was->own : 0)) + children;
}

static int by_ticks(const void *x, const void *y) {
    const kiln_busy_row *p = x, *q = y;
    return p->processors != q->processors ? (p->processors < q->processors ? 1 : -1)
                                          : strcmp(p->name, q->name);
}

void kiln_busy_between(kiln_arena *a, const kiln_busy *before, const kiln_busy *after,
                       int64_t own, kiln_busy_report *out) {
    static const double least = 0.01;
    kiln_busy_report r = {.seconds = 0};
    sums all = {.arena = a};
    double ours = 0, theirs = 0;
    *out = r;
    if (before == NULL || after == NULL || !(after->now_s > before->now_s))
        return;
    r.seconds = after->now_s - before->now_s;
    r.processors = after->processors;
    const double ticks = r.seconds * after->ticks_per_s; /* of one processor */
    for (size_t i = 0; i < after->process.n; i++) {
        const process *p = &after->process.v[i];
        const double t = ticks_of(before, after, p);
        if (descends(after, p, own)) {
            ours += t;
            continue;
        }
        theirs += t;
        if (t > 0)
            add(&all, p->name, t);
    }
    /* The system's sum is exact; of processes that came and went the parts may not be.
     */
    const double rest = fmax(0, after->busy - before->busy - ours);
    const double scale = theirs > rest ? rest / theirs : 1;
    r.hypervisor = fmax(0, (after->stolen - before->stolen) / ticks);
    r.unseen = fmax(0, rest - theirs) / ticks;
    r.taken = rest / ticks + r.hypervisor;
    if (all.row.n > 1)
        qsort(all.row.v, all.row.n, sizeof all.row.v[0], by_ticks);
    for (size_t i = 0; i < all.row.n && r.n < KILN_BUSY_MOST; i++) {
        all.row.v[i].processors *= scale / ticks;
        if (all.row.v[i].processors >= least)
            r.row[r.n++] = all.row.v[i];
    }
    *out = r;
}

/* ---- as text --------------------------------------------------------------------- */

static void put_part(kiln_buf *out, const char **comma, const char *name, double v) {
    static const double least = 0.01;
    if (v < least)
        return;
    kiln_buf_printf(out, "%s%s %.2f", *comma, name, v);
    *comma = ", ";
}

const char *kiln_busy_text(kiln_arena *a, const kiln_busy_report *r) {
    static const double least = 0.01;
    const char *comma = ": ";
    kiln_buf out;
    if (!(r->processors > 0) || r->taken < least)
        return NULL;
    kiln_buf_init(&out, a);
    kiln_buf_printf(&out, "others took %.2f of %.0f processors", r->taken,
                    r->processors);
    for (size_t i = 0; i < r->n; i++) {
        put_part(&out, &comma, r->row[i].name, r->row[i].processors);
        if (r->row[i].n > 1)
            kiln_buf_printf(&out, " (%d processes)", r->row[i].n);
    }
    put_part(&out, &comma, "what is not seen from here", r->unseen);
    put_part(&out, &comma, "the hypervisor", r->hypervisor);
    return out.p;
}
