/* What `kiln study neocpu` and `fusion` write, as a table (docs/study-json.md). */
#include "reports/results/reports_fields.h"
#include "reports/results/reports_study.h"

#define T kiln_doc_study_row
static const kiln_record_field row_rows[] = {
    KILN_MEMBER(group, "rows of one group stand together and are compared"),
    KILN_MEMBER(model, "a network, or a piece of one"),
    KILN_MEMBER(way, "how it was made, or the library that ran it"),
    KILN_MEMBER(threads, "that it was run with"),
    KILN_MEMBER_WORD(
        state, kiln_results_states,
        "`measured`; or `absent`: not installed, of `transfer` no record or "
        "not yet measured; `failed`: it refused or broke; `wrong`: its "
        "outputs are not the reference's; `emulated`: an emulator ran it"),
    KILN_MEMBER(version, "of a library; null: kiln's own, or absent"),
    KILN_MEMBER(file, "name of the model's file that a library was given; null: none, "
                      "or of kiln's own"),
    KILN_MEMBER(problem, "why it was not measured; null: it was"),
    KILN_MEMBER(choice, "of a kernel: who chose, its template and configuration; null: "
                        "it is not of one"),
    KILN_MEMBER_AS("samples", n_samples, "one each round"),
    KILN_MEMBER_AS("disturbed", n_disturbed,
                   "of them, while somebody else had a processor; left out where seven "
                   "others are there"),
    KILN_MEMBER_OBJECT("ms", ms, kiln_results_ratio_table,
                       "of one run: the median of the samples"),
    KILN_MEMBER_POSITIVE(q1_ms, "first quartile"),
    KILN_MEMBER_POSITIVE(q3_ms, "third quartile"),
    KILN_MEMBER_OBJECT("gain", gain, kiln_results_ratio_table,
                       "times as fast as the first of its group"),
    KILN_MEMBER_POSITIVE(published, "the same in the paper; null: it does not say"),
    KILN_MEMBER(steps, "of kiln's own plan; 0: a library"),
    KILN_MEMBER(conversions, "of layouts among these steps"),
};
KILN_RECORD(kiln_doc_study_row_table, row_rows, "A row")
#undef T

#define T kiln_doc_study_part
static const kiln_record_field part_rows[] = {
    KILN_MEMBER(name, "as `--parts` has it"),
    KILN_MEMBER(title, "what is compared"),
    KILN_MEMBER(source, "which table or figure of which paper"),
    KILN_MEMBER(shape, "what the paper found, in words"),
    KILN_MEMBER_AS("curve", has_curve, "its rows are gains over numbers of threads"),
    KILN_MEMBER_TEXTS("notes", note,
                      "the paper's numbers, one line a network; of `rivals` and "
                      "`transfer` quotients of "
                      "times, and their means"),
    KILN_MEMBER_LIST("rows", row, kiln_doc_study_row_table, "in the order of groups"),
};
KILN_RECORD_STATIC(part_table, part_rows, "A part")
#undef T

#define T kiln_doc_study
static const kiln_record_field study_rows[] = {
    KILN_MEMBER_PART(own, kiln_doc_own_table),
    KILN_MEMBER(study, "`neocpu`, `fusion`, `rivals` or `transfer`"),
    KILN_MEMBER_OBJECT("machine", machine, kiln_results_machine_table,
                       "where it was measured; peaks are not"),
    KILN_MEMBER(profile, "that code was made for"),
    KILN_MEMBER(rounds, "samples of each row that were asked for"),
    KILN_MEMBER_AS("interrupted", is_interrupted,
                   "Ctrl-C came: what is here was measured, more was asked for"),
    KILN_MEMBER_LIST("parts", part, part_table, "experiments, in order"),
};
KILN_RECORD_STATIC(study, study_rows, "The document")
#undef T

const kiln_record_document kiln_study_document = {
    .format_key = "format",
    .format = "kiln-study-1",
    .table = &study,
    .docs = "docs/study-json.md",
    .what = "made by 'kiln study neocpu --json', fusion, rivals or transfer"};
