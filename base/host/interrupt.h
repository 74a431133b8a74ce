/* Ctrl-C, and the polite end that CI sends: work that takes long looks here between its
 * steps, keeps what it has, and stops. */
#ifndef KILN_BASE_INTERRUPT_H
#define KILN_BASE_INTERRUPT_H

#include <stdbool.h>

#include "base/core/core.h"

/* From now on the first SIGINT, SIGTERM or SIGHUP only asks; the second ends the
 * process, as it would have. System calls that wait are not interrupted. */
void kiln_interrupt_catch(void);
/* Has somebody asked? Cheap enough for every slice of a measurement. */
bool kiln_interrupted(void);
/* The same as an error, KILN_ERR_INTERRUPTED, for work that keeps nothing: its callers
 * take away what they put on disk, as after any failure. */
kiln_status kiln_interrupt_check(kiln_err *err);

#endif
