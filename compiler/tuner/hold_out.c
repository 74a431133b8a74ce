/* How good a kind of model is on samples that it was not fitted to. */
#include "compiler/tuner/tuner.h"

enum { N_PARTS = 5 };
static const float near_tie = 0.05F; /* closer pairs are in no order: noise */

/* Every fifth of a group (is_held), or all others. */
static kiln_samples part_of(kiln_arena *a, const kiln_samples *s, bool is_held) {
    const size_t n = s->encoding.n;
    kiln_encoding_list *list = kiln_new(a, kiln_encoding_list);
    float *score = kiln_array(a, float, n), *base = kiln_array(a, float, n);
    float *weight = kiln_array(a, float, n);
    uint32_t *group = kiln_array(a, uint32_t, n);
    size_t at = 0, kept = 0; /* at: in the group */
    for (size_t i = 0; i < n; i++) {
        at = i > 0 && s->group[i] == s->group[i - 1] ? at + 1 : 0;
        if ((at % N_PARTS == N_PARTS - 1) != is_held)
            continue;
        kiln_encoding_list_add(a, list, kiln_encodings_at(&s->encoding, i));
        score[kept] = s->score[i];
        base[kept] = s->base != NULL ? s->base[i] : 0;
        weight[kept] = s->weight != NULL ? s->weight[i] : 1;
        group[kept++] = s->group[i];
    }
    return (kiln_samples){.encoding = kiln_encoding_list_view(list),
                          .score = score,
                          .group = group,
                          .base = s->base != NULL ? base : NULL,
                          .weight = weight,
                          .carries_over = s->carries_over};
}

static double pairs_in_order(const kiln_samples *s, const float *predicted) {
    size_t pairs = 0, right = 0;
    for (size_t i = 0; i < s->encoding.n; i++)
        for (size_t k = i; k > 0 && s->group[k - 1] == s->group[i]; k--) {
            const float apart = s->score[i] - s->score[k - 1];
            const bool is_pair = apart >= near_tie || apart <= -near_tie;
            pairs += is_pair;
            right += is_pair && (apart > 0 ? predicted[i] > predicted[k - 1]
                                           : predicted[i] < predicted[k - 1]);
        }
    return pairs > 0 ? (double)right / (double)pairs : -1;
}

/* How many of the group score above this one: its place. */
static size_t place_of(const float *v, size_t n, size_t at) {
    size_t place = 0;
    for (size_t i = 0; i < n; i++)
        place += v[i] > v[at] || (i < at && v[i] >= v[at]);
    return place;
}

static double recall_of(const kiln_samples *s, const float *predicted) {
    size_t wanted = 0, found = 0;
    for (size_t begin = 0, end; begin < s->encoding.n; begin = end) {
        for (end = begin + 1; end < s->encoding.n && s->group[end] == s->group[begin];)
            end++;
        const size_t n = end - begin, k = n / N_PARTS > 0 ? n / N_PARTS : 1;
        wanted += k;
        for (size_t i = 0; i < n; i++)
            found += place_of(s->score + begin, n, i) < k &&
                     place_of(predicted + begin, n, i) < k;
    }
    return wanted > 0 ? (double)found / (double)wanted : -1;
}

kiln_status kiln_cost_model_hold_out(const kiln_cost_model_kind *kind,
                                     const kiln_cost_model_options *o,
                                     const kiln_samples *s, kiln_hold_out *out,
                                     kiln_err *err) {
    kiln_arena a = {0};
    kiln_cost_model m;
    const kiln_samples others = part_of(&a, s, false), held = part_of(&a, s, true);
    float *predicted = kiln_array(&a, float, held.encoding.n + 1);
    kiln_status st = kiln_cost_model_init(&m, kind, o, err);
    if (st == KILN_OK && held.encoding.n > 0)
        st = kiln_cost_model_fit(&m, &others, err);
    if (st == KILN_OK && held.encoding.n > 0)
        st = kiln_cost_model_predict(&m, &held.encoding, held.base, predicted, err);
    if (st == KILN_OK)
        *out = (kiln_hold_out){pairs_in_order(&held, predicted),
                               recall_of(&held, predicted)};
    kiln_cost_model_fini(&m);
    kiln_arena_fini(&a);
    return st;
}
