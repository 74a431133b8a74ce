/* Importer of TfIdfVectorizer (9), for integers: what ngram_count finds for each length
 * of n-grams, put where ngram_indexes says, and weighted. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>

enum { MAX_GRAM = 32 };

typedef struct vectorizer {
    int64_t min, max, skips; /* lengths, gap */
    const int64_t *count, *index, *pool;
    size_t n_count, n_index, n_pool;
    int64_t size; /* of the output: the largest index and 1 */
} vectorizer;

static kiln_status read_index(kiln_onnx_cx *cx, vectorizer *v) {
    for (size_t i = 0; i < v->n_index; i++) {
        if (v->index[i] < 0 || v->index[i] >= KILN_MAX_ELEMS)
            return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                                  "entries of 'ngram_indexes' must be in [0, %" PRId64
                                  "), one is %" PRId64,
                                  KILN_MAX_ELEMS, v->index[i]);
        v->size = v->index[i] >= v->size ? v->index[i] + 1 : v->size;
    }
    return KILN_OK;
}

static kiln_status read_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n, vectorizer *v) {
    if (kiln_onnx_has_attr(n, "pool_strings"))
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "attribute 'pool_strings' is not read: kiln has no "
                              "strings; export the vocabulary as 'pool_int64s'");
    v->n_pool = kiln_onnx_attr_ints(cx, n, "pool_int64s", &v->pool);
    v->n_count = kiln_onnx_attr_ints(cx, n, "ngram_counts", &v->count);
    v->n_index = kiln_onnx_attr_ints(cx, n, "ngram_indexes", &v->index);
    v->min = kiln_onnx_attr_i(cx, n, "min_gram_length", 0);
    v->max = kiln_onnx_attr_i(cx, n, "max_gram_length", 0);
    v->skips = kiln_onnx_attr_i(cx, n, "max_skip_count", 0);
    if (v->min < 1 || v->max < v->min || v->max > MAX_GRAM || v->skips < 0)
        return kiln_onnx_fail(
            cx, KILN_ERR_LIMIT,
            "lengths of n-grams must be in [1, %d] and skips >= 0, are "
            "%" PRId64 " to %" PRId64 " and %" PRId64,
            MAX_GRAM, v->min, v->max, v->skips);
    return read_index(cx, v);
}

/* The n-grams of one length: elements [begin, end) of the pool. ngram_counts are the
 * beginnings. */
static kiln_status range_of(kiln_onnx_cx *cx, const vectorizer *v, int64_t length,
                            int64_t *begin, int64_t *end) {
    const size_t at = (size_t)length;
    *begin = at <= v->n_count ? v->count[at - 1] : (int64_t)v->n_pool;
    *end = at < v->n_count ? v->count[at] : (int64_t)v->n_pool;
    if (*begin < 0 || *end < *begin || *end > (int64_t)v->n_pool ||
        (*end - *begin) % length != 0)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "'ngram_counts' must cut the pool of %zu into n-grams, "
                              "those of length %" PRId64 " are [%" PRId64 ", %" PRId64
                              ")",
                              v->n_pool, length, *begin, *end);
    return KILN_OK;
}

/* [rows, n-grams of one length] counts; NULL where there is no such n-gram. */
static kiln_value *counts_of(kiln_compose *c, const vectorizer *v, kiln_value *x,
                             int64_t length, int64_t begin, int64_t end) {
    const int64_t columns = x->type.dim[1];
    const int64_t dim[] = {(end - begin) / length, length};
    /* An n-gram with a gap that no row has room for occurs nowhere; a single element
     * has no gap. */
    const int64_t room =
        length == 1 || columns < length ? 0 : (columns - 1) / (length - 1) - 1;
    kiln_value *const in[] = {x, kiln_compose_ints(c, 2, dim, v->pool + begin)};
    const kiln_attr_arg skips =
        kiln_arg_int("skips", v->skips < room ? v->skips : room);
    return kiln_compose_op(c, &kiln_op_ngram_count, in, 2, &skips, 1);
}

/* Counts of the pool's n-grams in its order as [rows, size]: column index[i] is the sum
 * of those that say so. `first` is the place of the counts in ngram_indexes. */
static kiln_value *placed(kiln_compose *c, const vectorizer *v, kiln_value *counts,
                          size_t first) {
    const int64_t rows = counts->type.dim[0], n = counts->type.dim[1];
    const int64_t one[] = {1, n}, all[] = {rows, n}, out[] = {rows, v->size};
    bool is_in_order = n == v->size;
    for (int64_t i = 0; is_in_order && i < n; i++)
        is_in_order = v->index[first + (size_t)i] == i;
    if (is_in_order)
        return counts;
    kiln_value *index = kiln_compose_ints(c, 2, one, v->index + first);
    kiln_value *const in[] = {
        kiln_compose_expand(c, kiln_import_scalar(c->cx, KILN_I64, 0), 2, out),
        kiln_compose_expand(c, index, 2, all), counts};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", 1),
                                  kiln_arg_word("reduction", "add")};
    return kiln_compose_op(c, &kiln_op_scatter_elements, in, 3, args, 2);
}

/* Weights belong to n-grams of the pool; runtimes read them by column instead. Where
 * that is not the same, what is meant is not known. */
static kiln_status read_weights(kiln_compose *c, const vectorizer *v,
                                kiln_value **out) {
    const double *w;
    const size_t n = kiln_onnx_attr_floats(kiln_onnx_of(c->cx), c->site, "weights", &w);
    *out = NULL;
    if (n == 0)
        return KILN_OK;
    bool is_clear = n == v->n_index && (int64_t)n == v->size;
    for (size_t i = 0; is_clear && i < n; i++)
        is_clear = w[i] == w[v->index[i]];
    if (!is_clear)
        return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                         "'weights' must mean the same by n-gram and by column; "
                         "export with 'ngram_indexes' 0, 1, 2, ...");
    *out = kiln_compose_floats(c, KILN_F32, 1, &v->size, w);
    return c->status;
}

static kiln_value *weighted(kiln_compose *c, kiln_value *counts, kiln_value *weights,
                            bool is_idf, bool is_tf) {
    kiln_value *y = kiln_compose_cast(c, counts, KILN_F32);
    if (is_idf && !is_tf) {
        kiln_value *is_there = kiln_compose_scalar(c, &kiln_op_greater, counts, 0);
        kiln_value *one =
            weights != NULL ? weights : kiln_import_scalar(c->cx, KILN_F32, 1);
        return kiln_compose_where(c, is_there, one,
                                  kiln_import_scalar(c->cx, KILN_F32, 0));
    }
    return is_idf && weights != NULL ? kiln_compose_2(c, &kiln_op_mul, y, weights) : y;
}

/* Counts of all lengths asked for, side by side; *first: of them in ngram_indexes. */
static kiln_status count_all(kiln_compose *c, const vectorizer *v, kiln_value *x,
                             size_t *first, kiln_value **out) {
    kiln_value *part[MAX_GRAM];
    int n = 0;
    size_t before = 0;
    for (int64_t length = 1; length <= v->max; length++) {
        int64_t begin, end;
        KILN_TRY(range_of(kiln_onnx_of(c->cx), v, length, &begin, &end));
        const size_t grams = (size_t)((end - begin) / length);
        if (length < v->min)
            before += grams;
        else if (grams > 0)
            part[n++] = counts_of(c, v, x, length, begin, end);
    }
    KILN_TRY(c->status);
    int64_t count = 0;
    for (int i = 0; i < n; i++)
        count += part[i]->type.dim[1];
    if (n == 0 || before + (size_t)count > v->n_index)
        return kiln_fail(c->cx->err, KILN_ERR_PARSE,
                         "'ngram_indexes' must have an entry for each n-gram, and "
                         "the pool one of the lengths asked for; has %zu entries",
                         v->n_index);
    const kiln_attr_arg axis = kiln_arg_int("axis", 1);
    *first = before;
    *out = n == 1 ? part[0] : kiln_compose_op(c, &kiln_op_concat, part, n, &axis, 1);
    return c->status;
}

kiln_status kiln_onnx_import_tf_idf(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    vectorizer v = {0};
    kiln_value *x, *counts, *weights;
    size_t first;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    const kiln_str mode = kiln_onnx_attr_s(cx, n, "mode", "");
    const bool is_tf = kiln_str_is(mode, "TF") || kiln_str_is(mode, "TFIDF");
    const bool is_idf = kiln_str_is(mode, "IDF") || kiln_str_is(mode, "TFIDF");
    if (!is_tf && !is_idf)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'mode' must be TF, IDF or TFIDF, is '%s'",
                              kiln_str_printable(kiln_onnx_arena(cx), mode, 32));
    KILN_TRY(read_pool(cx, n, &v));
    const int rank = x->type.rank;
    if (rank != 1 && rank != 2)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'X' must have rank 1 or 2, has %d", rank);
    const int64_t rows = rank == 1 ? 1 : x->type.dim[0];
    const int64_t whole[] = {rows, x->type.dim[rank - 1]}, out[] = {rows, v.size};
    x = kiln_compose_cast(&c, kiln_compose_reshape(&c, x, 2, whole), KILN_I64);
    KILN_TRY(c.status);
    KILN_TRY(count_all(&c, &v, x, &first, &counts));
    KILN_TRY(read_weights(&c, &v, &weights));
    counts = placed(&c, &v, counts, first);
    kiln_value *y = weighted(&c, counts, weights, is_idf, is_tf);
    kiln_onnx_set(cx, n, 0,
                  kiln_compose_reshape(&c, y, rank, rank == 1 ? out + 1 : out));
    return c.status;
}
