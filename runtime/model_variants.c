/* A model for several shapes: which there are, and which one fits. */
#include <stdio.h>
#include <string.h>

#include "runtime/model_internal.h"

int kiln_model_n_variants(const kiln_model *m) { return 1 + m->n_siblings; }

const kiln_model *kiln_model_variant(const kiln_model *m, int i) {
    if (i < 0 || i > m->n_siblings)
        return NULL;
    return i == 0 ? m : m->sibling[i - 1];
}

static int same_port(const kiln_port_info *x, const kiln_port_info *y) {
    return strcmp(x->name, y->name) == 0 && strcmp(x->dtype, y->dtype) == 0;
}

int kiln_model_is_like(const kiln_model *m, const kiln_model *other) {
    const int n = kiln_model_n_inputs(m), n_out = kiln_model_n_outputs(m);
    kiln_port_info x, y;
    int same = n == kiln_model_n_inputs(other) && n_out == kiln_model_n_outputs(other);
    for (int i = 0; same && i < n; i++)
        same = kiln_model_input(m, i, &x) == 0 && kiln_model_input(other, i, &y) == 0 &&
               same_port(&x, &y);
    for (int i = 0; same && i < n_out; i++)
        same = kiln_model_output(m, i, &x) == 0 &&
               kiln_model_output(other, i, &y) == 0 && same_port(&x, &y);
    return same;
}

static int takes(const kiln_model *m, const kiln_shape *shape, int n) {
    kiln_port_info p;
    int same = n == kiln_model_n_inputs(m);
    for (int i = 0; same && i < n; i++)
        same = kiln_model_input(m, i, &p) == 0 && p.rank == shape[i].rank &&
               memcmp(p.dim, shape[i].dim, (size_t)p.rank * sizeof p.dim[0]) == 0;
    return same;
}

/* ---- what there is ---------------------------------------------------------------- */

/* A text that is cut where there is no more room. */
typedef struct line {
    char *text;
    size_t n;
} line;

static void put(line *l, const char *what) {
    const size_t room = KILN_ERROR_TEXT - 1 - l->n, all = strlen(what);
    const size_t n = all < room ? all : room;
    memcpy(l->text + l->n, what, n);
    l->n += n;
    l->text[l->n] = '\0';
}

static void put_shape(line *l, int rank, const int64_t *dim) {
    char number[32];
    for (int i = 0; i < rank && i < KILN_PORT_MAX_RANK; i++) {
        snprintf(number, sizeof number, "%s%lld", i > 0 ? "x" : "", (long long)dim[i]);
        put(l, number);
    }
    put(l, rank == 0 ? "()" : "");
}

/* "ids 1x128, mask 1x128" */
static void put_model(line *l, const kiln_model *m) {
    kiln_port_info p;
    for (int i = 0; kiln_model_input(m, i, &p) == 0; i++) {
        put(l, i > 0 ? ", " : "");
        put(l, p.name);
        put(l, " ");
        put_shape(l, p.rank, p.dim);
    }
}

int kiln_model_find_variant(const kiln_model *m, const kiln_shape *shape, int n,
                            char error[KILN_ERROR_TEXT]) {
    line l = {error, 0};
    for (int i = 0; i <= m->n_siblings; i++)
        if (takes(kiln_model_variant(m, i), shape, n))
            return i;
    put(&l, "no variant takes ");
    for (int i = 0; i < n; i++) {
        put(&l, i > 0 ? ", " : "");
        put_shape(&l, shape[i].rank, shape[i].dim);
    }
    put(&l, "; there are: ");
    for (int i = 0; i <= m->n_siblings; i++) {
        put(&l, i > 0 ? "; " : "");
        put_model(&l, kiln_model_variant(m, i));
    }
    return -1;
}
