/* The run through a plan's steps. kiln_plan_check has seen that blocks nest, end and
 * name one another, that every step's bytes lie in memory that its device reaches, and
 * that every wait ends: nothing is asked twice. What is the host's is done here, by a
 * direct call; what is another queue's it is told. */
#include "runtime/session_internal.h"

#include <assert.h>
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

static int failed(kiln_session *s, uint32_t step, int code, const char *why) {
    const kiln_plan *p = &s->model->plan;
    snprintf(s->error, KILN_ERROR_TEXT, "step '%.100s' failed with code %d%s%.100s",
             kiln_plan_string(p, p->step[step].name), code, why != NULL ? ": " : "",
             why != NULL ? why : "");
    return -1;
}

/* ---- other queues ------------------------------------------------------------------
 */

static int finish(kiln_session *s, uint32_t queue, uint64_t ticket) {
    assert(queue < s->model->plan.header->queues.n);
    kiln_device_queue *q = s->queue[queue];
    kiln_device_failure failure;
    return q->kind->finish(q, ticket, &failure) == 0
               ? 0
               : failed(s, failure.tag, failure.code, failure.why);
}

int kiln_session_finish(kiln_session *s) {
    int result = 0;
    for (uint32_t i = 1; i < s->model->plan.header->queues.n; i++)
        if (finish(s, i, KILN_DEVICE_ALL) != 0)
            result = -1;
    return result;
}

/* The host's own steps are done when they are over. */
static int wait(kiln_session *s, const kiln_plan_step *step) {
    const uint32_t other = s->model->plan.step[step->partner].queue;
    const uint64_t ticket = s->ticket[step->partner];
    kiln_device_queue *q = s->queue[step->queue];
    if (other == 0 || ticket == 0)
        return 0;
    if (step->queue == 0 || q->kind->order == NULL || q->kind != s->queue[other]->kind)
        return finish(s, other, ticket);
    q->kind->order(q, s->queue[other], ticket);
    return 0;
}

/* Who measures or looks on does so step by step. */
static int told(kiln_session *s, const place *here, uint64_t ticket) {
    assert(s->ticket != NULL && ticket > 0);
    s->ticket[here->at] = ticket;
    return s->is_measuring || s->trace != NULL
               ? finish(s, s->model->plan.step[here->at].queue, ticket)
               : 0;
}

static int tell_launch(kiln_session *s, const kiln_plan_step *step, void **operand,
                       const place *here) {
    kiln_device_queue *q = s->queue[step->queue];
    const kiln_device_launch l = {s->model->kernel[step->kernel], operand,
                                  step->n_operands, here->at};
    return told(s, here, q->kind->launch(q, &l));
}

static int tell_copy(kiln_session *s, const kiln_plan_step *step, void *to,
                     const void *from, size_t bytes, const place *here) {
    kiln_device_queue *q = s->queue[step->queue];
    const kiln_device_copy c = {to, from, bytes, here->at};
    return told(s, here, q->kind->copy(q, &c));
}

/* ---- steps -------------------------------------------------------------------------
 */

static int launch(kiln_session *s, const kiln_plan_step *step, void **operand,
                  const place *here) {
    if (step->queue != 0)
        return tell_launch(s, step, operand, here);
    assert(s->model->kernel[step->kernel].fn != NULL);
    const kiln_args args = {operand, s->workspace};
    const int code = s->model->kernel[step->kernel].fn(&args, s->ctx);
    return code == 0 ? 0 : failed(s, here->at, code, NULL);
}

/* A step that computes, moves or waits. */
static int work(kiln_session *s, const kiln_plan_step *step, const place *here) {
    const kiln_plan *p = &s->model->plan;
    void **operand = &s->operand[step->first_operand];
    if (step->kind == KILN_PLAN_LAUNCH)
        return launch(s, step, operand, here);
    if (step->kind == KILN_PLAN_WAIT)
        return wait(s, step);
    char *from = operand[0], *to = operand[1];
    const size_t t = here->depth > 0 ? here->iteration[here->depth - 1] : 0;
    const size_t bytes = bytes_of(p, step, step->kind == KILN_PLAN_TAKE ? 1 : 0);
    if (step->kind == KILN_PLAN_TAKE)
        from += t * bytes;
    else if (step->kind == KILN_PLAN_PUT)
        to += t * bytes;
    if (step->queue != 0)
        return tell_copy(s, step, to, from, bytes, here);
    memmove(to, from, bytes);
    return 0;
}

/* The step after one that chooses. */
static uint32_t next_of(const kiln_session *s, const kiln_plan_step *step,
                        place *here) {
    assert(step->partner < s->model->plan.header->n_steps);
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
        assert(here->depth < KILN_PLAN_MAX_DEPTH);
        here->iteration[here->depth++] = 0;
        return here->at + 1;
    case KILN_PLAN_END:
        if (partner->kind != KILN_PLAN_LOOP)
            return here->at + 1;
        assert(here->depth > 0);
        if (++here->iteration[here->depth - 1] < partner->count)
            return step->partner + 1;
        if (s->trace != NULL)
            kiln_session_show(s, here, KILN_TRACE_END);
        here->depth--;
        return here->at + 1;
    case KILN_PLAN_LAUNCH:
    case KILN_PLAN_COPY:
    case KILN_PLAN_TAKE:
    case KILN_PLAN_PUT:
    case KILN_PLAN_WAIT:
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

static void begin(const kiln_session *s) {
    const kiln_plan_header *h = s->model->plan.header;
    if (s->ticket != NULL)
        memset(s->ticket, 0, h->n_steps * sizeof *s->ticket);
    for (uint32_t i = 0; i < h->queues.n; i++)
        if (s->queue[i]->kind->begin != NULL)
            s->queue[i]->kind->begin(s->queue[i]);
}

/* Whatever became of it: nothing works on the caller's memory afterwards. */
static int end(kiln_session *s, int result) {
    const kiln_plan_header *h = s->model->plan.header;
    if (h->queues.n > 1 && kiln_session_finish(s) != 0)
        result = -1;
    for (uint32_t i = 0; i < h->queues.n; i++)
        if (s->queue[i]->kind->end != NULL)
            s->queue[i]->kind->end(s->queue[i]);
    return result;
}

int kiln_session_run(kiln_session *s) {
    s = s->now;
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
    begin(s);
    while (result == 0 && here.at < h->n_steps)
        result = run_step(s, &here);
    assert(result != 0 || here.depth == 0);
    return end(s, result);
}
