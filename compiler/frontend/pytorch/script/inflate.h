/* Deflated bytes, made what they were. Source: RFC 1951. */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_INFLATE_H
#define KILN_COMPILER_FRONTEND_PYTORCH_INFLATE_H

#include "base/base.h"

/* Exactly n bytes out of `packed`, into `out`. KILN_ERR_PARSE: they are damaged, or are
 * of another number. */
kiln_status kiln_inflate(kiln_str packed, char *out, size_t n, kiln_err *err);

#endif
