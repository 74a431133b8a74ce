/* Placement by rules: see network_place.h. */
#include "compiler/network/network_place.h"

#include <string.h>

enum { MAX_KIND = 32 }; /* bytes */

typedef struct rule {
    kiln_str what; /* an operator, or "all" */
    bool is_random;
    kiln_place_seed seed; /* between the host and its device */
    int device;
} rule;

typedef struct rules {
    rule *rule;
    size_t n;
} rules;

static bool fits(const rule *r, const kiln_net *n, int step) {
    kiln_place_seed seed = r->seed;
    return r->is_random ? kiln_place_at_random(&seed, n, step) != 0
                        : kiln_str_is(r->what, "all") ||
                              kiln_str_is(r->what, n->step.v[step].op);
}

static int where(void *user, const kiln_net *n, int step) {
    const rules *all = user;
    int device = 0;
    for (size_t i = 0; i < all->n; i++)
        if (fits(&all->rule[i], n, step))
            device = all->rule[i].device;
    return device;
}

static kiln_status read_what(kiln_arena *a, kiln_str what, rule *r, kiln_err *err) {
    static const char *const others[] = {"all", "convert", "copy"};
    int64_t seed = 0;
    r->what = what;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (kiln_str_is(what, others[i]))
            return KILN_OK;
    if (kiln_str_starts(what, "random:")) {
        const kiln_str number = {what.p + 7, what.n - 7};
        r->is_random = kiln_parse_i64(number, &seed) && seed >= 0;
        r->seed = (kiln_place_seed){(uint64_t)seed, 2};
    }
    return r->is_random || kiln_op_find(what) != NULL
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_ARG,
                           "'%s' is no operator, nor all, convert, copy or random:SEED",
                           kiln_str_printable(a, what, 64));
}

static bool is_kind(kiln_str s) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t i = 0; i < s.n; i++)
        if (strchr(letters, s.p[i]) == NULL || s.p[i] == '\0')
            return false;
    return s.n > 0 && s.n <= MAX_KIND;
}

/* The number of the device of that kind, which may be a new one. */
static kiln_status read_kind(kiln_arena *a, kiln_str kind, const char **known, int *n,
                             int *device, kiln_err *err) {
    if (!is_kind(kind))
        return kiln_fail(err, KILN_ERR_ARG,
                         "a device's kind has 1 to %d letters, digits, '-' and '_', "
                         "is '%s'",
                         MAX_KIND, kiln_str_printable(a, kind, 64));
    for (*device = 0; *device < *n; (*device)++)
        if (kiln_str_is(kind, known[*device]))
            return KILN_OK;
    if (*n == KILN_NET_MAX_DEVICES)
        return kiln_fail(err, KILN_ERR_ARG, "at most %d devices, the host included",
                         KILN_NET_MAX_DEVICES);
    known[(*n)++] = kiln_str_dupv(a, kind);
    return KILN_OK;
}

kiln_status kiln_place_by_rules(kiln_arena *a, const char *const *rule_text, size_t n,
                                kiln_placement *out, kiln_err *err) {
    const char **kind = kiln_array(a, const char *, KILN_NET_MAX_DEVICES);
    rules *all = kiln_new(a, rules);
    int n_devices = 1;
    kind[0] = KILN_PLACE_HOST;
    *all = (rules){kiln_array(a, rule, n), n};
    for (size_t i = 0; i < n; i++) {
        kiln_str text = kiln_str_from(rule_text[i]), what;
        rule *r = &all->rule[i];
        if (strchr(rule_text[i], '=') == NULL)
            return kiln_fail(err, KILN_ERR_ARG,
                             "a placement must be OPERATOR=DEVICE, is '%s'",
                             kiln_str_printable(a, text, 64));
        kiln_str_cut(&text, '=', &what);
        KILN_TRY(read_what(a, what, r, err));
        KILN_TRY(read_kind(a, text, kind, &n_devices, &r->device, err));
    }
    *out = (kiln_placement){kind, n_devices, where, all};
    return KILN_OK;
}
