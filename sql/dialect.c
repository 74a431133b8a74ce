/* Portable statements in an engine's own words (sql.h says what they leave open). They
 * are kiln's own text, so what is not understood is a broken promise, not an error. */
#include "sql/sql_engine.h"

#include <string.h>

enum { MAX_PARTS = 3 }; /* a word's name, and what it is about */

static const char *text_of(const kiln_sql_dialect *d, kiln_str name) {
    for (size_t i = 0; i < d->n_words; i++)
        if (kiln_str_is(name, d->word[i].name))
            return d->word[i].text;
    KILN_ASSERT(false, "a statement has {%.*s}, which its engine has no word for",
                KILN_STR_ARG(name));
    return "";
}

static void put_word(kiln_buf *out, const kiln_sql_dialect *d, kiln_str word) {
    kiln_str part[MAX_PARTS] = {{0}};
    for (int n = 0; n < MAX_PARTS && kiln_str_cut(&word, ' ', &part[n]);)
        n++;
    for (const char *c = text_of(d, part[0]); *c != '\0'; c++)
        if (c[0] == '#' && c[1] >= '1' && c[1] < '0' + MAX_PARTS) {
            const kiln_str about = part[*++c - '0'];
            kiln_buf_add(out, about.p, about.n);
        } else {
            kiln_buf_add(out, c, 1);
        }
}

/* Words first, then parameters: a word may be about one. */
static const char *with_words(kiln_arena *a, const kiln_sql_dialect *d,
                              const char *text) {
    kiln_buf out;
    bool is_quoted = false;
    kiln_buf_init(&out, a);
    kiln_buf_puts(&out, "");
    for (const char *c = text; *c != '\0'; c++) {
        is_quoted = is_quoted != (*c == '\'');
        const char *end = *c == '{' && !is_quoted ? strchr(c, '}') : NULL;
        if (end == NULL) {
            kiln_buf_add(&out, c, 1);
            continue;
        }
        put_word(&out, d, (kiln_str){c + 1, (size_t)(end - c) - 1});
        c = end;
    }
    return out.p;
}

const char *kiln_sql_spell(kiln_arena *a, const kiln_sql_dialect *d, const char *text) {
    kiln_buf out;
    bool is_quoted = false;
    kiln_buf_init(&out, a);
    kiln_buf_puts(&out, "");
    for (const char *c = with_words(a, d, text); *c != '\0'; c++) {
        is_quoted = is_quoted != (*c == '\'');
        if (*c == '?' && !is_quoted)
            kiln_buf_puts(&out, d->parameter);
        else
            kiln_buf_add(&out, c, 1);
    }
    return out.p;
}
