/* A map from strings to numbers above 0, such as places in a table, from 1 on; else as
 * kiln_map, whose order and memory it has. */
#ifndef KILN_BASE_NUMBERS_H
#define KILN_BASE_NUMBERS_H

#include "base/core/core.h"

typedef struct kiln_numbers {
    kiln_map map; /* values are the numbers; iteration by its entries' keys */
} kiln_numbers;

/* 0 when absent. */
size_t kiln_numbers_get(const kiln_numbers *m, kiln_str key);
/* Sets or replaces; returns true when the key is new. */
bool kiln_numbers_set(kiln_arena *a, kiln_numbers *m, kiln_str key, size_t number);

#endif
