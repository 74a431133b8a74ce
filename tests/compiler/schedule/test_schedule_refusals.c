/* What each primitive refuses, and in which words: stage and loop are named, and the
 * schedule stays as it was. */
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"

/* scaled[i, j] = x[i, j] * 2; sum[i] = sum over j of scaled; y[i] = sum[i] + 1 */
typedef struct fixture {
    kiln_arena *a;
    kiln_te *x, *scaled, *sum, *y;
    kiln_schedule *s;
    kiln_stage *st_scaled, *st_sum, *st_y;
    kiln_err err;
} fixture;

#define DIMS(...)                                                                      \
    (const int64_t[]) { __VA_ARGS__ }
#define INDEX(...)                                                                     \
    (const kiln_expr *[]) { __VA_ARGS__ }

static void seal(fixture *f, kiln_te *te, const kiln_expr *body) {
    kiln_assert_status_ok(kiln_te_end(te, 1, &body, &f->err), &f->err);
}

static void make(fixture *f) {
    kiln_arena *a = kiln_test_arena();
    *f = (fixture){.a = a};
    f->x = kiln_te_placeholder(a, "x", KILN_F32, 2, DIMS(8, 12));
    f->scaled = kiln_te_begin(a, "scaled", 2, DIMS(8, 12));
    const kiln_expr *i = kiln_te_var(f->scaled, 0), *j = kiln_te_var(f->scaled, 1);
    seal(f, f->scaled,
         kiln_x_mul(a, kiln_te_read(a, f->x, INDEX(i, j)),
                    kiln_x_float(a, KILN_F32, 2)));
    f->sum = kiln_te_begin(a, "sum", 1, DIMS(8));
    const kiln_axis *r = kiln_te_reduce_axis(f->sum, "r", 12);
    seal(f, f->sum,
         kiln_te_sum(f->sum,
                     kiln_te_read(a, f->scaled,
                                  INDEX(kiln_te_var(f->sum, 0), kiln_axis_var(a, r))),
                     &r, 1));
    f->y = kiln_te_begin(a, "y", 1, DIMS(8));
    seal(f, f->y,
         kiln_x_add(a, kiln_te_read(a, f->sum, INDEX(kiln_te_var(f->y, 0))),
                    kiln_x_float(a, KILN_F32, 1)));
    const kiln_te *out = f->y;
    f->s = kiln_schedule_new(a, &out, 1);
    f->st_scaled = kiln_schedule_stage(f->s, f->scaled);
    f->st_sum = kiln_schedule_stage(f->s, f->sum);
    f->st_y = kiln_schedule_stage(f->s, f->y);
}

/* ---- one primitive each ---------------------------------------------------------- */

static kiln_status split_by_zero(fixture *f) {
    kiln_iter *o, *i;
    return kiln_split(f->st_y, kiln_stage_axis(f->st_y, 0), 0, &o, &i, &f->err);
}

static kiln_status split_into_no_parts(fixture *f) {
    kiln_iter *o, *i;
    return kiln_split_parts(f->st_y, kiln_stage_axis(f->st_y, 0), 0, &o, &i, &f->err);
}

static kiln_status split_what_was_split(fixture *f) {
    kiln_iter *o, *i, *x = kiln_stage_axis(f->st_y, 0);
    kiln_assert_status_ok(kiln_split(f->st_y, x, 2, &o, &i, &f->err), &f->err);
    return kiln_split(f->st_y, x, 2, &o, &i, &f->err);
}

static kiln_status split_annotated(fixture *f) {
    kiln_iter *o, *i, *x = kiln_stage_axis(f->st_y, 0);
    kiln_assert_status_ok(kiln_parallel(f->st_y, x, &f->err), &f->err);
    return kiln_split(f->st_y, x, 2, &o, &i, &f->err);
}

static kiln_status loop_of_another_stage(fixture *f) {
    return kiln_unroll(f->st_y, kiln_stage_axis(f->st_sum, 0), &f->err);
}

static kiln_status fuse_apart(fixture *f) {
    kiln_iter *fused;
    return kiln_fuse(f->st_scaled, kiln_stage_axis(f->st_scaled, 1),
                     kiln_stage_axis(f->st_scaled, 0), &fused, &f->err);
}

static kiln_status fuse_kinds(fixture *f) {
    kiln_iter *fused;
    return kiln_fuse(f->st_sum, kiln_stage_axis(f->st_sum, 0),
                     kiln_stage_reduce(f->st_sum, 0), &fused, &f->err);
}

static kiln_status unit_loop_twice(fixture *f) {
    kiln_iter *x;
    kiln_assert_status_ok(kiln_unit_loop(f->st_scaled, &x, &f->err), &f->err);
    return kiln_unit_loop(f->st_scaled, &x, &f->err);
}

static kiln_status reorder_twice(fixture *f) {
    kiln_iter *x = kiln_stage_axis(f->st_scaled, 0);
    kiln_iter *const order[] = {x, x};
    return kiln_reorder(f->st_scaled, order, 2, &f->err);
}

static kiln_status vectorize_reduction(fixture *f) {
    return kiln_vectorize(f->st_sum, kiln_stage_reduce(f->st_sum, 0), &f->err);
}

static kiln_status parallel_reduction(fixture *f) {
    return kiln_parallel(f->st_sum, kiln_stage_reduce(f->st_sum, 0), &f->err);
}

static kiln_status bind_reduction(fixture *f) {
    return kiln_bind(f->st_sum, kiln_stage_reduce(f->st_sum, 0), "threadIdx.x",
                     &f->err);
}

static kiln_status bind_no_axis(fixture *f) {
    return kiln_bind(f->st_y, kiln_stage_axis(f->st_y, 0), "lane", &f->err);
}

static void bind_ok(fixture *f, kiln_stage *st, kiln_iter *x, const char *tag) {
    kiln_assert_status_ok(kiln_bind(st, x, tag, &f->err), &f->err);
}

static kiln_status bind_twice(fixture *f) {
    bind_ok(f, f->st_scaled, kiln_stage_axis(f->st_scaled, 0), "threadIdx.x");
    return kiln_bind(f->st_scaled, kiln_stage_axis(f->st_scaled, 1), "threadIdx.x",
                     &f->err);
}

static kiln_status prefetch_unread(fixture *f) {
    static const kiln_ahead next = {.iterations = 1};
    return kiln_prefetch(f->st_y, f->x, kiln_stage_axis(f->st_y, 0), &next, &f->err);
}

static kiln_status output_at(fixture *f) {
    return kiln_compute_at(f->st_y, f->st_sum, kiln_stage_axis(f->st_sum, 0), &f->err);
}

static kiln_status consumer_at_producer(fixture *f) {
    return kiln_compute_at(f->st_sum, f->st_scaled, kiln_stage_axis(f->st_scaled, 0),
                           &f->err);
}

static kiln_status at_unrelated(fixture *f) {
    return kiln_compute_at(f->st_scaled, f->st_y, kiln_stage_axis(f->st_y, 0), &f->err);
}

static kiln_status at_vectorized(fixture *f) {
    kiln_iter *x = kiln_stage_axis(f->st_y, 0);
    kiln_assert_status_ok(kiln_vectorize(f->st_y, x, &f->err), &f->err);
    return kiln_compute_at(f->st_sum, f->st_y, x, &f->err);
}

static kiln_status inline_reduction(fixture *f) {
    return kiln_compute_inline(f->st_sum, &f->err);
}

static kiln_status inline_output(fixture *f) {
    return kiln_compute_inline(f->st_y, &f->err);
}

static kiln_status scope_of_output(fixture *f) {
    return kiln_set_scope(f->st_y, KILN_SCOPE_LOCAL, &f->err);
}

static kiln_status align_missing_axis(fixture *f) {
    return kiln_storage_align(f->st_sum, 1, 8, 0, &f->err);
}

static kiln_status align_by_zero(fixture *f) {
    return kiln_storage_align(f->st_sum, 0, 0, 0, &f->err);
}

static kiln_status double_buffer_output(fixture *f) {
    return kiln_double_buffer(f->st_y, &f->err);
}

static kiln_status cache_read_unread(fixture *f) {
    kiln_stage *out;
    return kiln_cache_read(f->s, f->x, KILN_SCOPE_LOCAL, &f->st_y, 1, &out, &f->err);
}

static kiln_status cache_write_late(fixture *f) {
    kiln_iter *o, *i;
    kiln_stage *out;
    kiln_assert_status_ok(
        kiln_split(f->st_y, kiln_stage_axis(f->st_y, 0), 2, &o, &i, &f->err), &f->err);
    return kiln_cache_write(f->st_y, KILN_SCOPE_LOCAL, &out, &f->err);
}

static kiln_status rfactor_spatial(fixture *f) {
    kiln_stage *out;
    return kiln_rfactor(f->st_sum, kiln_stage_axis(f->st_sum, 0), &out, &f->err);
}

static kiln_status rfactor_outside(fixture *f) {
    kiln_stage *out;
    return kiln_rfactor_axis(f->st_sum, kiln_stage_reduce(f->st_sum, 0), 7, &out,
                             &f->err);
}

static kiln_status rfactor_touched(fixture *f) {
    kiln_iter *o, *i;
    kiln_stage *out;
    kiln_assert_status_ok(
        kiln_split(f->st_sum, kiln_stage_axis(f->st_sum, 0), 2, &o, &i, &f->err),
        &f->err);
    return kiln_rfactor(f->st_sum, kiln_stage_reduce(f->st_sum, 0), &out, &f->err);
}

/* ---- lowering -------------------------------------------------------------------- */

static kiln_status lower(fixture *f, const kiln_te *const *args, size_t n,
                         size_t n_inputs) {
    kiln_program *p = NULL;
    return kiln_lower(f->a, f->s, args, n, n_inputs, "k", &p, &f->err);
}

static kiln_status lower_all(fixture *f) {
    const kiln_te *args[] = {f->x, f->y};
    return lower(f, args, 2, 1);
}

static kiln_status ahead_of_nothing(fixture *f) {
    KILN_TRY(kiln_double_buffer(f->st_sum, &f->err));
    return lower_all(f);
}

static kiln_status ahead_at_once(fixture *f) {
    kiln_iter *i = kiln_stage_axis(f->st_y, 0);
    KILN_TRY(kiln_parallel(f->st_y, i, &f->err));
    KILN_TRY(kiln_compute_at(f->st_sum, f->st_y, i, &f->err));
    return ahead_of_nothing(f);
}

/* 'sum' is computed from 'scaled', both in each iteration; ahead of it 'scaled' is not. */
static kiln_status ahead_of_what_it_reads(fixture *f) {
    kiln_iter *i = kiln_stage_axis(f->st_y, 0);
    KILN_TRY(kiln_compute_at(f->st_sum, f->st_y, i, &f->err));
    KILN_TRY(kiln_compute_at(f->st_scaled, f->st_y, i, &f->err));
    return ahead_of_nothing(f);
}

/* `st` in a scope, and y bound to threads. */
static void in_threads(fixture *f, kiln_stage *st, kiln_scope scope) {
    kiln_assert_status_ok(kiln_set_scope(st, scope, &f->err), &f->err);
    bind_ok(f, f->st_y, kiln_stage_axis(f->st_y, 0), "threadIdx.x");
}

static void sum_inside(fixture *f) {
    kiln_assert_status_ok(
        kiln_compute_at(f->st_sum, f->st_y, kiln_stage_axis(f->st_y, 0), &f->err),
        &f->err);
}

static kiln_status shared_outside(fixture *f) {
    in_threads(f, f->st_sum, KILN_SCOPE_SHARED);
    return lower_all(f);
}

static kiln_status shared_by_each(fixture *f) {
    in_threads(f, f->st_sum, KILN_SCOPE_SHARED);
    sum_inside(f);
    return lower_all(f);
}

static kiln_status local_outside(fixture *f) {
    in_threads(f, f->st_sum, KILN_SCOPE_LOCAL);
    return lower_all(f);
}

static kiln_status local_by_many(fixture *f) {
    in_threads(f, f->st_sum, KILN_SCOPE_LOCAL);
    sum_inside(f);
    bind_ok(f, f->st_sum, kiln_stage_axis(f->st_sum, 0), "threadIdx.x");
    return lower_all(f);
}

/* 8 threads come to y's loop, and 12 are asked for there. */
static kiln_status more_threads_inside(fixture *f) {
    kiln_iter *all = NULL;
    in_threads(f, f->st_scaled, KILN_SCOPE_SHARED);
    sum_inside(f);
    kiln_assert_status_ok(
        kiln_compute_at(f->st_scaled, f->st_y, kiln_stage_axis(f->st_y, 0), &f->err),
        &f->err);
    kiln_assert_status_ok(kiln_fuse(f->st_scaled, kiln_stage_axis(f->st_scaled, 0),
                                    kiln_stage_axis(f->st_scaled, 1), &all, &f->err),
                          &f->err);
    bind_ok(f, f->st_scaled, all, "threadIdx.x");
    return lower_all(f);
}

static kiln_status missing_output(fixture *f) {
    const kiln_te *args[] = {f->x};
    return lower(f, args, 1, 1);
}

static kiln_status missing_input(fixture *f) {
    const kiln_te *args[] = {f->y};
    return lower(f, args, 1, 0);
}

static kiln_status swapped_arguments(fixture *f) {
    const kiln_te *args[] = {f->y, f->x};
    return lower(f, args, 2, 1);
}

static kiln_status attached_to_a_loop_that_is_gone(fixture *f) {
    kiln_iter *o, *i, *x = kiln_stage_axis(f->st_y, 0);
    const kiln_te *args[] = {f->x, f->y};
    kiln_assert_status_ok(kiln_compute_at(f->st_sum, f->st_y, x, &f->err), &f->err);
    kiln_assert_status_ok(kiln_split(f->st_y, x, 2, &o, &i, &f->err), &f->err);
    return lower(f, args, 2, 1);
}

static kiln_status read_outside_of_its_loop(fixture *f) {
    const kiln_te *args[] = {f->x, f->y};
    kiln_iter *x = kiln_stage_axis(f->st_y, 0);
    kiln_assert_status_ok(kiln_compute_at(f->st_sum, f->st_y, x, &f->err), &f->err);
    kiln_assert_status_ok(kiln_compute_at(f->st_scaled, f->st_sum,
                                          kiln_stage_axis(f->st_sum, 0), &f->err),
                          &f->err);
    kiln_assert_status_ok(kiln_compute_root(f->st_sum, &f->err), &f->err);
    kiln_assert_status_ok(kiln_compute_at(f->st_scaled, f->st_sum,
                                          kiln_stage_reduce(f->st_sum, 0), &f->err),
                          &f->err);
    f->st_sum->attach = KILN_ATTACH_ROOT;
    f->st_scaled->at_stage = f->st_y; /* as a program with a mistake would */
    f->st_scaled->at_iter = x;
    return lower(f, args, 2, 1);
}

static kiln_status read_further_out(fixture *f) {
    const kiln_te *args[] = {f->x, f->y};
    kiln_iter *o, *i, *x = kiln_stage_axis(f->st_y, 0);
    kiln_assert_status_ok(kiln_split(f->st_y, x, 2, &o, &i, &f->err), &f->err);
    kiln_assert_status_ok(kiln_compute_at(f->st_sum, f->st_y, o, &f->err), &f->err);
    kiln_assert_status_ok(kiln_compute_at(f->st_scaled, f->st_y, i, &f->err), &f->err);
    return lower(f, args, 2, 1);
}

typedef struct row {
    const char *name;
    kiln_status (*call)(fixture *f);
    const char *text;
} row;

static row rows[] = {
    {"split_needs_a_factor", split_by_zero,
     "factor of loop 'i0' of stage 'y' must be >= 1"},
    {"split_needs_parts", split_into_no_parts,
     "parts of loop 'i0' of stage 'y' must be >= 1"},
    {"split_takes_leaves_only", split_what_was_split,
     "'i0' is not a loop of stage 'y'"},
    {"split_comes_before_annotations", split_annotated,
     "already annotated; split before"},
    {"loops_belong_to_one_stage", loop_of_another_stage,
     "'i0' is not a loop of stage 'y'"},
    {"fuse_takes_neighbours", fuse_apart,
     "'i1' must directly enclose 'i0' in stage 'scaled'"},
    {"fuse_takes_one_kind", fuse_kinds, "a spatial and a reduction loop"},
    {"a_stage_has_one_unit_loop", unit_loop_twice,
     "unit_loop: stage 'scaled' has one already"},
    {"reorder_names_a_loop_once", reorder_twice,
     "'i0' of stage 'scaled' is named twice"},
    {"vectorize_takes_spatial_loops", vectorize_reduction,
     "use rfactor to make it spatial"},
    {"parallel_takes_spatial_loops", parallel_reduction,
     "'r' of stage 'sum' is a reduction"},
    {"bind_takes_spatial_loops", bind_reduction,
     "'r' of stage 'sum' is a reduction loop"},
    {"bind_knows_its_axes", bind_no_axis,
     "there is no axis 'lane' for loop 'i0' of stage 'y'"},
    {"bind_binds_an_axis_once", bind_twice,
     "a loop of stage 'scaled' is bound to threadIdx.x already"},
    {"shared_memory_is_a_blocks", shared_outside,
     "stage 'sum' is in shared memory, which is one block's, and is computed outside"},
    {"shared_memory_is_filled_together", shared_by_each,
     "each of its threads would compute all of it; bind a loop of the stage to "
     "threadIdx.x"},
    {"local_memory_is_read_where_it_is", local_outside,
     "stage 'sum' is in one thread's memory, and 'y' reads it inside a loop that is "
     "bound to threadIdx.x"},
    {"local_memory_is_filled_by_one", local_by_many,
     "stage 'sum' is in one thread's memory, so no loop of it can be bound to "
     "threadIdx.x"},
    {"no_more_threads_than_come", more_threads_inside,
     "loop 'i0.i1.fused' of stage 'scaled' needs more threads along threadIdx.x than "
     "come there"},
    {"prefetch_takes_what_is_read", prefetch_unread, "stage 'y' does not read 'x'"},
    {"compute_at_leaves_outputs", output_at, "stage 'y' is an output"},
    {"compute_at_goes_downstream", consumer_at_producer,
     "'scaled' does not come after 'sum'"},
    {"compute_at_goes_to_readers", at_unrelated, "'scaled' is also read by 'sum'"},
    {"compute_at_stays_out_of_vectors", at_vectorized,
     "inside the vectorised loop 'i0' of 'y'"},
    {"inline_takes_injective_stages", inline_reduction,
     "stage 'sum' is no injective compute"},
    {"inline_leaves_outputs", inline_output, "stage 'y' is an output"},
    {"scope_leaves_outputs", scope_of_output, "set_scope: stage 'y' is an output"},
    {"align_takes_existing_axes", align_missing_axis, "stage 'sum' has no axis 1"},
    {"align_needs_a_factor", align_by_zero, "needs factor >= 1"},
    {"double_buffer_leaves_outputs", double_buffer_output, "stage 'y' is an output"},
    {"double_buffer_in_no_loop", ahead_of_nothing,
     "stage 'sum' is double buffered, and computed in no loop whose iterations"},
    {"double_buffer_at_once", ahead_at_once,
     "but once in each of i0; compute it inside"},
    {"double_buffer_of_what_is_late", ahead_of_what_it_reads,
     "stage 'sum' is double buffered in loop 'i0', and reads 'scaled', which is"},
    {"cache_read_takes_readers", cache_read_unread, "stage 'y' does not read 'x'"},
    {"cache_write_comes_first", cache_write_late, "whose loops are untouched"},
    {"rfactor_takes_reductions", rfactor_spatial,
     "'i0' of stage 'sum' is no reduction loop"},
    {"rfactor_has_so_many_axes", rfactor_outside,
     "rfactor: the partial stage of 'sum' has axes 0 to 1, no 7"},
    {"rfactor_comes_first", rfactor_touched,
     "spatial loops of stage 'sum' must be untouched"},
    {"lower_needs_outputs", missing_output, "output 'y' is not among the arguments"},
    {"lower_needs_inputs", missing_input,
     "reads 'x', which is not among the arguments"},
    {"lower_wants_inputs_first", swapped_arguments,
     "argument 0 ('y') must be a placeholder"},
    {"lower_wants_attached_loops_to_exist", attached_to_a_loop_that_is_gone,
     "'sum' is attached to loop 'i0' of 'y', which was split"},
    {"lower_wants_readers_inside", read_outside_of_its_loop,
     "but 'sum' reads it outside"},
    {"lower_wants_readers_in_the_same_loop", read_further_out,
     "'scaled' is computed inside 'y', but 'sum' reads it outside"},
};

static void refuses(void **state) {
    const row *r = *state;
    fixture f;
    make(&f);
    const size_t n_stages = f.s->stage.n, n_leaves = f.st_y->leaf.n;
    const kiln_status st = r->call(&f);
    kiln_assert_fails(st, KILN_ERR_ARG, &f.err, r->text);
    assert_int_equal(f.s->stage.n, n_stages);
    assert_true(f.st_y->leaf.n >= n_leaves);
}

int main(void) {
    kiln_test_add_rows(refuses, rows);
    return kiln_test_run("schedule refusals");
}
