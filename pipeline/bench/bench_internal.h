/* Inside pipeline/bench. */
#ifndef KILN_PIPELINE_BENCH_INTERNAL_H
#define KILN_PIPELINE_BENCH_INTERNAL_H

#include "pipeline/bench/bench.h"

/* The session's error as a status. */
kiln_status kiln_session_failed(const kiln_session *s, kiln_err *err);

#endif
