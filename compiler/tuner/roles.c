/* Magnitudes, and what accesses of one role touch. */
#include "compiler/tuner/roles.h"

#include <math.h>

float kiln_magnitude(double x) { return x >= 1 ? log2f((float)x) : 0; }

float kiln_step_magnitude(int64_t step) {
    return step == 0 ? 0 : 1 + kiln_magnitude(fabs((double)step));
}

void kiln_role_uses(kiln_arena *scratch, const kiln_nest *k, int role,
                    kiln_role_use *out) {
    const size_t n_loops = k->loops.n, n_buffers = k->buffers.n;
    const bool in_bytes = role == KILN_ROLE_ALL || role == KILN_ROLE_REGISTERS;
    double *by_buffer = kiln_array(scratch, double, n_loops *n_buffers);
    for (size_t i = 0; i < n_loops; i++)
        out[i] = (kiln_role_use){0};
    for (size_t i = 0; i < k->accesses.n; i++) {
        const kiln_nest_access *x = &k->accesses.v[i];
        if ((x->roles >> role & 1) == 0)
            continue;
        const kiln_nest_stmt *s = &k->stmts.v[x->stmt];
        const double size = in_bytes ? (double)kiln_dtype_bytes(x->buffer->dtype) : 1;
        for (int l = s->loop; l >= 0; l = k->loops.v[l].parent) {
            const double touched = x->touched[k->loops.v[l].depth] * size;
            double *most = &by_buffer[(size_t)l * n_buffers + (size_t)x->buffer_id];
            out[l].touched += touched > *most ? touched - *most : 0;
            *most = touched > *most ? touched : *most;
            out[l].accesses += s->runs / k->loops.v[l].topdown * size;
        }
    }
}

double kiln_role_bytes(const kiln_nest *k, int role) {
    double sum = 0;
    for (size_t b = 0; b < k->buffers.n; b++) {
        double most = 0;
        for (size_t i = 0; i < k->accesses.n; i++) {
            const kiln_nest_access *x = &k->accesses.v[i];
            if ((x->roles >> role & 1) != 0 && x->buffer_id == (int)b)
                most = fmax(most, x->touched[0]);
        }
        sum += most * (double)kiln_dtype_bytes(k->buffers.v[b]->dtype);
    }
    return sum;
}
