/* What a night found, in one sentence: beside the vendors, and against what is
 * accepted.
 */
#include "reports/results/results.h"

#include <string.h>

static long long count_of(const kiln_results *r, const char *verdict) {
    for (size_t i = 0; i < r->by_verdict.n; i++)
        if (strcmp(r->by_verdict.v[i].name, verdict) == 0)
            return (long long)r->by_verdict.v[i].n;
    return 0;
}

/* Beside the baselines of networks. */
static void put_rivals(kiln_buf *out, const kiln_results *r) {
    bool is_first = true;
    for (size_t i = 0; i < r->versus.n; i++) {
        const kiln_results_versus *v = &r->versus.v[i];
        if (v->measured == 0)
            continue;
        kiln_buf_printf(out, "%s%.2f of %s's time (%s%lld job%s)",
                        is_first ? "kiln takes " : ", ", v->ratio.estimate, v->name,
                        v->measured > 1 ? "geometric mean of " : "",
                        (long long)v->measured, kiln_plural(v->measured));
        is_first = false;
    }
    if (is_first)
        kiln_buf_puts(out, r->versus.n > 0
                               ? "the machine was too busy to compare with baselines"
                               : "no baseline was measured");
}

static void put_verdicts(kiln_buf *out, const kiln_results *r) {
    const long long slow = count_of(r, "fail"), invalid = count_of(r, "invalid");
    const long long wrong = count_of(r, "wrong");
    const long long fresh = count_of(r, "new"), open = count_of(r, "inconclusive");
    if (r->verdict == NULL)
        kiln_buf_puts(out, "nothing was held against accepted archives");
    else if (wrong > 0)
        kiln_buf_printf(out, "the outputs of %lld job%s are wrong", wrong,
                        kiln_plural(wrong));
    else if (slow > 0)
        kiln_buf_printf(out, "%lld job%s got slower than what is accepted", slow,
                        kiln_plural(slow));
    else if (invalid > 0)
        kiln_buf_printf(out, "%lld job%s could not be compared with what is accepted",
                        invalid, kiln_plural(invalid));
    else if (fresh > 0)
        kiln_buf_printf(out, "nothing is accepted yet for %lld job%s", fresh,
                        kiln_plural(fresh));
    else if (open > 0)
        kiln_buf_printf(out, "of %lld job%s it is open whether they got slower", open,
                        kiln_plural(open));
    else
        kiln_buf_puts(out, "nothing got slower than what is accepted");
}

void kiln_results_found(kiln_buf *out, const kiln_results *r) {
    if (r->injected > 0)
        kiln_buf_printf(out,
                        "INJECTED: the gate slowed every candidate by %g%% on purpose, "
                        "its verdicts are a test of the alarm; ",
                        100 * r->injected);
    put_rivals(out, r);
    kiln_buf_puts(out, "; ");
    put_verdicts(out, r);
}
