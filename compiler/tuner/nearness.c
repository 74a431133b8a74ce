/* How near two works are: a lesson counts the more, the nearer it is. */
#include "compiler/tuner/tuner_transfer.h"

#include <math.h>
#include <string.h>

static double log_of(double v) { return v > 1 ? log2(v) : 0; }

static double elements(const kiln_value *v) {
    double n = 1;
    for (int i = 0; v != NULL && i < v->type.rank; i++)
        n *= (double)v->type.dim[i];
    return n;
}

/* Behind the first two dimensions: pixels of images, of kernels. */
static double area(const kiln_value *v) {
    double n = 1;
    for (int i = 2; v != NULL && i < v->type.rank; i++)
        n *= (double)v->type.dim[i];
    return n;
}

static double dim(const kiln_value *v, int i) {
    return v != NULL && i < v->type.rank ? (double)v->type.dim[i] : 1;
}

void kiln_setting_of(const kiln_tune_task *t, int threads, kiln_setting *out) {
    const kiln_node *n = t->work->anchor;
    const kiln_value *x = n->n_in > 0 ? n->in[0] : NULL,
                     *w = n->n_in > 1 ? n->in[1] : x;
    const kiln_profile *p = t->profile;
    const kiln_core *c = &p->core;
    const double sizes[KILN_N_SETTING] = {elements(x),
                                          area(x),
                                          elements(w),
                                          area(w),
                                          dim(w, 0),
                                          dim(w, 1),
                                          elements(n->out[0]),
                                          threads > 0 ? (double)threads : 1,
                                          (double)p->vector_bytes,
                                          (double)p->vector_registers,
                                          (double)p->l1d_bytes,
                                          (double)p->l2_bytes,
                                          (double)c->fma_ports * c->fma_latency,
                                          (double)c->load_ports,
                                          (double)c->l2_rate,
                                          (double)c->memory_rate};
    *out = (kiln_setting){.op = n->op->name, .tmpl = t->tmpl->name};
    for (int i = 0; i < KILN_N_SETTING; i++)
        out->at[i] = log_of(sizes[i]);
}

double kiln_nearness(const kiln_setting *x, const kiln_setting *y) {
    static const double least = 0.125, steepness = 0.5;
    double squares = 0;
    for (int i = 0; i < KILN_N_SETTING; i++)
        squares += (x->at[i] - y->at[i]) * (x->at[i] - y->at[i]);
    const int others = (strcmp(x->op, y->op) != 0) + (strcmp(x->tmpl, y->tmpl) != 0);
    return fmax(least, exp2(-steepness * (sqrt(squares) + others)));
}
