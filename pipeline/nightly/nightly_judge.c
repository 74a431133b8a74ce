/* What an ended child means: its exit code, what it wrote, and which of its last words
 * say why. */
#include "pipeline/nightly/nightly_internal.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "reports/results/documents.h"

enum { EXIT_CHECK = 1, EXIT_INVALID = 6, MAX_MESSAGE = 600 };

/* ---- last words ------------------------------------------------------------------ */

static kiln_str line_from(kiln_str text, size_t at) {
    size_t end = at;
    while (end < text.n && text.p[end] != '\n')
        end++;
    return (kiln_str){text.p + at, end - at};
}

/* The last error chain: from its "error: " to the end, or what else was said last. */
static kiln_str last_error(kiln_str text) {
    static const char mark[] = "error: ";
    kiln_str last = {"", 0}, chain = {"", 0};
    for (size_t at = 0; at < text.n;) {
        const kiln_str line = line_from(text, at);
        if (kiln_str_starts(line, mark))
            chain =
                (kiln_str){line.p + sizeof mark - 1, text.n - at - (sizeof mark - 1)};
        if (kiln_str_trim(line).n > 0)
            last = line;
        at += line.n + 1;
    }
    return chain.n > 0 ? chain : last;
}

/* kiln verify's first line about something that failed, else the last line. */
static kiln_str first_failure(kiln_str text) {
    for (size_t at = 0; at < text.n;) {
        const kiln_str line = line_from(text, at);
        if (kiln_str_starts(line, "failed "))
            return line;
        at += line.n + 1;
    }
    return last_error(text);
}

/* On one line. */
static const char *flat(kiln_arena *a, kiln_str text) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_str rest = kiln_str_trim(text), line;
    while (kiln_str_cut(&rest, '\n', &line))
        kiln_buf_printf(&out, "%s%s", out.n > 0 ? "; " : "",
                        kiln_str_printable(a, kiln_str_trim(line), MAX_MESSAGE));
    return out.n == 0 ? NULL : kiln_str_printable(a, kiln_buf_str(&out), MAX_MESSAGE);
}

/* ---- what it wrote --------------------------------------------------------------- */

/* KILN_ERR_PARSE: not what the stage must write. */
static kiln_status read_result(kiln_arena *a, const night *n, size_t stage,
                               const kiln_json **out, kiln_err *err) {
    const char *path = kiln_nightly_result_path(a, n, stage);
    if (!kiln_file_exists(path))
        return kiln_fail(err, KILN_ERR_PARSE, "it ended well and wrote no result");
    return kiln_json_read(a, path, out, err);
}

/* kiln bench fails where a baseline was not measured; that is the pipeline's to say. */
static bool is_measured(kiln_arena *a, const night *n, size_t stage) {
    const char *path = kiln_nightly_result_path(a, n, stage);
    kiln_doc_ops ops;
    kiln_doc_bench bench;
    if (n->g->stage.v[stage].kind == KILN_NIGHTLY_OPS)
        return kiln_record_read(a, path, &kiln_ops_document, &ops, NULL) == KILN_OK &&
               ops.op.n > 0 && ops.wrong == 0 && ops.refused == 0 && ops.failed == 0;
    return kiln_record_read(a, path, &kiln_bench_document, &bench, NULL) == KILN_OK &&
           bench.output.ok && bench.side.n > 0;
}

/* kiln gate fails where the verdict is bad: then it has done its work. NULL: none. */
static const char *verdict_of(kiln_arena *a, const night *n, size_t stage) {
    kiln_doc_gate gate;
    const char *path = kiln_nightly_result_path(a, n, stage);
    return kiln_record_read(a, path, &kiln_gate_document, &gate, NULL) == KILN_OK
               ? gate.verdict
               : NULL;
}

static bool makes_a_file(kiln_nightly_kind kind) {
    return kind == KILN_NIGHTLY_FETCH || kind == KILN_NIGHTLY_BUILD;
}

static const char *product_of(kiln_arena *a, const kiln_json *result) {
    const char *sha256 =
        kiln_json_string(kiln_json_get(kiln_json_at(result, 0), "sha256"), NULL);
    return sha256 == NULL ? NULL : kiln_str_dup(a, sha256);
}

static void judge_exit(kiln_arena *a, const night *n, size_t stage,
                       const kiln_process_result *r, nightly_marker *out) {
    const kiln_nightly_kind kind = n->g->stage.v[stage].kind;
    const kiln_json *result = NULL;
    kiln_err why = {.status = KILN_OK};
    const kiln_status st = read_result(a, n, stage, &result, &why);
    const bool is_gate = kind == KILN_NIGHTLY_GATE;
    const bool may_fail = st == KILN_OK && (r->code == EXIT_CHECK ||
                                            (is_gate && r->code == EXIT_INVALID));
    out->state = r->code == 0 ? KILN_STAGE_DONE : KILN_STAGE_FAILED;
    if (st == KILN_OK && makes_a_file(kind))
        out->product = product_of(a, result);
    if (r->code == 0 && st == KILN_OK && makes_a_file(kind) && out->product == NULL)
        (void)kiln_fail(&why, KILN_ERR_PARSE, "its result names no file");
    if (r->code == 0 && why.status != KILN_OK) {
        out->state = KILN_STAGE_FAILED;
        out->message = flat(a, kiln_str_from(why.text));
        return;
    }
    const char *verdict = may_fail && is_gate ? verdict_of(a, n, stage) : NULL;
    const bool is_judged = verdict != NULL;
    const bool is_alone = may_fail &&
                          (kind == KILN_NIGHTLY_BENCH || kind == KILN_NIGHTLY_OPS) &&
                          !n->c->require_baselines && is_measured(a, n, stage);
    if (is_judged || is_alone)
        out->state = KILN_STAGE_DONE;
    if (is_judged)
        out->message = kiln_format(a, "verdict: %s", verdict);
    if (is_alone)
        out->message = "measured; not every baseline was, and none is required";
    if (out->state == KILN_STAGE_FAILED)
        out->message = flat(a, kiln_str_trim(r->err).n > 0 ? last_error(r->err)
                                                           : first_failure(r->out));
    if (out->state == KILN_STAGE_FAILED && out->message == NULL)
        out->message = kiln_format(a, "it ended with code %d", r->code);
}

void kiln_nightly_judge(kiln_arena *a, const night *n, size_t stage,
                        const kiln_process_result *r, nightly_marker *out) {
    KILN_ASSERT(stage < n->g->stage.n, "stage %zu of %zu", stage, n->g->stage.n);
    switch (r->end) {
    case KILN_PROCESS_EXITED:
        out->exit_code = r->code;
        judge_exit(a, n, stage, r, out);
        return;
    case KILN_PROCESS_SIGNALED:
        out->state = KILN_STAGE_FAILED;
        out->exit_code = 128 + r->code;
        out->message = kiln_format(a, "it was ended by signal %d%s", r->code,
                                   r->code == SIGKILL   ? " (killed: out of memory?)"
                                   : r->code == SIGSEGV ? " (bad memory access)"
                                   : r->code == SIGABRT ? " (it gave up)"
                                                        : "");
        return;
    case KILN_PROCESS_TIMED_OUT:
        out->state = KILN_STAGE_TIMED_OUT;
        out->exit_code = 128 + SIGKILL;
        out->message = kiln_format(a, "it was ended at its limit of %d s",
                                   n->g->stage.v[stage].limit_s);
        return;
    }
}
