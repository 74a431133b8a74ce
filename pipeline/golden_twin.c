#include "pipeline/golden_twin.h"

#include <string.h>

static bool agrees(int64_t given, int64_t declared) {
    return declared < 0 || given == declared;
}

bool kiln_golden_is_turned(const kiln_type *last, int rank, const int64_t *first) {
    bool is_same = true;
    if (last->rank != rank || rank < 3 || !agrees(last->dim[0], first[0]) ||
        !agrees(last->dim[rank - 1], first[1]))
        return false;
    for (int i = 2; i < rank; i++)
        if (!agrees(last->dim[i - 1], first[i]))
            return false;
    for (int i = 1; i < rank; i++)
        is_same = is_same && agrees(last->dim[i], first[i]);
    return !is_same;
}

kiln_tensor kiln_golden_turn(kiln_arena *a, const kiln_tensor *t, bool to_first) {
    const int rank = t->type.rank;
    const int64_t *const d = t->type.dim;
    const size_t size = kiln_dtype_bytes(t->type.dtype);
    KILN_ASSERT(rank >= 3, "a tensor of rank %d has no place for channels", rank);
    const int64_t channels = d[to_first ? rank - 1 : 1];
    int64_t dim[KILN_MAX_RANK] = {d[0]}, places = 1;
    for (int i = 2; i < rank; i++) {
        dim[to_first ? i : i - 1] = d[to_first ? i - 1 : i];
        places *= d[to_first ? i - 1 : i];
    }
    dim[to_first ? 1 : rank - 1] = channels;
    const kiln_type type = kiln_type_make(t->type.dtype, rank, dim);
    const kiln_tensor out = kiln_tensor_new(a, &type);
    const int64_t n_from = to_first ? places : channels,
                  n_to = to_first ? channels : places;
    for (int64_t n = 0; n < d[0]; n++)
        for (int64_t i = 0; i < n_from; i++)
            for (int64_t k = 0; k < n_to; k++)
                memcpy((char *)out.data + (size_t)((n * n_to + k) * n_from + i) * size,
                       (const char *)t->data +
                           (size_t)((n * n_from + i) * n_to + k) * size,
                       size);
    return out;
}
