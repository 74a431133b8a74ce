/* Records of TVM's auto-scheduler (tvm.auto_scheduler.measure_record; Ansor, OSDI'20,
 * and the files of TenSet):
 *
 *     {"i": [[workload, target, ...], [[], [step, ...]]],
 *      "r": [[seconds, ...], error, seconds in all, time], "v": "v0.6"}
 *
 * Of the steps ["SP", stage, iterator, extent, [lengths], 1] splits an iterator, the
 * lengths from the outside, and ["PR", stage, iterator, "auto_unroll_max_step$64"] asks
 * for unrolling. The workload's name is a hash, so the loops say what it is: on CPUs a
 * contraction is tiled in levels space, space, reduction, space, reduction, space, which
 * is three lengths for each axis of the output and one for each sum. Four and three are
 * a convolution, NCHW (sums over channels first) or NHWC (channels last); two and one a
 * product. The innermost level is what is in registers. */
#include "pipeline/tune/hints.h"

#include <string.h>

enum { MOST_SPLITS = 8, SPACE_LENGTHS = 3, MOST_STEPS = 4096 };

typedef struct split {
    int64_t extent, tile, block;
} split;

/* The splits of one stage. */
typedef struct stage {
    int64_t id;
    int n_space, n_sums;
    split space[MOST_SPLITS], sum[MOST_SPLITS];
    bool is_other; /* something of it is none of these */
} stage;

static void add_split(stage *s, const kiln_json *step) {
    const kiln_json *lengths = kiln_json_at(step, 4);
    const size_t n = kiln_json_size(lengths);
    split x = {.extent = kiln_hint_count(kiln_json_at(step, 3))};
    for (size_t i = 0; i < n && i < SPACE_LENGTHS; i++)
        if (kiln_hint_count(kiln_json_at(lengths, i)) == 0)
            s->is_other = true;
    x.tile = kiln_hint_count(kiln_json_at(lengths, n - 1));
    x.block = n == SPACE_LENGTHS ? kiln_hint_count(kiln_json_at(lengths, 1)) : 0;
    if (x.extent == 0 || x.tile == 0)
        s->is_other = true;
    else if (n == SPACE_LENGTHS && s->n_space < MOST_SPLITS && s->n_sums == 0)
        s->space[s->n_space++] = x;
    else if (n == 1 && s->n_sums < MOST_SPLITS)
        s->sum[s->n_sums++] = x;
    else
        s->is_other = true;
}

static bool is_contraction(const stage *s) {
    return !s->is_other &&
           ((s->n_space == 4 && s->n_sums == 3) || (s->n_space == 2 && s->n_sums == 1));
}

/* The first stage that is tiled as a contraction; false: none is. Splits of one stage
 * follow each other. */
static bool find_stage(const kiln_json *steps, stage *out, bool *unrolls) {
    static const char pragma[] = "auto_unroll_max_step$";
    stage s = {.id = -1};
    bool is_found = false;
    int n = 0;
    for (const kiln_json *step = kiln_json_first(steps); step != NULL && n < MOST_STEPS;
         step = kiln_json_next(step), n++) {
        const char *what = kiln_json_string(kiln_json_at(step, 0), "");
        int64_t id = -1;
        if (strcmp(what, "PR") == 0) {
            const char *text = kiln_json_string(kiln_json_at(step, 3), "");
            if (strncmp(text, pragma, strlen(pragma)) == 0 &&
                strcmp(text + strlen(pragma), "0") != 0)
                *unrolls = true;
        }
        if (strcmp(what, "SP") != 0 || !kiln_json_i64(kiln_json_at(step, 1), &id))
            continue;
        if (id != s.id) {
            is_found = is_found || is_contraction(&s);
            if (is_found)
                continue;
            s = (stage){.id = id};
        }
        add_split(&s, step);
    }
    *out = s;
    return is_contraction(&s);
}

static kiln_tune_hint hint_of(const stage *s, const int *space, const int *sums,
                              kiln_hint_kind kind) {
    kiln_tune_hint h = {.kind = kind};
    for (int i = 0; i < s->n_space; i++) {
        h.extent[space[i]] = s->space[i].extent;
        h.tile[space[i]] = s->space[i].tile;
        h.block[space[i]] = s->space[i].block;
    }
    for (int i = 0; i < s->n_sums; i++) {
        h.extent[sums[i]] = s->sum[i].extent;
        h.tile[sums[i]] = s->sum[i].tile;
    }
    return h;
}

static int hints_of(const stage *s, kiln_tune_hint *out) {
    static const int product_space[] = {KILN_HINT_M, KILN_HINT_N},
                     product_sums[] = {KILN_HINT_K};
    static const int space[2][4] = {
        {KILN_HINT_IMAGES, KILN_HINT_OUT, KILN_HINT_ROWS, KILN_HINT_COLUMNS},
        {KILN_HINT_IMAGES, KILN_HINT_ROWS, KILN_HINT_COLUMNS, KILN_HINT_OUT}};
    static const int sums[2][3] = {
        {KILN_HINT_IN, KILN_HINT_KERNEL_ROWS, KILN_HINT_KERNEL_COLUMNS},
        {KILN_HINT_KERNEL_ROWS, KILN_HINT_KERNEL_COLUMNS, KILN_HINT_IN}};
    if (s->n_space == 2) {
        out[0] = hint_of(s, product_space, product_sums, KILN_HINT_PRODUCT);
        return 1;
    }
    for (int i = 0; i < 2; i++)
        out[i] = hint_of(s, space[i], sums[i], KILN_HINT_CONV);
    return 2;
}

/* The first word of a workload's key, which is itself JSON: a function or a hash. */
static const char *name_of(kiln_arena *scratch, const char *key) {
    const kiln_json *parts = NULL;
    const char *first = key;
    if (kiln_json_parse(scratch, kiln_str_from(key), "workload", &parts, NULL) ==
        KILN_OK)
        first = kiln_json_string(kiln_json_at(parts, 0), key);
    return kiln_format(scratch, "auto-scheduler's %s",
                       kiln_str_printable(scratch, kiln_str_from(first), 40));
}

kiln_hint_verdict kiln_hint_of_ansor(kiln_arena *scratch, const kiln_json *record,
                                     kiln_tune_hint out[2], int *n, const char **name) {
    const kiln_json *input = kiln_json_get(record, "i");
    const char *key = kiln_json_string(kiln_json_at(kiln_json_at(input, 0), 0), NULL);
    const kiln_json *steps = kiln_json_at(kiln_json_at(input, 1), 1);
    double seconds = 0;
    bool unrolls = false;
    stage s;
    *n = 0;
    *name = "it has no workload with steps";
    if (key == NULL || !kiln_json_is_array(steps))
        return KILN_HINT_BAD;
    const kiln_hint_verdict v =
        kiln_hint_seconds(kiln_json_get(record, "r"), &seconds, name);
    if (v != KILN_HINT_TAKEN)
        return v;
    *name = name_of(scratch, key);
    if (!find_stage(steps, &s, &unrolls))
        return KILN_HINT_STRANGE;
    *n = hints_of(&s, out);
    for (int i = 0; i < *n; i++) {
        out[i].seconds = seconds;
        out[i].unroll = unrolls ? KILN_HINT_UNROLLS : KILN_HINT_LOOPS_ON;
    }
    return KILN_HINT_TAKEN;
}
