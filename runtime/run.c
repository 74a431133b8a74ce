/* The run through a plan's steps. kiln_plan_check has seen that blocks nest, end and
 * name one another, and that every step's bytes lie in memory: nothing is asked twice.
 */
#include "runtime/session_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef kiln_run_place place;

static size_t bytes_of(const kiln_plan *p, const kiln_plan_step *step, uint32_t k) {
    return (size_t)p->tensor[p->operand[step->first_operand + k]].bytes;
}

static int call(kiln_session *s, const kiln_plan_step *step, void **operand) {
    const kiln_args args = {operand, s->workspace};
    const int code = s->model->kernel[step->kernel](&args, s->ctx);
    if (code != 0)
        snprintf(s->error, KILN_ERROR_TEXT, "step '%.100s' failed with code %d",
                 kiln_plan_string(&s->model->plan, step->name), code);
    return code == 0 ? 0 : -1;
}

/* A step that computes or moves. */
static int work(kiln_session *s, const kiln_plan_step *step, const place *here) {
    const kiln_plan *p = &s->model->plan;
    void **operand = &s->operand[step->first_operand];
    if (step->kind == KILN_PLAN_CALL)
        return call(s, step, operand);
    char *from = operand[0], *to = operand[1];
    const size_t t = here->depth > 0 ? here->iteration[here->depth - 1] : 0;
    const size_t bytes = bytes_of(p, step, step->kind == KILN_PLAN_TAKE ? 1 : 0);
    if (step->kind == KILN_PLAN_TAKE)
        from += t * bytes;
    else if (step->kind == KILN_PLAN_PUT)
        to += t * bytes;
    memmove(to, from, bytes);
    return 0;
}

/* The step after one that chooses. */
static uint32_t next_of(const kiln_session *s, const kiln_plan_step *step,
                        place *here) {
    const kiln_plan_step *partner = &s->model->plan.step[step->partner];
    const unsigned char *condition;
    switch ((kiln_plan_step_kind)step->kind) {
    case KILN_PLAN_IF:
        condition = s->operand[step->first_operand];
        return *condition != 0 ? here->at + 1 : step->partner + 1;
    case KILN_PLAN_ELSE:
        return step->partner;
    case KILN_PLAN_LOOP:
        if (step->count == 0)
            return step->partner + 1;
        here->iteration[here->depth++] = 0;
        return here->at + 1;
    case KILN_PLAN_END:
        if (partner->kind != KILN_PLAN_LOOP)
            return here->at + 1;
        if (++here->iteration[here->depth - 1] < partner->count)
            return step->partner + 1;
        if (s->trace != NULL)
            kiln_session_show(s, here, KILN_TRACE_END);
        here->depth--;
        return here->at + 1;
    case KILN_PLAN_CALL:
    case KILN_PLAN_COPY:
    case KILN_PLAN_TAKE:
    case KILN_PLAN_PUT:
    case KILN_PLAN_N_KINDS:
        break;
    }
    return here->at + 1;
}

static int is_choice(const kiln_plan_step *step) {
    return step->kind >= KILN_PLAN_IF && step->kind <= KILN_PLAN_END;
}

static int run_step(kiln_session *s, place *here) {
    const kiln_plan_step *step = &s->model->plan.step[here->at];
    if (s->trace != NULL && (!is_choice(step) || step->kind == KILN_PLAN_IF))
        kiln_session_show(s, here, KILN_TRACE_READ);
    if (is_choice(step)) {
        here->at = next_of(s, step, here);
        return 0;
    }
    const uint64_t begin = s->is_measuring ? now() : 0;
    if (work(s, step, here) != 0)
        return -1;
    if (s->is_measuring) {
        s->measured[here->at].nanoseconds += now() - begin;
        s->measured[here->at].runs++;
    }
    if (s->trace != NULL)
        kiln_session_show(s, here, KILN_TRACE_WRITTEN);
    here->at++;
    return 0;
}

int kiln_session_run(kiln_session *s) {
    const kiln_plan_header *h = s->model->plan.header;
    for (uint32_t i = 0; i < h->n_inputs; i++)
        if (!s->port[i].is_set) {
            snprintf(s->error, KILN_ERROR_TEXT,
                     "an input was never set (port %u of '%.100s')", i,
                     kiln_model_name(s->model));
            return -1;
        }
    if (kiln_session_check_ports(s) != 0)
        return -1;
    place here = {.at = 0};
    int result = 0;
    if (s->trace != NULL)
        kiln_session_poison(s);
    if (s->pool != NULL)
        kiln_pool_begin(s->pool);
    while (result == 0 && here.at < h->n_steps)
        result = run_step(s, &here);
    if (s->pool != NULL)
        kiln_pool_end(s->pool);
    return result;
}
