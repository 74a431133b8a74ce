/* Traffic of a launch in the interpreter, counted as a GPU has it: the threads of a warp
 * make an access together, global memory comes in sectors of 32 bytes, shared memory
 * out of 32 banks of 4 bytes each (NVIDIA, CUDA C++ Best Practices Guide, 9.2.1 and
 * 9.2.3).
 *
 * Threads run one after another here, so the n-th time that one comes to an access
 * between two barriers belongs to the n-th of the others. */
#include "compiler/loop/loop_threads.h"

#include <stdlib.h>

enum { SECTOR = 32, WORD = 4, BANKS = 32, AT_ONCE = BANKS * WORD /* bytes */ };

/* One element. */
typedef struct note {
    const void *site;
    const kiln_buffer *buffer;
    int64_t turn;
    int thread;
    int64_t byte; /* of the buffer, that it begins at */
} note;

typedef struct turn {
    const void *site;
    int64_t n;
} turn;

struct kiln_noter {
    kiln_arena arena; /* of what is not added up yet */
    KILN_VEC(note) note;
    KILN_VEC(turn) turn; /* of the thread that runs */
};

struct kiln_noter *kiln_noter_new(kiln_interp *in) {
    const kiln_traffic *t = in->options != NULL ? in->options->traffic : NULL;
    KILN_ASSERT(t == NULL || t->arena != in->arena,
                "traffic is kept in the arena that the run rewinds");
    return t != NULL ? kiln_new(in->arena, struct kiln_noter) : NULL;
}

void kiln_noter_end(struct kiln_noter *n) {
    if (n == NULL)
        return;
    kiln_arena_fini(&n->arena);
    *n = (struct kiln_noter){.note = {0}};
}

void kiln_noter_thread(struct kiln_noter *n) {
    if (n != NULL)
        n->turn.n = 0;
}

int64_t kiln_traffic_turn(kiln_interp *in, const void *site) {
    struct kiln_noter *n = in->launch != NULL ? in->launch->noter : NULL;
    if (n == NULL)
        return -1;
    for (size_t i = 0; i < n->turn.n; i++)
        if (n->turn.v[i].site == site)
            return n->turn.v[i].n++;
    kiln_vec_push(&n->arena, &n->turn, ((turn){site, 1}));
    return 0;
}

void kiln_traffic_note(kiln_interp *in, const void *site, int64_t number,
                       const kiln_interp_memory *m, int64_t at) {
    const kiln_buffer *b = m->buffer;
    if (number < 0 || (b->scope != KILN_SCOPE_GLOBAL && b->scope != KILN_SCOPE_SHARED))
        return;
    struct kiln_noter *n = in->launch->noter;
    kiln_vec_push(&n->arena, &n->note,
                  ((note){site, b, number, in->launch->self,
                          at * (int64_t)kiln_dtype_bytes(b->dtype)}));
}

/* ---- adding up ------------------------------------------------------------------- */

static int compare_i64(int64_t x, int64_t y) { return (x > y) - (x < y); }

static int by_access(const void *x, const void *y) {
    const note *a = x, *b = y;
    int c = compare_i64((int64_t)(uintptr_t)a->site, (int64_t)(uintptr_t)b->site);
    c = c != 0 ? c : compare_i64(a->turn, b->turn);
    c = c != 0 ? c : compare_i64(a->thread, b->thread);
    return c != 0 ? c : compare_i64(a->byte, b->byte);
}

static int by_value(const void *x, const void *y) {
    return compare_i64(*(const int64_t *)x, *(const int64_t *)y);
}

static int64_t unique(int64_t *v, int64_t n) {
    int64_t k = 0;
    qsort(v, (size_t)n, sizeof *v, by_value);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || v[i] != v[k - 1])
            v[k++] = v[i];
    return k;
}

static kiln_buffer_traffic *traffic_of(kiln_traffic *t, const kiln_buffer *b) {
    for (size_t i = 0; i < t->of.n; i++)
        if (t->of.v[i].buffer == b)
            return &t->of.v[i];
    kiln_vec_push(t->arena, &t->of, ((kiln_buffer_traffic){.buffer = b}));
    return &t->of.v[t->of.n - 1];
}

/* Sectors that n elements lie in; what they need at least. */
static void add_sectors(kiln_buffer_traffic *t, const note *v, int64_t n,
                        int64_t *scratch) {
    const int64_t bytes = (int64_t)kiln_dtype_bytes(t->buffer->dtype);
    for (int64_t i = 0; i < n; i++)
        scratch[i] = v[i].byte;
    t->least += (unique(scratch, n) * bytes + SECTOR - 1) / SECTOR;
    for (int64_t i = 0; i < n; i++)
        scratch[i] = v[i].byte / SECTOR;
    t->transactions += unique(scratch, n);
}

/* Turns of the banks for n elements at once: different words of a bank come one after
 * another. */
static int64_t bank_turns(const note *v, int64_t n, int64_t *scratch) {
    int64_t of[BANKS] = {0}, most = 1;
    for (int64_t i = 0; i < n; i++)
        scratch[i] = v[i].byte / WORD;
    n = unique(scratch, n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t turns = ++of[scratch[i] % BANKS];
        most = turns > most ? turns : most;
    }
    return most;
}

/* Wide accesses are made by as many threads at a time as fill the banks. */
static void add_banks(kiln_buffer_traffic *t, const note *v, int64_t n, int warp,
                      int64_t *scratch) {
    int64_t of_thread = 1, most = 1;
    for (int64_t i = 1; i < n; i++) {
        of_thread = v[i].thread == v[i - 1].thread ? of_thread + 1 : 1;
        most = of_thread > most ? of_thread : most;
    }
    const int64_t bytes = most * (int64_t)kiln_dtype_bytes(t->buffer->dtype);
    const int64_t together = bytes < AT_ONCE ? AT_ONCE / bytes : 1;
    for (int64_t i = 0, k; i < n; i = k) {
        for (k = i;
             k < n && v[k].thread % warp / together == v[i].thread % warp / together;)
            k++;
        t->transactions += bank_turns(v + i, k - i, scratch);
        t->least++;
    }
}

void kiln_noter_add_up(kiln_launch *l) {
    struct kiln_noter *n = l->noter;
    if (n == NULL || n->note.n == 0)
        return;
    kiln_traffic *t = l->in->options->traffic;
    const int warp = t->warp > 0 ? t->warp : 1;
    const int64_t n_notes = (int64_t)n->note.n;
    const note *v = n->note.v;
    int64_t *scratch = kiln_array(&n->arena, int64_t, n_notes);
    qsort(n->note.v, n->note.n, sizeof *n->note.v, by_access);
    for (int64_t i = 0, k; i < n_notes; i = k) {
        for (k = i; k < n_notes && v[k].site == v[i].site && v[k].turn == v[i].turn &&
                    v[k].thread / warp == v[i].thread / warp;)
            k++;
        kiln_buffer_traffic *of = traffic_of(t, v[i].buffer);
        of->accesses++;
        of->elements += k - i;
        if (of->buffer->scope == KILN_SCOPE_SHARED)
            add_banks(of, v + i, k - i, warp, scratch);
        else
            add_sectors(of, v + i, k - i, scratch);
    }
    kiln_noter_end(n);
}
