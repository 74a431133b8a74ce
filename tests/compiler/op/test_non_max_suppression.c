/* non_max_suppression on many boxes: the list of those that may still be taken closes up
 * while boxes are taken, overlap and tie, and the code must take what the reference
 * does, which knows no such list. */
#include "tests/support/kernel/compute_case.h"
#include "tests/support/kiln_test.h"

#include <math.h>

typedef struct row {
    const char *name;
    int64_t images, classes, boxes, most;
    int64_t places;          /* that boxes lie around; 0: each has its own */
    int64_t levels;          /* scores; 0: of any value */
    double iou, lowest;      /* thresholds; lowest -1: no such attribute */
    bool is_center, has_nan; /* some scores are no numbers */
} row;

static row rows[] = {
    {"boxes_far_apart_are_all_taken", 1, 1, 40, 40, 0, 0, 0.5, -1, false, false},
    {"few_places_leave_few_boxes", 1, 2, 60, 60, 5, 0, 0.3, -1, false, false},
    {"many_overlap_and_many_do_not", 2, 2, 50, 20, 12, 0, 0.5, 0.2, false, false},
    {"equal_scores_are_taken_in_order", 1, 2, 48, 48, 8, 3, 0.4, -1, false, false},
    {"all_scores_are_equal", 1, 1, 40, 40, 6, 1, 0.4, -1, false, false},
    {"every_overlap_is_too_large", 1, 1, 40, 40, 4, 0, 0, -1, false, false},
    {"no_overlap_is_too_large", 1, 1, 40, 12, 2, 0, 1, -1, false, false},
    {"what_is_no_number_takes_no_part", 2, 1, 40, 40, 6, 0, 0.5, -1, false, true},
    {"nothing_is_above_the_lowest_score", 1, 2, 20, 20, 4, 0, 0.5, 2, false, false},
    {"centres_and_sizes", 1, 2, 48, 48, 7, 4, 0.5, 0.1, true, false},
};

static kiln_graph *graph_of(kiln_arena *a, const row *r) {
    kiln_buf b;
    kiln_err err = {0};
    kiln_graph *g;
    kiln_buf_init(&b, a);
    kiln_buf_printf(&b,
                    "graph \"g\" { input %%b : f32[%lld,%lld,4] input %%s : "
                    "f32[%lld,%lld,%lld] %%y, %%n = non_max_suppression(%%b, %%s) "
                    "{max_per_class=%lld, iou_threshold=%a, center_point=%s",
                    (long long)r->images, (long long)r->boxes, (long long)r->images,
                    (long long)r->classes, (long long)r->boxes, (long long)r->most,
                    r->iou, r->is_center ? "true" : "false");
    if (r->lowest != -1)
        kiln_buf_printf(&b, ", score_threshold=%a", r->lowest);
    kiln_buf_puts(&b, "} output %y output %n }");
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_buf_str(&b), r->name, &g, &err),
                          &err);
    return g;
}

/* Corners in either order, or centres: about 1 wide, around a place on a grid of 4. */
static void fill_boxes(const row *r, kiln_rng *rng, float *x) {
    for (int64_t i = 0; i < r->images * r->boxes; i++) {
        const int64_t place =
            r->places > 0 ? kiln_rng_range(rng, 0, r->places - 1) : i % r->boxes;
        const bool is_turned = kiln_rng_range(rng, 0, 3) == 0;
        for (int k = 0; k < 2; k++) {
            const double at = 4.0 * (double)(k == 0 ? place % 8 : place / 8);
            const double lo = at + 0.5 * kiln_rng_unit(rng);
            const double size = 0.75 + 0.5 * kiln_rng_unit(rng);
            const bool turns = is_turned && !r->is_center;
            x[4 * i + k] = (float)(turns ? lo + size : lo);
            x[4 * i + 2 + k] = (float)(r->is_center ? size : turns ? lo : lo + size);
        }
    }
}

static void fill_scores(const row *r, kiln_rng *rng, float *x) {
    for (int64_t i = 0; i < r->images * r->classes * r->boxes; i++) {
        const double any = kiln_rng_unit(rng);
        x[i] = (float)(r->levels > 0 ? floor(any * (double)r->levels) : any);
        if (r->has_nan && kiln_rng_range(rng, 0, 4) == 0)
            x[i] = NAN;
    }
}

static void takes_what_the_reference_does(void **state) {
    const row *r = *state;
    enum { RUNS = 4 };
    for (int64_t run = 0; run < kiln_test_cases(RUNS); run++) {
        kiln_arena a;
        kiln_rng rng;
        kiln_err err = {0};
        compute_case c;
        kiln_tensor in[2];
        kiln_arena_init(&a);
        kiln_rng_init(&rng, kiln_test_seed() + (uint64_t)run);
        kiln_graph *g = graph_of(&a, r);
        for (int i = 0; i < 2; i++)
            in[i] = kiln_tensor_new(&a, &g->inputs.v[i]->type);
        fill_boxes(r, &rng, in[0].data);
        fill_scores(r, &rng, in[1].data);
        kiln_assert_status_ok(compute_case_init(&a, &c, g, in, &err), &err);
        const char *wrong = compute_case_check(&a, &c, NULL, false);
        if (wrong != NULL)
            fail_msg("%s, seed %llu, run %lld: %s", r->name,
                     (unsigned long long)kiln_test_seed(), (long long)run, wrong);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_add_rows(takes_what_the_reference_does, rows);
    return kiln_test_run("non_max_suppression");
}
