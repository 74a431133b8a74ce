/* base: what every folder of kiln may use, and the only header of it that others
 * include. */
#ifndef KILN_BASE_H
#define KILN_BASE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/busy.h"
#include "base/child.h"
#include "base/confine.h"
#include "base/file.h"
#include "base/half.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/lexer.h"
#include "base/log.h"
#include "base/low_float.h"
#include "base/machine.h"
#include "base/order.h"
#include "base/process.h"
#include "base/program.h"
#include "base/progress.h"
#include "base/record.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/str.h"
#include "base/task.h"
#include "base/vec.h"
#include "base/version.h"

#endif
