#include "tests/support/measuring/support_subject.h"

#include "tests/support/kiln_test.h"

kiln_subject kiln_test_subject(const char *model) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_subject s;
    kiln_assert_status_ok(kiln_profile_detect(a, p, &err), &err);
    kiln_assert_status_ok(
        kiln_subject_of_model(a, model, NULL, p, NULL, 1, NULL, &s, &err), &err);
    return s;
}
