/* The last lines of a night: the two commands that somebody who read it wants next. */
#include "pipeline/nightly/nightly_internal.h"

#include <string.h>

static int64_t count_of(const kiln_results *r, const char *verdict) {
    for (size_t i = 0; i < r->by_verdict.n; i++)
        if (strcmp(r->by_verdict.v[i].name, verdict) == 0)
            return r->by_verdict.v[i].n;
    return 0;
}

static bool is_bad(const kiln_results_stage *s) {
    return s->state == KILN_STAGE_FAILED || s->state == KILN_STAGE_TIMED_OUT;
}

static const char *first_failure(const kiln_results *r) {
    for (size_t i = 0; i < r->job.n; i++)
        for (size_t k = 0; k < r->job.v[i].stage.n; k++)
            if (is_bad(&r->job.v[i].stage.v[k]))
                return r->job.v[i].stage.v[k].command;
    for (size_t i = 0; i < r->ops.n; i++)
        for (size_t k = 0; k < r->ops.v[i].stage.n; k++)
            if (is_bad(&r->ops.v[i].stage.v[k]))
                return r->ops.v[i].stage.v[k].command;
    return NULL;
}

static const char *first_verdict(const kiln_results *r, const char *verdict) {
    for (size_t i = 0; i < r->job.n; i++)
        if (r->job.v[i].has_gate && strcmp(r->job.v[i].gate.verdict, verdict) == 0)
            return r->job.v[i].gate.command;
    return NULL;
}

static void put_command(kiln_buf *out, const char **head, const char *command,
                        const char *does) {
    if (command == NULL)
        return;
    kiln_buf_printf(out, "%s%s\n         # %s\n", *head, command, does);
    *head = "         ";
}

void kiln_nightly_put_next(kiln_buf *out, const kiln_nightly_result *result) {
    const kiln_results *r = &result->results;
    const char *head = "next:    ";
    kiln_buf accept;
    kiln_buf_init(&accept, out->arena);
    kiln_buf_put_word(&accept, result->program);
    kiln_buf_puts(&accept, " accept");
    kiln_buf_put_word(&accept, result->folder);
    kiln_buf_puts(&accept, " --to");
    kiln_buf_put_word(&accept,
                      result->accepted != NULL ? result->accepted : "accepted");
    if (result->is_interrupted) {
        put_command(out, &head, r->command, "goes on with this run");
        return;
    }
    if (r->injected > 0) {
        kiln_buf_printf(
            out, "%sthe same without --inject: this was a test of the alarm\n", head);
        return;
    }
    put_command(out, &head, first_failure(r), "repeats the first stage that failed");
    put_command(out, &head, first_verdict(r, "wrong"), "finds the wrong outputs again");
    put_command(out, &head, first_verdict(r, "fail"), "looks at the slower one again");
    put_command(out, &head, first_verdict(r, "invalid"),
                "compares again; it says what kept it from it");
    if (count_of(r, "new") > 0 || r->verdict == NULL)
        put_command(out, &head, accept.p,
                    "makes these archives what later nights are held against");
    else if (count_of(r, "fail") > 0)
        put_command(out, &head, accept.p,
                    "accepts the slower ones, where that is meant");
    put_command(out, &head, r->command, "the next night");
}
