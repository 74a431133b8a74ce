/* What inspect says of a model that is not imported: of no shapes yet, or of operators
 * that kiln does not read. */
#ifndef KILN_CLI_VERB_SURVEY_H
#define KILN_CLI_VERB_SURVEY_H

#include "cli/cli.h"

typedef struct kiln_cli_survey {
    const char *path; /* as the user spells it */
    kiln_model_survey model;
    const kiln_import_report *report;
    const kiln_suggestion *suggestion;      /* NULL: no shape is missing */
    const char *const *shape, *const *bind; /* what the user gave */
    size_t n_shapes, n_binds;
} kiln_cli_survey;

/* ", IR 8, opset 17", of formats that have neither "". */
const char *kiln_cli_versions(kiln_arena *a, int64_t ir_version, int64_t opset);
void kiln_cli_survey_put(const kiln_cli_survey *s, kiln_cli_answer *answer);
/* "unsupported": [{op, count, first_node}, ...] */
/* What the file says for people: lines of text; member "notes". */
void kiln_cli_text_notes(kiln_buf *out, const kiln_import_report *report);
void kiln_cli_put_notes(kiln_json_writer *w, const kiln_import_report *report);
void kiln_cli_put_unsupported(kiln_json_writer *w, const kiln_import_report *report);

#endif
