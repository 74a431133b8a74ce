/* base/diagnostics: what a process says of itself while it works. */
#ifndef KILN_BASE_DIAGNOSTICS_H
#define KILN_BASE_DIAGNOSTICS_H

#include "base/diagnostics/busy.h"
#include "base/diagnostics/log.h"
#include "base/diagnostics/progress.h"

#endif
