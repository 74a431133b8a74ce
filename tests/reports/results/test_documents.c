/* Every document that is a table: what is written is read back, member by member, and
 * its page of documentation has every member. */
#include "reports/results/reports_fields.h"
#include "reports/results/reports_study.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const kiln_record_document *const documents[] = {
    &kiln_results_document, &kiln_bench_document, &kiln_ops_document,
    &kiln_tune_document,    &kiln_build_document, &kiln_gate_document,
    &kiln_study_document};
enum { N_DOCUMENTS = sizeof documents / sizeof documents[0] };

/* ---- every member ------------------------------------------------------------------
 *
 * Whatever the table says is filled with values drawn at random, so a member that is
 * written and not read (or in another unit) cannot hide. */

static void fill(kiln_rng *rng, const kiln_record_table *t, unsigned char *p);

#define SET(T, p, v) (*(T *)(void *)(p) = (v))

static const char *random_text(kiln_rng *rng) {
    static const char *const text[] = {NULL, "", "plain", "a \"quoted\" \\ one\n",
                                       "\xC3\xA9t\xC3\xA9 <b>&amp;"};
    return text[kiln_rng_next(rng) % (sizeof text / sizeof text[0])];
}

static const char *random_json(kiln_rng *rng) {
    static const char *const text[] = {NULL, "3", "\"a\"", "{\n  \"k\": [1, 2]\n}"};
    return text[kiln_rng_next(rng) % (sizeof text / sizeof text[0])];
}

static void fill_list(kiln_rng *rng, const kiln_record_field *f, unsigned char *p) {
    kiln_record_list list = {0};
    const size_t n = kiln_rng_next(rng) % 4;
    const size_t bytes = f->of != NULL ? f->of->bytes : sizeof(double);
    list.v = kiln_arena_array(kiln_test_arena(), n, bytes);
    list.n = list.cap = n;
    for (size_t i = 0; i < n; i++) {
        unsigned char *at = list.v + i * bytes;
        if (f->of != NULL)
            fill(rng, f->of, at);
        else if (f->kind == KILN_RECORD_NUMBERS)
            SET(double, at, (double)(kiln_rng_next(rng) % 1000) / 7);
        else
            SET(const char *, at, "text");
    }
    memcpy(p, &list, sizeof list);
}

static void fill_member(kiln_rng *rng, const kiln_record_field *f, unsigned char *p) {
    const uint64_t v = kiln_rng_next(rng);
    size_t n_words = 0;
    while (f->word != NULL && f->word[n_words] != NULL)
        n_words++;
    switch (f->kind) {
    case KILN_RECORD_TEXT:
        SET(const char *, p, random_text(rng));
        return;
    case KILN_RECORD_WORD:
        SET(const char *, p, f->word[v % (n_words + 1)]);
        return;
    case KILN_RECORD_ENUM:
        SET(int, p, (int)(v % n_words));
        return;
    case KILN_RECORD_JSON:
        SET(const char *, p, random_json(rng));
        return;
    case KILN_RECORD_I64:
        SET(int64_t, p, (int64_t)(v >> 11));
        return;
    case KILN_RECORD_SIZE:
        SET(size_t, p, (size_t)(v >> 11));
        return;
    case KILN_RECORD_INT:
        SET(int, p, (int)(v % 1000) - 500);
        return;
    case KILN_RECORD_BOOL:
        SET(bool, p, v % 2 != 0);
        return;
    case KILN_RECORD_F64:
        SET(double, p, v % 8 == 0 ? (double)NAN : (double)(int64_t)v / 3e7);
        return;
    case KILN_RECORD_POSITIVE:
        SET(double, p, v % 8 == 0 ? 0 : (double)v / 3e7);
        return;
    case KILN_RECORD_OBJECT:
    case KILN_RECORD_PART:
        fill(rng, f->of, p);
        return;
    case KILN_RECORD_LIST:
    case KILN_RECORD_ROWS:
    case KILN_RECORD_NUMBERS:
    case KILN_RECORD_TEXTS:
        fill_list(rng, f, p);
        return;
    }
}

static void fill(kiln_rng *rng, const kiln_record_table *t, unsigned char *p) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        if (f->has_offset != 0) {
            const bool has = kiln_rng_next(rng) % 2 != 0;
            SET(bool, p + f->has_offset, has);
            if (!has)
                continue;
        }
        fill_member(rng, f, p + f->offset);
    }
}

static kiln_str text_of(const kiln_record_document *d, const void *p) {
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_record_write(&out, d, p);
    return kiln_buf_str(&out);
}

static void every_member_comes_back(void **state) {
    (void)state;
    enum { ROUNDS = 50 };
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int round = 0; round < ROUNDS * N_DOCUMENTS; round++) {
        const kiln_record_document *d = documents[round % N_DOCUMENTS];
        kiln_arena *a = kiln_test_arena();
        kiln_err err = {0};
        unsigned char *p = kiln_arena_array(a, 1, d->table->bytes);
        unsigned char *back = kiln_arena_array(a, 1, d->table->bytes);
        fill(&rng, d->table, p);
        const kiln_str first = text_of(d, p);
        kiln_assert_status_ok(kiln_record_parse(a, first, "own", d, back, &err), &err);
        kiln_assert_text_equal(text_of(d, back), first);
    }
}

/* ---- tables ---------------------------------------------------------------------- */

typedef KILN_VEC(const kiln_record_field *) fields;

static void gather(const kiln_record_table *t, size_t base, fields *out) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        if (f->kind == KILN_RECORD_PART) {
            gather(f->of, base + f->offset, out);
            continue;
        }
        kiln_record_field *here = kiln_new(kiln_test_arena(), kiln_record_field);
        *here = *f;
        here->offset += base;
        kiln_vec_push(kiln_test_arena(), out, (const kiln_record_field *)here);
    }
}

/* Two rows for one member would pass the test above. */
static void check_table(const kiln_record_table *t) {
    fields all = {.n = 0};
    gather(t, 0, &all);
    for (size_t i = 0; i < all.n; i++) {
        assert_true(all.v[i]->doc != NULL && all.v[i]->doc[0] != '\0');
        for (size_t j = i + 1; j < all.n; j++)
            if (all.v[i]->offset == all.v[j]->offset ||
                strcmp(all.v[i]->name, all.v[j]->name) == 0)
                fail_msg("%s: '%s' and '%s' are one", t->title, all.v[i]->name,
                         all.v[j]->name);
        if (all.v[i]->of != NULL)
            check_table(all.v[i]->of);
    }
}

static void no_member_has_two_rows(void **state) {
    (void)state;
    for (size_t k = 0; k < N_DOCUMENTS; k++)
        check_table(documents[k]->table);
}

/* ---- pages of documentation ------------------------------------------------------ */

/* Behind a line of its own, to the end of the file. KILN_GOLDEN_UPDATE=1 writes it. */
static void check_page(const kiln_record_document *d) {
    static const char mark[] = "## Members\n";
    kiln_str text;
    kiln_buf page;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), d->docs, 0, &text, &err),
                          &err);
    const char *all = kiln_str_dupv(kiln_test_arena(), text);
    const char *at = strstr(all, mark);
    assert_non_null(at);
    kiln_buf_init(&page, kiln_test_arena());
    kiln_buf_add(&page, all, (size_t)(at - all) + strlen(mark));
    kiln_record_markdown(&page, d);
    if (getenv("KILN_GOLDEN_UPDATE") != NULL)
        kiln_assert_status_ok(kiln_file_write(d->docs, page.p, page.n, &err), &err);
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), d->docs, 0, &text, &err),
                          &err);
    kiln_assert_text_equal(kiln_buf_str(&page), text);
}

static void pages_have_every_member(void **state) {
    (void)state;
    for (size_t k = 0; k < N_DOCUMENTS; k++)
        check_page(documents[k]);
}

int main(void) {
    kiln_test_add("every_member_comes_back", every_member_comes_back, NULL);
    kiln_test_add("no_member_has_two_rows", no_member_has_two_rows, NULL);
    kiln_test_add("pages_have_every_member", pages_have_every_member, NULL);
    return kiln_test_run("documents");
}
