/* base: what every folder of kiln may use, and the only header of it that others
 * include. */
#ifndef KILN_BASE_H
#define KILN_BASE_H

#include "base/arithmetic/arithmetic.h"
#include "base/core/core.h"
#include "base/diagnostics/diagnostics.h"
#include "base/files/files.h"
#include "base/host/host.h"
#include "base/text/text.h"
#include "base/version.h"

#endif
