/* base/arithmetic: numbers that C does not have. */
#ifndef KILN_BASE_ARITHMETIC_H
#define KILN_BASE_ARITHMETIC_H

#include "base/arithmetic/half.h"
#include "base/arithmetic/low_float.h"
#include "base/arithmetic/order.h"
#include "base/arithmetic/rng.h"

#endif
