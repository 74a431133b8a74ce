/* Which of a folder's packages runs here. */
#include "runtime/variants.h"

#include <stdio.h>
#include <string.h>

#include "runtime/arch.h"

static const char head[] = "kiln variants 1\n";

typedef struct text {
    const char *at, *end;
} text;

/* The word before `until`, which is passed over: 0, or -1: there is none that fits. */
static int take_word(text *t, char until, char out[KILN_VARIANTS_TEXT]) {
    const char *stop = memchr(t->at, until, (size_t)(t->end - t->at));
    const size_t n = stop != NULL ? (size_t)(stop - t->at) : 0;
    if (n == 0 || n >= KILN_VARIANTS_TEXT || memchr(t->at, '\n', n) != NULL ||
        memchr(t->at, '\0', n) != NULL)
        return -1;
    memcpy(out, t->at, n);
    out[n] = '\0';
    t->at = stop + 1;
    return 0;
}

static int take_number(text *t, unsigned *out) {
    char word[KILN_VARIANTS_TEXT];
    unsigned value = 0;
    if (take_word(t, ' ', word) != 0 || strlen(word) > 6)
        return -1;
    for (const char *c = word; *c != '\0'; c++) {
        if (*c < '0' || *c > '9')
            return -1;
        value = value * 10 + (unsigned)(*c - '0');
    }
    *out = value;
    return 0;
}

/* A folder beside the file: no path leads elsewhere. */
static int is_folder(const char *name) {
    return strchr(name, '/') == NULL && name[0] != '.';
}

static int take_row(text *t, kiln_variant_row *r) {
    return take_word(t, ' ', r->folder) == 0 && is_folder(r->folder) &&
                   take_number(t, &r->group) == 0 && take_number(t, &r->machine) == 0 &&
                   take_word(t, ' ', r->needs) == 0 &&
                   take_word(t, '\n', r->profile) == 0
               ? 0
               : -1;
}

int kiln_variants_parse(const char *bytes, size_t n, kiln_variants *out,
                        char error[KILN_ERROR_TEXT]) {
    const size_t n_head = sizeof head - 1;
    if (n < n_head || memcmp(bytes, head, n_head) != 0) {
        snprintf(error, KILN_ERROR_TEXT,
                 "the list of variants is of another version: use the runtime of the "
                 "kiln that made the package");
        return -1;
    }
    text t = {bytes + n_head, bytes + n};
    out->n = 0;
    while (t.at < t.end && out->n < KILN_VARIANTS_MAX &&
           take_row(&t, &out->row[out->n]) == 0)
        out->n++;
    if (t.at == t.end && out->n > 0)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "the list of variants is damaged in line %d",
             out->n + 2);
    return -1;
}

kiln_variants_machine kiln_variants_here(void) {
    const kiln_runtime_arch *here = kiln_runtime_arch_here();
    kiln_variants_machine m = {0, NULL};
    if (here != NULL)
        m = (kiln_variants_machine){(unsigned)here->machine, here->has};
    return m;
}

/* The first of the needs that the machine has not; "": it has all. */
static void find_missing(const kiln_variant_row *r, const kiln_variants_machine *m,
                         char missing[KILN_VARIANTS_TEXT]) {
    const char *at = r->needs;
    while (strcmp(r->needs, "-") != 0 && *at != '\0') {
        const size_t n = strcspn(at, ",");
        memcpy(missing, at, n);
        missing[n] = '\0';
        if (m->has == NULL || !m->has(missing))
            return;
        at += n + (at[n] == ',');
    }
    missing[0] = '\0';
}

static void tell_row(const kiln_variant_row *r, const kiln_variants_machine *m,
                     const char *missing, char *out, size_t room) {
    if (r->machine != m->machine)
        snprintf(out, room, "'%s' (ELF machine %u, this is %u)", r->profile, r->machine,
                 m->machine);
    else
        snprintf(out, room, "'%s' (needs %s)", r->profile, missing);
}

int kiln_variants_choose(const kiln_variants *v, const kiln_variants_machine *m,
                         char error[KILN_ERROR_TEXT]) {
    size_t n = (size_t)snprintf(error, KILN_ERROR_TEXT,
                                "none of the package's profiles runs here: ");
    for (int i = 0; i < v->n; i++) {
        const kiln_variant_row *r = &v->row[i];
        char missing[KILN_VARIANTS_TEXT] = "", one[KILN_ERROR_TEXT] = "";
        if (i > 0 && r->group == v->row[i - 1].group)
            continue;
        if (r->machine == m->machine)
            find_missing(r, m, missing);
        if (r->machine == m->machine && missing[0] == '\0')
            return i;
        tell_row(r, m, missing, one, sizeof one);
        if (n < KILN_ERROR_TEXT)
            n += (size_t)snprintf(error + n, KILN_ERROR_TEXT - n, "%s%s",
                                  i > 0 ? ", " : "", one);
    }
    return -1;
}
