/* Spaces of configurations: knobs, their options, and points (AutoTVM, NIPS'18,
 * section 2). A point's index counts options with the first knob fastest. */
#include "compiler/schedule/template.h"

#include <inttypes.h>
#include <string.h>

/* 2^62: an index and the sum of two still fit uint64_t and int64_t. */
static const uint64_t max_space = UINT64_C(1) << 62;

void kiln_space_init(kiln_space *s, kiln_arena *a) {
    *s = (kiln_space){.arena = a, .size = 1};
}

static int add(kiln_space *s, kiln_knob knob) {
    KILN_ASSERT(s->n < KILN_MAX_KNOBS, "knob '%s' is one too many", knob.name);
    KILN_ASSERT(knob.n >= 1 && knob.n <= INT16_MAX, "knob '%s' has %d options",
                knob.name, knob.n);
    KILN_ASSERT(s->size <= max_space / (uint64_t)knob.n,
                "the space is too large with knob '%s'", knob.name);
    s->size *= (uint64_t)knob.n;
    s->knob[s->n] = knob;
    return s->n++;
}

int kiln_space_add_up_to(kiln_space *s, const char *name, const char *doc,
                         const int64_t *value, int n, int64_t extent) {
    int up_to = 1;
    while (up_to < n && value[up_to - 1] < extent)
        up_to++;
    return kiln_space_add_ints(s, name, doc, value, up_to);
}

int kiln_space_add_parts(kiln_space *s, const char *name, const char *doc,
                         int64_t extent) {
    enum { MAX_PARTS = 64, MAX_SIZES = MAX_PARTS + 64 };
    int64_t size[MAX_SIZES];
    int n = MAX_SIZES; /* filled from behind: ascending */
    KILN_ASSERT(extent >= 1, "parts '%s' of %" PRId64, name, extent);
    for (int64_t parts = 1, last = 0; last != 1; parts++) {
        const int64_t next = parts <= MAX_PARTS ? extent / parts + (extent % parts != 0)
                                                : last / 2 + last % 2;
        if (next != last)
            size[--n] = next;
        last = next;
    }
    return kiln_space_add_ints(s, name, doc, size + n, MAX_SIZES - n);
}

int kiln_space_add_tuples(kiln_space *s, const char *name, const char *doc,
                          const int64_t *value, int n, int n_parts) {
    KILN_ASSERT(n >= 1 && n_parts >= 1 && n_parts <= KILN_KNOB_MAX_PARTS,
                "knob '%s' has %d options of %d parts", name, n, n_parts);
    const size_t count = (size_t)n * (size_t)n_parts;
    int64_t *copy = kiln_array(s->arena, int64_t, count);
    memcpy(copy, value, count * sizeof *copy);
    return add(
        s, (kiln_knob){
               .name = name, .doc = doc, .n = n, .n_parts = n_parts, .value = copy});
}

int kiln_space_add_ints(kiln_space *s, const char *name, const char *doc,
                        const int64_t *value, int n) {
    return kiln_space_add_tuples(s, name, doc, value, n, 1);
}

int kiln_space_add_words(kiln_space *s, const char *name, const char *doc,
                         const char *const *word, int n) {
    KILN_ASSERT(n >= 1, "knob '%s' has no option", name);
    const char **copy = kiln_array(s->arena, const char *, n);
    memcpy(copy, word, (size_t)n * sizeof *copy);
    return add(
        s, (kiln_knob){.name = name, .doc = doc, .n = n, .n_parts = 1, .word = copy});
}

void kiln_space_is_later(kiln_space *s, int knob) {
    KILN_ASSERT(knob >= 0 && knob < s->n, "knob %d of %d", knob, s->n);
    s->knob[knob].is_later = true;
}

/* ---- points ---------------------------------------------------------------------- */

kiln_config kiln_config_at(const kiln_space *s, uint64_t index) {
    KILN_ASSERT(index < s->size, "index %" PRIu64 " of a space of %" PRIu64, index,
                s->size);
    kiln_config c = {.n = s->n};
    for (int k = 0; k < s->n; k++) {
        const uint64_t n = (uint64_t)s->knob[k].n;
        c.option[k] = (int16_t)(index % n);
        index /= n;
    }
    return c;
}

uint64_t kiln_config_index(const kiln_space *s, const kiln_config *c) {
    uint64_t index = 0;
    for (int k = s->n - 1; k >= 0; k--)
        index = index * (uint64_t)s->knob[k].n + (uint64_t)c->option[k];
    return index;
}

kiln_config kiln_config_random(const kiln_space *s, kiln_rng *rng) {
    kiln_config c = {.n = s->n};
    for (int k = 0; k < s->n; k++)
        c.option[k] = (int16_t)kiln_rng_range(rng, 0, s->knob[k].n - 1);
    return c;
}

kiln_config kiln_config_neighbour(const kiln_space *s, const kiln_config *c,
                                  kiln_rng *rng) {
    kiln_config next = *c;
    int movable[KILN_MAX_KNOBS], n = 0;
    for (int k = 0; k < s->n; k++)
        if (s->knob[k].n > 1)
            movable[n++] = k;
    if (n == 0)
        return next;
    const int k = movable[kiln_rng_range(rng, 0, n - 1)];
    const int at = c->option[k], last = s->knob[k].n - 1;
    int to = (int)kiln_rng_range(rng, 0, last - 1);
    if (kiln_rng_range(rng, 0, 1) == 0) {
        const bool goes_up = at == 0 || (at < last && kiln_rng_range(rng, 0, 1) == 0);
        to = goes_up ? at + 1 : at - 1;
    } else if (to >= at) {
        to++; /* any other */
    }
    next.option[k] = (int16_t)to;
    return next;
}

kiln_config kiln_config_cross(const kiln_space *s, const kiln_config *x,
                              const kiln_config *y, kiln_rng *rng) {
    kiln_config child = *x;
    for (int k = 0; k < s->n; k++)
        if (kiln_rng_range(rng, 0, 1) == 1)
            child.option[k] = y->option[k];
    return child;
}

static const kiln_knob *knob_at(const kiln_space *s, const kiln_config *c, int k) {
    KILN_ASSERT(k >= 0 && k < s->n && c->n == s->n,
                "knob %d of %d, configuration of %d", k, s->n, c->n);
    return &s->knob[k];
}

int64_t kiln_config_int(const kiln_space *s, const kiln_config *c, int k, int p) {
    const kiln_knob *knob = knob_at(s, c, k);
    KILN_ASSERT(knob->value != NULL && p >= 0 && p < knob->n_parts,
                "part %d of knob '%s'", p, knob->name);
    return knob->value[c->option[k] * knob->n_parts + p];
}

const char *kiln_config_word(const kiln_space *s, const kiln_config *c, int k) {
    const kiln_knob *knob = knob_at(s, c, k);
    KILN_ASSERT(knob->word != NULL, "knob '%s' has integers", knob->name);
    return knob->word[c->option[k]];
}

bool kiln_config_is(const kiln_space *s, const kiln_config *c, int k,
                    const char *word) {
    return strcmp(kiln_config_word(s, c, k), word) == 0;
}

void kiln_config_set(const kiln_space *s, kiln_config *c, int k, const int64_t *value) {
    const kiln_knob *knob = knob_at(s, c, k);
    KILN_ASSERT(knob->value != NULL, "knob '%s' has words", knob->name);
    int best = -1, smallest = 0;
    double best_product = 0, smallest_product = 0;
    for (int i = 0; i < knob->n; i++) {
        bool is_below = true, is_equal = true;
        double product = 1;
        for (int p = 0; p < knob->n_parts; p++) {
            const int64_t v = knob->value[i * knob->n_parts + p];
            is_below = is_below && v <= value[p];
            is_equal = is_equal && v == value[p];
            product *= (double)v;
        }
        if (is_equal) {
            best = i;
            break;
        }
        if (is_below && (best < 0 || product > best_product)) {
            best = i;
            best_product = product;
        }
        if (i == 0 || product < smallest_product) {
            smallest = i;
            smallest_product = product;
        }
    }
    c->option[k] = (int16_t)(best >= 0 ? best : smallest);
}

void kiln_config_set_word(const kiln_space *s, kiln_config *c, int k,
                          const char *word) {
    const kiln_knob *knob = knob_at(s, c, k);
    KILN_ASSERT(knob->word != NULL, "knob '%s' has integers", knob->name);
    for (int i = 0; i < knob->n; i++)
        if (strcmp(knob->word[i], word) == 0) {
            c->option[k] = (int16_t)i;
            return;
        }
    KILN_ASSERT(false, "knob '%s' has no word '%s'", knob->name, word);
}
