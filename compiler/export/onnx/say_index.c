/* Operators that choose elements by indices. */
#include "compiler/export/onnx/say_ops.h"

#include <string.h>

/* Gather and GatherElements. */
kiln_status kiln_say_op_gather(kiln_say *s, const kiln_node *n) {
    const char *const index = kiln_say_index_in(s, 1);
    kiln_say_begin(s, kiln_say_row_of(n->op)->onnx, KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, index);
    kiln_say_own_attrs(s);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

/* Coordinates, which ONNX has as i64 only. */
static const char *coordinates(kiln_say *s) {
    const char *const x = kiln_say_in(s, 1);
    return kiln_say_in_type(s, 1)->dtype == KILN_I64
               ? x
               : kiln_say_cast(s, x, KILN_I64, NULL);
}

kiln_status kiln_say_op_gather_nd(kiln_say *s, const kiln_node *n) {
    const char *const index = coordinates(s);
    (void)n;
    kiln_say_begin(s, "GatherND", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, index);
    kiln_say_own_attrs(s);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

static kiln_status scatter(kiln_say *s, const char *op, const char *index) {
    kiln_say_begin(s, op, KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, index);
    kiln_say_take(s, kiln_say_in(s, 2));
    kiln_say_own_attrs(s);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

kiln_status kiln_say_op_scatter_elements(kiln_say *s, const kiln_node *n) {
    (void)n;
    return scatter(s, "ScatterElements", kiln_say_index_in(s, 1));
}

kiln_status kiln_say_op_scatter_nd(kiln_say *s, const kiln_node *n) {
    (void)n;
    return scatter(s, "ScatterND", coordinates(s));
}

kiln_status kiln_say_op_topk(kiln_say *s, const kiln_node *n) {
    const int64_t k = kiln_say_attr(s, "k")->i;
    const char *const operand = kiln_say_list(s, &k, 1);
    (void)n;
    kiln_say_begin(s, "TopK", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, operand);
    kiln_say_int(s, "axis", kiln_say_attr(s, "axis")->i);
    kiln_say_int(s, "largest", kiln_say_attr(s, "largest")->i);
    kiln_say_int(s, "sorted", kiln_say_attr(s, "sorted")->i);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_give(s, kiln_say_out(s, 1));
    kiln_say_end(s);
    return KILN_OK;
}

/* Sequences of a pool, each once: ONNX has no room for another of the same. place[i]:
 * which of them sequence i is. */
static int64_t unique_of(kiln_arena *a, const int64_t *pool, int64_t n, int64_t length,
                         int64_t *out, int64_t *place) {
    const size_t bytes = (size_t)length * sizeof *pool;
    kiln_map seen = {0};
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const kiln_str key = {(const char *)(pool + i * length), bytes};
        int64_t *known = kiln_map_get(&seen, key);
        if (known == NULL) {
            known = kiln_new(a, int64_t);
            *known = count;
            kiln_map_set(a, &seen, key, known);
            memcpy(out + count++ * length, pool + i * length, bytes);
        }
        place[i] = *known;
    }
    return count;
}

/* kiln counts a single element with every gap, ONNX once; and ONNX in f32. */
static void say_counts(kiln_say *s, const char *y, int64_t times, const int64_t *place,
                       int64_t n) {
    const char *const out = kiln_say_out(s, 0);
    if (place != NULL) {
        const char *const index = kiln_say_list(s, place, (size_t)n);
        const char *const all = kiln_say_temp(s, "Gather");
        kiln_say_begin(s, "Gather", KILN_SAY_BASE_OPSET);
        kiln_say_take(s, y);
        kiln_say_take(s, index);
        kiln_say_int(s, "axis", 1);
        kiln_say_give(s, all);
        kiln_say_end(s);
        y = all;
    }
    y = kiln_say_cast(s, y, KILN_I64, times == 1 ? out : NULL);
    if (times != 1)
        kiln_say_2(s, "Mul", y, kiln_say_i64(s, times), out);
}

/* Counts of sequences of one length: those of all others are none. f32 holds them below
 * 2^24. */
kiln_status kiln_say_op_ngram_count(kiln_say *s, const kiln_node *n) {
    const kiln_value *pool = n->in[1];
    const int64_t columns = n->in[0]->type.dim[1];
    const int64_t length = pool->type.dim[1], count = pool->type.dim[0];
    const int64_t skips = kiln_say_attr(s, "skips")->i;
    if (!kiln_value_is_const(pool) || count == 0)
        return kiln_say_refuse(s,
                               "the pool must be a constant of one sequence or more");
    if (columns >= 1 << 24 || skips >= 1 << 24 || (skips + 1) * columns >= 1 << 24)
        return kiln_say_refuse(s, "counts of 2^24 and more may come out");
    kiln_wide wide = kiln_wide_new(s->arena, &pool->type);
    kiln_widen(&pool->type, pool->data, &wide);
    int64_t *const first = kiln_array(s->arena, int64_t, length);
    int64_t *const index = kiln_array(s->arena, int64_t, count);
    int64_t *const place = kiln_array(s->arena, int64_t, count);
    int64_t *const each = kiln_array(s->arena, int64_t, count * length);
    const int64_t n_each = unique_of(s->arena, wide.i, count, length, each, place);
    for (int64_t i = 0; i < n_each; i++)
        index[i] = i;
    const char *const y = kiln_say_temp(s, "counts");
    kiln_say_begin(s, "TfIdfVectorizer", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_text(s, "mode", "TF");
    kiln_say_int(s, "min_gram_length", length);
    kiln_say_int(s, "max_gram_length", length);
    kiln_say_int(s, "max_skip_count", skips);
    kiln_say_ints(s, "ngram_counts", first, (size_t)length);
    kiln_say_ints(s, "ngram_indexes", index, (size_t)n_each);
    kiln_say_ints(s, "pool_int64s", each, (size_t)(n_each * length));
    kiln_say_give(s, y);
    kiln_say_end(s);
    say_counts(s, y, length > 1 ? 1 : skips + 1, n_each == count ? NULL : place, count);
    return KILN_OK;
}
