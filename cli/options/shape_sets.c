/* --shape given several times for one input: the model is built for each. */
#include "cli/options/shape_sets.h"

#include <string.h>

/* Names may hold colons, so the last one separates. */
static kiln_str name_of(const char *shape) {
    const char *colon = strrchr(shape, ':');
    return (kiln_str){shape, colon != NULL ? (size_t)(colon - shape) : strlen(shape)};
}

/* How often the input of this word has been named up to `end`. */
static size_t count(const kiln_cli_args *args, int opt_shape, size_t end,
                    const char *word) {
    size_t n = 0;
    for (size_t i = 0; i < end; i++)
        n += kiln_str_eq(name_of(args->value[opt_shape][i]), name_of(word));
    return n;
}

static kiln_status count_sets(const kiln_cli_args *args, int opt_shape, size_t *out,
                              kiln_err *err) {
    const size_t n = args->n_value[opt_shape];
    const char *first = NULL;
    *out = 1;
    for (size_t i = 0; i < n; i++) {
        const char *word = args->value[opt_shape][i];
        const size_t times = count(args, opt_shape, n, word);
        if (times > 1 && first != NULL && times != *out)
            return kiln_fail(
                err, KILN_ERR_ARG,
                "--shape %s: this input has %zu shapes, that of --shape %s "
                "has %zu: give all inputs that change as many",
                word, times, first, *out);
        if (times > 1 && first == NULL) {
            first = word;
            *out = times;
        }
    }
    return KILN_OK;
}

/* The k-th shape of each input, or its only one. */
static kiln_cli_args one_set(const kiln_cli_args *args, int opt_shape, int n_options,
                             size_t k) {
    KILN_ASSERT((size_t)n_options == args->n_options, "%d options of %zu", n_options,
                args->n_options);
    kiln_arena *a = args->arena;
    const size_t n = args->n_value[opt_shape];
    kiln_cli_args own = *args;
    const char **word = kiln_array(a, const char *, n);
    own.value = kiln_arena_dup(a, args->value, (size_t)n_options * sizeof *own.value);
    own.n_value =
        kiln_arena_dup(a, args->n_value, (size_t)n_options * sizeof *own.n_value);
    own.value[opt_shape] = word;
    own.n_value[opt_shape] = 0;
    for (size_t i = 0; i < n; i++) {
        const char *w = args->value[opt_shape][i];
        if (count(args, opt_shape, n, w) == 1 || count(args, opt_shape, i, w) == k)
            word[own.n_value[opt_shape]++] = w;
    }
    KILN_ASSERT(n == 0 || own.n_value[opt_shape] > 0, "set %zu has no shape", k);
    return own;
}

kiln_status kiln_cli_shape_sets(const kiln_cli_args *args, int opt_shape, int n_options,
                                kiln_cli_args **out, size_t *n, kiln_err *err) {
    KILN_TRY(count_sets(args, opt_shape, n, err));
    kiln_cli_args *set = kiln_array(args->arena, kiln_cli_args, *n);
    for (size_t k = 0; k < *n; k++)
        set[k] = one_set(args, opt_shape, n_options, k);
    *out = set;
    return KILN_OK;
}
