/* The corpus inside of pipeline/tune. */
#ifndef KILN_PIPELINE_TUNE_CORPUS_INTERNAL_H
#define KILN_PIPELINE_TUNE_CORPUS_INTERNAL_H

#include "pipeline/tune/corpus.h"
#include "pipeline/tune/tune_internal.h"

void kiln_corpus_put_head(kiln_buf *out);
/* ns: of each configuration of t->space, as the file has it. */
void kiln_corpus_put_work(kiln_buf *out, const char *name, const kiln_db_task *task,
                          const kiln_tune_task *t, const double *ns);

#endif
