/* Golden outputs of a network that another runtime ran channels last, for the same
 * network of channels first. */
#ifndef KILN_TESTS_SUPPORT_GOLDEN_TURNED_H
#define KILN_TESTS_SUPPORT_GOLDEN_TURNED_H

#include "base/base.h"

/* A new folder (kiln_dir_temp) with the cases of `golden`, whose arrays are f32 files of
 * [N, H, W, C], here [N, C, H, W] and without their names. */
kiln_status kiln_test_turn_golden(kiln_arena *a, const char *golden, const char **out,
                                  kiln_err *err);

#endif
