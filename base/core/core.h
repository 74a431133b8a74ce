/* base/core: memory with one lifetime, text, growing arrays, failures: what all of kiln
 * is written in. */
#ifndef KILN_BASE_CORE_H
#define KILN_BASE_CORE_H

#include "base/core/arena.h"
#include "base/core/asked.h"
#include "base/core/attr.h"
#include "base/core/hash.h"
#include "base/core/resting.h"
#include "base/core/status.h"
#include "base/core/str.h"
#include "base/core/vec.h"
#include "base/core/wide.h"

#endif
