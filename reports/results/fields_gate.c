/* What `kiln gate` writes, as a table (docs/gate-json.md). */
#include "reports/results/reports_fields.h"

#define T kiln_doc_accepted
static const kiln_record_field accepted_rows[] = {
    KILN_MEMBER(path, "the file"),
    KILN_MEMBER(sha256, "its hash"),
    KILN_MEMBER(bytes, "its size"),
    KILN_MEMBER(accepted_at, "ISO 8601, UTC"),
    KILN_MEMBER(who, "accepted it"),
    KILN_MEMBER(kiln, "version that built it"),
    KILN_MEMBER(commit, "of that version"),
    KILN_MEMBER(machine, "that it was accepted on"),
};
KILN_RECORD_STATIC(accepted, accepted_rows, "An accepted archive")
#undef T

static const char *const looks[] = {"pass",         "fail",    "more",
                                    "inconclusive", "invalid", NULL};

#define T kiln_doc_look
static const kiln_record_field look_rows[] = {
    KILN_MEMBER_WORD(verdict, looks, "of these pairs alone; `more`: others would tell"),
    KILN_MEMBER(pairs, "how many"),
    KILN_MEMBER_OBJECT("slowdown", slowdown, kiln_results_interval_table,
                       "that they show"),
    KILN_MEMBER(p, "of the signed-rank test"),
};
KILN_RECORD_STATIC(look, look_rows, "A series of pairs")
#undef T

#define T kiln_doc_busy
static const kiln_record_field busy_rows[] = {
    KILN_MEMBER(name, "of the programs"),
    KILN_MEMBER(processes, "of that name"),
    KILN_MEMBER(processors, "that they had, on average"),
};
KILN_RECORD_STATIC(busy, busy_rows, "Programs")
#undef T

#define T kiln_doc_others
static const kiln_record_field others_rows[] = {
    KILN_MEMBER(seconds, "that the series ran"),
    KILN_MEMBER(processors, "that there are"),
    KILN_MEMBER(taken, "of them by others, on average"),
    KILN_MEMBER(hypervisor, "by other machines of the same host"),
    KILN_MEMBER(unseen, "by whom nobody can tell"),
    KILN_MEMBER_ROWS("greatest", greatest, busy, "the greatest of them"),
};
KILN_RECORD_STATIC(others, others_rows, "Who else had the processors")
#undef T

#define T kiln_doc_process
static const kiln_record_field process_rows[] = {
    KILN_MEMBER(series, "1: the confirmation"),
    KILN_MEMBER(pair, "from 0"),
    KILN_MEMBER(side, "candidate, control, or again: the control once more"),
    KILN_MEMBER(ms, "lower quartile of undisturbed runs"),
    KILN_MEMBER(min_ms, "the least"),
    KILN_MEMBER(clock_ghz, "around them"),
    KILN_MEMBER(disturbed, "runs"),
    KILN_MEMBER(is_used, "false: taken again"),
};
KILN_RECORD_STATIC(process, process_rows, "A process")
#undef T

#define T kiln_doc_limits
static const kiln_record_field limits_rows[] = {
    KILN_MEMBER(fail_above, "0.01 where nothing was said"),
    KILN_MEMBER(pass_below, "0.03 where nothing was said"),
};
KILN_RECORD_STATIC(limits, limits_rows, "Limits, as shares of slowdown")
#undef T

#define T kiln_doc_series
static const kiln_record_field series_rows[] = {
    KILN_MEMBER(model, "its name; null: the archive could not be read"),
    KILN_MEMBER(profile, "that code was made for"),
    KILN_MEMBER(threads, "that it was run on"),
    KILN_MEMBER_PART(gate, kiln_results_gate_table),
    KILN_MEMBER_OBJECT("candidate", candidate, kiln_results_archive_table,
                       "hash and size are not known of an unpacked folder"),
    KILN_MEMBER_OPTIONAL("accepted", accepted, accepted, "null: nothing is accepted"),
    KILN_MEMBER_OPTIONAL("frozen_archive", frozen, accepted,
                         "with `--frozen`, where one is frozen for it "
                         "([history.md](history.md)); else null"),
    KILN_MEMBER(frozen_pairs, "that its ratio is of; 0: nothing was timed"),
    KILN_MEMBER(machine, "processor, and how many of them"),
    KILN_MEMBER_OPTIONAL("itself", itself, look,
                         "the control against itself, interleaved with the pairs"),
    KILN_MEMBER_OPTIONAL("confirmation", confirmation, look,
                         "the second series after a failure; else null"),
    KILN_MEMBER(seed, "of the order"),
    KILN_MEMBER(runs_of_a_process, "timed runs of each fresh process"),
    KILN_MEMBER(retaken, "processes that were disturbed, or out of the clock's "
                         "band, and taken again"),
    KILN_MEMBER(throttled, "processes with runs whose clock the machine held back, as "
                           "it was too warm; 0 where it does not say"),
    KILN_MEMBER(degrees, "the warmest it was, Celsius; 0: not known"),
    KILN_MEMBER_OBJECT("limits", limits, limits, "of the verdict"),
    KILN_MEMBER_POSITIVE(
        pairs_needed,
        "that would tell the two limits apart in such noise; 24 are the most"),
    KILN_MEMBER_ROWS("processes", process, process,
                     "that were timed, in the order they ran, each side twice a pair"),
    KILN_MEMBER(gave_up,
                "did a series end before its next look, which was lost already?"),
    KILN_MEMBER_OPTIONAL(
        "others", others, others,
        "who else had the processors while the (last) series ran; null: not known"),
};
KILN_RECORD_STATIC(series, series_rows, "A candidate")
#undef T

#define T kiln_doc_gate
static const kiln_record_field gate_rows[] = {
    KILN_MEMBER_PART(own, kiln_doc_own_table),
    KILN_MEMBER_POSITIVE(
        injected, "share by which candidates were slowed on purpose (`--inject`): "
                  "nothing here is a verdict then; null: they were not"),
    KILN_MEMBER_WORD(verdict, kiln_results_verdicts, "the worst of all"),
    KILN_MEMBER_LIST("by_verdict", by_verdict, kiln_results_count_table,
                     "candidates, worst first"),
    KILN_MEMBER_OBJECT(
        "geomean_slowdown", geomean_slowdown, kiln_results_interval_table,
        "over the series that were timed to `pass`, `fail` or `inconclusive`"),
    KILN_MEMBER_LIST("series", series, series,
                     "of each candidate, in the order of their paths"),
};
KILN_RECORD_STATIC(gate, gate_rows, "The document")
#undef T

const kiln_record_document kiln_gate_document = {.format_key = "format",
                                                 .format = "kiln-gate-1",
                                                 .table = &gate,
                                                 .docs = "docs/gate-json.md",
                                                 .what = "made by 'kiln gate --json'"};
