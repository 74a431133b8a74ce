#include "runtime/device/gpu_graph.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIFFERENT = 4, LEAST_LAUNCHES = 2, MOST_LAUNCHES = 1 << 16 };

typedef struct launch {
    const kiln_gpu_handle *handle;
    void **operand; /* of n_operands */
    uint32_t n_operands;
    uint32_t tag;
} launch;

/* Launches that nothing parts. */
typedef struct stretch {
    uint32_t first, end;
    void *graph; /* NULL: too few */
} stretch;

typedef enum mode { COUNTING, NOTING, REPLAYING, GIVEN_UP } mode;

struct kiln_gpu_graphs {
    mode mode;
    char in_run;
    char differs;  /* this run: the rest is told as ever */
    char is_stale; /* its launches were others */
    int n_different;
    const char *why;     /* there are none; NULL: there may be */
    uint64_t n_replayed; /* launches, by graphs */
    /* What was counted in a run, or is noted and replayed so far: */
    uint32_t n_launches, n_operands, n_stretches;
    uint32_t first; /* of the stretch at hand */
    /* What was noted: */
    launch *launch;
    void **operand;
    stretch *stretch;
    uint32_t most_launches, most_operands, most_stretches; /* room */
    uint64_t ticket;                                       /* of what is put off */
    uint32_t n_put_off;
};

static void enter(kiln_gpu_queue *q) {
    if (q->device->driver->enter != NULL)
        q->device->driver->enter(q->device);
}

static void leave(kiln_gpu_queue *q) {
    if (q->device->driver->leave != NULL)
        q->device->driver->leave(q->device);
}

static kiln_gpu_graphs *of(const kiln_gpu_queue *q) { return q->graphs; }

/* ---- memory ----------------------------------------------------------------------- */

static void release_graphs(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    for (uint32_t i = 0; g->stretch != NULL && i < g->most_stretches; i++) {
        if (g->stretch[i].graph != NULL)
            q->device->driver->release_graph(q, g->stretch[i].graph);
        g->stretch[i].graph = NULL;
    }
}

static void release_notes(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    kiln_device *d = &q->device->base;
    release_graphs(q);
    kiln_cpu_release(d, 0, g->launch);
    kiln_cpu_release(d, 0, g->operand);
    kiln_cpu_release(d, 0, g->stretch);
    g->launch = NULL;
    g->operand = NULL;
    g->stretch = NULL;
    g->most_launches = g->most_operands = g->most_stretches = 0;
}

/* Room for as much as a run had. */
static int take_notes(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    kiln_device *d = &q->device->base;
    release_notes(q);
    g->launch = kiln_cpu_alloc(d, 0, g->n_launches * sizeof *g->launch);
    g->operand = kiln_cpu_alloc(d, 0, (g->n_operands + 1) * sizeof *g->operand);
    g->stretch = kiln_cpu_alloc(d, 0, g->n_stretches * sizeof *g->stretch);
    if (g->launch == NULL || g->operand == NULL || g->stretch == NULL) {
        release_notes(q);
        return -1;
    }
    memset(g->stretch, 0, g->n_stretches * sizeof *g->stretch);
    g->most_launches = g->n_launches;
    g->most_operands = g->n_operands;
    g->most_stretches = g->n_stretches;
    return 0;
}

int kiln_gpu_graphs_are_here(const kiln_gpu_queue *q) {
    const char *wanted = getenv("KILN_GPU_GRAPHS");
    const kiln_gpu_driver *driver = q->device->driver;
    return driver->begin_graph != NULL &&
           (driver->has_graphs == NULL || driver->has_graphs(q->device)) &&
           (wanted == NULL || strcmp(wanted, "0") != 0);
}

kiln_gpu_graphs *kiln_gpu_graphs_open(kiln_gpu_queue *q) {
    if (q->is_timed || !kiln_gpu_graphs_are_here(q))
        return NULL;
    kiln_gpu_graphs *g = kiln_cpu_alloc(&q->device->base, 0, sizeof *g);
    if (g != NULL)
        memset(g, 0, sizeof *g);
    return g;
}

void kiln_gpu_graphs_close(kiln_gpu_queue *q) {
    if (of(q) == NULL)
        return;
    release_notes(q);
    kiln_cpu_release(&q->device->base, 0, q->graphs);
    q->graphs = NULL;
}

static void give_up(kiln_gpu_queue *q, const char *why) {
    release_notes(q);
    of(q)->mode = GIVEN_UP;
    of(q)->why = why;
}

/* ---- runs ------------------------------------------------------------------------- */

static void start_over(kiln_gpu_graphs *g) {
    g->n_launches = g->n_operands = g->n_stretches = g->first = 0;
    g->differs = 0;
}

/* Launches up to here, if there are any, are a stretch. */
static void end_stretch(kiln_gpu_graphs *g) {
    if (g->first == g->n_launches)
        return;
    if (g->mode == NOTING && !g->differs) {
        if (g->n_stretches < g->most_stretches)
            g->stretch[g->n_stretches] = (stretch){g->first, g->n_launches, NULL};
        else
            g->differs = 1;
    }
    g->n_stretches++;
    g->first = g->n_launches;
}

static void note(kiln_gpu_graphs *g, const kiln_device_launch *l) {
    if (g->n_launches >= g->most_launches ||
        l->n_operands > g->most_operands - g->n_operands) {
        g->differs = 1;
        return;
    }
    launch *n = &g->launch[g->n_launches];
    *n = (launch){l->kernel.handle, g->operand + g->n_operands, l->n_operands, l->tag};
    for (uint32_t i = 0; i < l->n_operands; i++)
        n->operand[i] = l->operand[i];
}

void kiln_gpu_graphs_note(kiln_gpu_queue *q, const kiln_device_launch *l) {
    kiln_gpu_graphs *g = of(q);
    if (g == NULL || !g->in_run || g->mode >= REPLAYING || g->differs)
        return;
    if (g->mode == NOTING)
        note(g, l);
    g->n_launches++;
    g->n_operands += l->n_operands;
}

/* ---- replaying -------------------------------------------------------------------- */

static int is_as_noted(const launch *n, const kiln_device_launch *l) {
    if (n->handle != l->kernel.handle || n->n_operands != l->n_operands)
        return 0;
    for (uint32_t i = 0; i < l->n_operands; i++)
        if (n->operand[i] != l->operand[i])
            return 0;
    return 1;
}

/* Those that were put off, one by one. */
static void tell_put_off(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    const uint32_t n = g->n_put_off;
    int code = 0;
    g->n_put_off = 0;
    for (uint32_t i = g->n_launches - n; i < g->n_launches && code == 0; i++) {
        kiln_gpu_queue_set_tag(q, g->ticket, g->launch[i].tag);
        code = kiln_gpu_queue_tell(q, g->launch[i].handle, g->launch[i].operand);
    }
    kiln_gpu_queue_end_ticket(q, g->ticket, code);
}

void kiln_gpu_graphs_cut(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    if (g == NULL || !g->in_run)
        return;
    if (g->n_put_off > 0) {
        enter(q);
        tell_put_off(q);
        leave(q);
        g->differs = 1; /* who looks on has it so; the graphs stay */
    }
    if (g->mode < REPLAYING)
        end_stretch(g);
}

static int put_off(kiln_gpu_queue *q, const stretch *s, uint64_t *ticket) {
    kiln_gpu_graphs *g = of(q);
    const launch *n = &g->launch[g->n_launches];
    if (g->n_put_off == 0)
        g->ticket = kiln_gpu_queue_begin_ticket(q, n->tag);
    *ticket = g->ticket;
    g->n_put_off++;
    if (++g->n_launches < s->end)
        return 1;
    g->n_replayed += g->n_put_off;
    g->n_put_off = 0;
    g->n_stretches++;
    kiln_gpu_queue_set_tag(q, g->ticket, n->tag);
    kiln_gpu_queue_end_ticket(q, g->ticket, q->device->driver->run_graph(q, s->graph));
    return 1;
}

int kiln_gpu_graphs_replay(kiln_gpu_queue *q, const kiln_device_launch *l,
                           uint64_t *ticket) {
    kiln_gpu_graphs *g = of(q);
    if (g == NULL || !g->in_run || g->mode != REPLAYING || g->differs)
        return 0;
    if (q->has_failed || g->n_launches == g->most_launches ||
        !is_as_noted(&g->launch[g->n_launches], l)) {
        g->is_stale = !q->has_failed;
        if (g->n_put_off > 0)
            tell_put_off(q);
        g->differs = 1;
        return 0;
    }
    const stretch *s = &g->stretch[g->n_stretches];
    if (s->graph != NULL)
        return put_off(q, s, ticket);
    if (++g->n_launches == s->end)
        g->n_stretches++;
    return 0;
}

/* ---- making them ------------------------------------------------------------------ */

static int make_graph(kiln_gpu_queue *q, stretch *s) {
    const kiln_gpu_driver *driver = q->device->driver;
    const kiln_gpu_graphs *g = of(q);
    int code = driver->begin_graph(q);
    if (code != 0)
        return code;
    for (uint32_t i = s->first; i < s->end && code == 0; i++)
        code = kiln_gpu_queue_tell(q, g->launch[i].handle, g->launch[i].operand);
    const int ended = driver->end_graph(q, code == 0 ? &s->graph : NULL);
    return code != 0 ? code : ended;
}

/* All stretches, or none. */
static void make_graphs(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    int n = 0;
    for (uint32_t i = 0; i < g->n_stretches; i++) {
        stretch *s = &g->stretch[i];
        if (s->end - s->first < LEAST_LAUNCHES)
            continue;
        const int code = make_graph(q, s);
        if (code != 0) {
            const char *why = q->device->driver->why(code);
            give_up(q, why != NULL ? why : "the driver makes no graph of them");
            return;
        }
        n++;
    }
    g->mode = n > 0 ? REPLAYING : COUNTING; /* each by itself: somebody looked on */
}

static void end_noting(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    const int is_whole = !g->differs && g->n_launches == g->most_launches &&
                         g->n_operands == g->most_operands &&
                         g->n_stretches == g->most_stretches;
    if (is_whole)
        make_graphs(q);
    else
        g->mode = COUNTING;
}

static void end_counting(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    if (g->n_launches < LEAST_LAUNCHES)
        return;
    if (g->n_launches > MOST_LAUNCHES || take_notes(q) != 0)
        give_up(q, "there is no memory for a graph");
    else
        g->mode = NOTING;
}

/* The operations noted were others: all again, a few times. */
static void end_replaying(kiln_gpu_queue *q) {
    kiln_gpu_graphs *g = of(q);
    if (!g->is_stale)
        return;
    g->is_stale = 0;
    if (++g->n_different >= MOST_DIFFERENT) {
        give_up(q, "runs differ from one another");
        return;
    }
    release_graphs(q);
    g->mode = COUNTING;
}

void kiln_gpu_queue_begin_run(kiln_device_queue *base) {
    kiln_gpu_graphs *g = of((kiln_gpu_queue *)base);
    if (g == NULL)
        return;
    start_over(g);
    g->in_run = 1;
}

void kiln_gpu_queue_end_run(kiln_device_queue *base) {
    kiln_gpu_queue *q = (kiln_gpu_queue *)base;
    kiln_gpu_graphs *g = of(q);
    if (g == NULL || !g->in_run || g->mode == GIVEN_UP)
        return;
    kiln_gpu_graphs_cut(q);
    g->in_run = 0;
    if ((g->mode == REPLAYING && !g->is_stale) || q->has_failed)
        return;
    /* Graphs are made and released while the stream does nothing. */
    enter(q);
    if (q->device->driver->drain(q) == 0) {
        if (g->mode == COUNTING)
            end_counting(q);
        else if (g->mode == NOTING)
            end_noting(q);
        else
            end_replaying(q);
    }
    leave(q);
}

uint64_t kiln_gpu_queue_n_replayed(kiln_device_queue *base, const char **why) {
    const kiln_gpu_graphs *g = of((kiln_gpu_queue *)base);
    *why = g == NULL ? "it has no graphs" : g->why;
    return g == NULL ? 0 : g->n_replayed;
}
