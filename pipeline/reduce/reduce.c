/* The search: moves one kind after another, each as long as it helps, in rounds until
 * none does. */
#include "pipeline/reduce/reduce_internal.h"

#include <inttypes.h>
#include <string.h>

/* What gets smaller, the first first. */
enum { NODES, PORTS, NUMBERS, ELEMS, TEXT, N_SIZES };
typedef struct size {
    int64_t of[N_SIZES];
} size;

typedef struct best {
    kiln_graph *g; /* NULL: none yet */
    kiln_str text;
    size size;
} best;

typedef struct reducer {
    kiln_asker q;
    kiln_arena arena[2]; /* of the best graph, and of the next candidate */
    int at;              /* which is the best one's */
    best best;
    kiln_err *err;
} reducer;

static kiln_arena *next_arena(reducer *r) { return &r->arena[1 - r->at]; }

/* ---- size ------------------------------------------------------------------------ */

static int64_t number(int64_t v) {
    const int64_t most = 1000;
    return v < -most || v > most ? most : v < 0 ? -v : v;
}

static int64_t attr_size(const kiln_attr_def *def, const kiln_attr *a) {
    int64_t n = 0;
    switch (def->kind) {
    case KILN_ATTR_INT:
        return number(a->i);
    case KILN_ATTR_INTS:
        for (size_t i = 0; i < a->n; i++)
            n += number(a->ints[i]);
        return n;
    case KILN_ATTR_BOOL:
    case KILN_ATTR_WORD:
        return a->i != def->default_i;
    case KILN_ATTR_FLOAT:
        return a->f < def->default_f || a->f > def->default_f;
    case KILN_ATTR_DTYPE:
    case KILN_ATTR_FLOATS:
    case KILN_ATTR_WORDS:
    case KILN_ATTR_GRAPH:
        break;
    }
    return 0;
}

static void add_elems(size *s, const kiln_type *t) {
    const int64_t n = kiln_type_elems(t);
    s->of[ELEMS] = s->of[ELEMS] > INT64_MAX - n ? INT64_MAX : s->of[ELEMS] + n;
}

static void add_graph(const kiln_graph *g, size *s) {
    s->of[NODES] += (int64_t)g->nodes.n;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (size_t k = 0; k < n->op->n_attr; k++) {
            s->of[NUMBERS] += attr_size(&n->op->attr[k], &n->attr[k]);
            if (n->op->attr[k].kind == KILN_ATTR_GRAPH && n->attr[k].graph != NULL)
                add_graph(n->attr[k].graph, s);
        }
    }
}

static size size_of(const kiln_graph *g, kiln_str text) {
    size s = {{0}};
    add_graph(g, &s);
    s.of[PORTS] = (int64_t)g->outputs.n;
    for (size_t i = 0; i < g->values.n; i++) {
        s.of[PORTS] += g->values.v[i]->def == NULL;
        add_elems(&s, &g->values.v[i]->type);
    }
    s.of[TEXT] = (int64_t)text.n;
    return s;
}

static bool is_smaller(const size *a, const size *b) {
    for (int i = 0; i < N_SIZES; i++)
        if (a->of[i] != b->of[i])
            return a->of[i] < b->of[i];
    return false;
}

/* ---- candidates ------------------------------------------------------------------ */

static kiln_str print(kiln_arena *a, const kiln_graph *g) {
    const kiln_print_options o = {.n_random = KILN_REDUCE_SEEDS};
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_graph_print(&text, g, &o);
    return kiln_buf_str(&text);
}

static void tell(const reducer *r) {
    const kiln_reduce_options *o = r->q.o;
    const kiln_reduce_state s = {.n_nodes = (size_t)r->best.size.of[NODES],
                                 .n_elems = r->best.size.of[ELEMS],
                                 .n_asked = r->q.n_asked,
                                 .seconds =
                                     (double)(kiln_now_ns() - r->q.begin_ns) * 1e-9};
    if (o->progress != NULL)
        o->progress(o->user, &s);
}

/* Takes the candidate, which is in the next arena, where it fails and is smaller. */
static kiln_status consider(reducer *r, kiln_graph *g, bool *taken) {
    kiln_graph_renumber(g);
    best next = {.g = g, .text = print(next_arena(r), g)};
    next.size = size_of(g, next.text);
    *taken = false;
    if (r->best.g != NULL && !is_smaller(&next.size, &r->best.size))
        return KILN_OK;
    KILN_TRY(kiln_ask(&r->q, next.text, taken, r->err));
    if (*taken) {
        r->best = next;
        r->at = 1 - r->at;
    }
    if (r->best.g != NULL)
        tell(r);
    return KILN_OK;
}

/* What was edited, as whoever reads its text has it: nothing of it is the best graph's,
 * which may go. */
static kiln_status consider_edit(reducer *r, const kiln_edit *e, bool *taken) {
    kiln_arena *a = next_arena(r);
    kiln_graph *built = kiln_edit_apply(e), *g = NULL;
    kiln_status st = KILN_OK;
    *taken = false;
    if (built != NULL &&
        kiln_graph_parse(a, print(e->arena, built), NULL, &g, NULL) == KILN_OK)
        st = consider(r, g, taken);
    kiln_arena_reset(next_arena(r));
    return st;
}

/* Number i of the move. */
static kiln_status step(reducer *r, const kiln_move *m, size_t i,
                        kiln_move_answer *answer, bool *taken) {
    kiln_arena scratch = {0};
    kiln_edit e;
    kiln_status st = KILN_OK;
    *taken = false;
    kiln_edit_init(&e, &scratch, r->best.g);
    *answer = m->make(&e, i);
    if (*answer == KILN_MOVE_EDIT)
        st = consider_edit(r, &e, taken);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status run_move(reducer *r, const kiln_move *m, bool *any) {
    kiln_move_answer answer = KILN_MOVE_NOTHING;
    bool taken = false;
    for (size_t i = 0; answer != KILN_MOVE_END && !kiln_asker_is_over(&r->q);) {
        KILN_TRY(step(r, m, i, &answer, &taken));
        *any = *any || taken;
        i += !taken; /* what follows moved up */
    }
    return KILN_OK;
}

/* What the passes make of it is often smaller: constants are folded. */
static kiln_status run_passes(reducer *r, bool *any) {
    kiln_graph *g = NULL;
    bool taken = false;
    int64_t elems = 0;
    for (size_t i = 0; i < r->best.g->values.n; i++)
        if (r->best.g->values.v[i]->data != NULL)
            elems += kiln_type_elems(&r->best.g->values.v[i]->type);
    if (elems > 1 << 20 || kiln_asker_is_over(&r->q))
        return KILN_OK;
    kiln_status st = kiln_ask_passes(&r->q, next_arena(r), r->best.text, &g, r->err);
    if (st == KILN_OK && g != NULL)
        st = consider(r, g, &taken);
    *any = *any || taken;
    kiln_arena_reset(next_arena(r));
    return st;
}

static kiln_status search(reducer *r) {
    bool any = true;
    while (any && !kiln_asker_is_over(&r->q)) {
        any = false;
        KILN_TRY(run_passes(r, &any));
        for (size_t i = 0; kiln_moves[i] != NULL; i++)
            KILN_TRY(run_move(r, kiln_moves[i], &any));
    }
    return KILN_OK;
}

/* ---- the first candidate --------------------------------------------------------- */

static bool is_bulk(const kiln_value *v) {
    enum { MANY_INTS = 1 << 16 };
    const kiln_dtype t = v->type.dtype;
    const bool may_be_indices =
        t == KILN_I64 || t == KILN_I32 || t == KILN_U64 || t == KILN_BOOL;
    const int64_t n = kiln_type_elems(&v->type);
    return v->data != NULL &&
           n > (may_be_indices ? (int64_t)MANY_INTS : (int64_t)KILN_REDUCE_FEW_ELEMS);
}

static int64_t constant_bytes(const kiln_graph *g) {
    int64_t bytes = 0;
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.v[i]->data != NULL)
            bytes += kiln_type_bytes(&g->values.v[i]->type);
    return bytes;
}

/* Constants that do not matter are random, as many as a text may have; the others come
 * from outside. */
static void forget_constants(kiln_edit *e) {
    enum { MOST_BYTES = 128 << 20 };
    int64_t bytes = 0;
    for (size_t i = 0; i < e->g->values.n; i++) {
        const kiln_value *v = e->g->values.v[i];
        if (!is_bulk(v))
            continue;
        const int64_t own = kiln_type_bytes(&v->type);
        if (own > MOST_BYTES - bytes) {
            e->value[i].fate = KILN_EDIT_INPUT;
            continue;
        }
        bytes += own;
        e->value[i].seed = i % KILN_REDUCE_SEEDS + 1;
    }
}

/* The graph with random constants, or with its own. */
static kiln_status start(reducer *r, const kiln_graph *g, bool is_random) {
    kiln_arena scratch = {0};
    kiln_edit e;
    bool taken = false;
    kiln_graph *numbered = kiln_graph_clone(&scratch, g);
    kiln_graph_renumber(numbered);
    kiln_edit_init(&e, &scratch, numbered);
    if (is_random)
        forget_constants(&e);
    const kiln_status st = consider_edit(r, &e, &taken);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status find_start(reducer *r, const kiln_graph *g) {
    enum { MOST_BYTES = 16 << 20 };
    KILN_TRY(start(r, g, true));
    if (r->best.g != NULL || kiln_asker_is_over(&r->q))
        return KILN_OK;
    if (constant_bytes(g) > MOST_BYTES)
        return kiln_fail(
            r->err, KILN_ERR_LIMIT,
            "the failure is gone with other constants, and %" PRId64
            " bytes of them are more than a graph's text should hold (%d); "
            "reduce a smaller model of the kind",
            constant_bytes(g), MOST_BYTES);
    return start(r, g, false);
}

kiln_status kiln_reduce(kiln_arena *a, const kiln_graph *imported,
                        const kiln_reduce_options *o, kiln_reduced *out,
                        kiln_err *err) {
    reducer r = {.err = err};
    *out = (kiln_reduced){.message = ""};
    KILN_TRY(kiln_asker_init(&r.q, a, o, err));
    kiln_status st = find_start(&r, imported);
    if (st == KILN_OK && r.best.g != NULL)
        st = search(&r);
    /* An end that was asked for keeps what there is. */
    if (st != KILN_OK && kiln_interrupted() && r.best.g != NULL)
        st = KILN_OK;
    if (st == KILN_OK && r.best.g != NULL) {
        out->is_reproduced = true;
        out->is_finished = !kiln_asker_is_over(&r.q);
        out->message = r.q.message;
        out->text = (kiln_str){kiln_str_dupv(a, r.best.text), r.best.text.n};
        out->state = (kiln_reduce_state){(size_t)r.best.size.of[NODES],
                                         r.best.size.of[ELEMS], r.q.n_asked,
                                         (double)(kiln_now_ns() - r.q.begin_ns) * 1e-9};
    }
    kiln_arena_fini(&r.arena[0]);
    kiln_arena_fini(&r.arena[1]);
    return st;
}

/* ---- the file -------------------------------------------------------------------- */

const char *kiln_reduced_command(kiln_arena *a, const kiln_reduce_options *o,
                                 const char *path) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_puts(&b, "kiln build");
    kiln_buf_put_word(&b, path);
    for (size_t i = 0; i < o->n_options; i++)
        kiln_buf_put_word(&b, o->option[i]);
    return kiln_buf_str(&b).p;
}

kiln_status kiln_reduced_write(const kiln_reduced *r, const kiln_reduce_options *o,
                               const char *path, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf b;
    kiln_buf_init(&b, &scratch);
    kiln_buf_printf(&b, "# %s\n# %s\n", kiln_reduced_command(&scratch, o, path),
                    r->message);
    kiln_buf_puts(&b, r->text.p);
    const kiln_status st = kiln_file_write(path, kiln_buf_str(&b).p, b.n, err);
    kiln_arena_fini(&scratch);
    return st;
}
