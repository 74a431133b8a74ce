/* Does what one step writes equal what the next reads? Asked of every network, in every
 * variant of kiln, before a plan leaves this room.
 *
 * Two witnesses that know nothing of how the network was made. Types: each operand of a
 * kernel is held against the value that the step has in its place: dtype, shape, order
 * of elements, bytes, and zeros in tail lanes where the kernel relies on them. Memory:
 * the steps are walked through in order, branches apart and loops twice, with a note on
 * every 64 bytes of whose they are. A step that reads bytes which somebody else wrote
 * over, or nobody did, is found without a run; so are parts of one value that overlap.
 *
 * A disagreement is kiln's own (KILN_ERR_BUG) and names both steps. */
#include "compiler/network/executable_internal.h"

#include <inttypes.h>
#include <string.h>

enum { NOBODY = -1 };

/* Who wrote what, at one point of the walk. */
typedef struct memory {
    int32_t *owner;  /* by block of KILN_NETWORK_ALIGN bytes: the root slot; NOBODY */
    int32_t *writer; /* by slot: the step that wrote it last; NOBODY */
    size_t n_blocks, n_slots;
} memory;

typedef struct check {
    const kiln_net *n;
    kiln_arena arena;
    size_t *output_at; /* by output: its first block */
    size_t *arena_at;  /* by device */
    memory now;
    size_t step;
    kiln_err *err;
} check;

static const kiln_net_slot *slot_of(const check *c, int i) { return &c->n->slot.v[i]; }

static const char *step_name(const check *c, int step) {
    return step == NOBODY ? "(nobody)" : c->n->step.v[step].name;
}

static const char *here(const check *c) { return step_name(c, (int)c->step); }

/* The step that the value comes from, for messages. */
static const char *maker(const check *c, int slot) {
    const int root = kiln_net_root(c->n, slot);
    int step =
        c->now.writer[slot] != NOBODY ? c->now.writer[slot] : c->now.writer[root];
    for (size_t i = 0; i < c->now.n_slots && step == NOBODY; i++)
        if (kiln_net_root(c->n, (int)i) == root)
            step = c->now.writer[i];
    switch (slot_of(c, root)->place) {
    case KILN_NET_INPUT:
        return "(an input)";
    case KILN_NET_PARAM:
    case KILN_NET_PACKED:
        return "(a parameter)";
    case KILN_NET_OUTPUT:
    case KILN_NET_ARENA:
    case KILN_NET_N_PLACES:
        break;
    }
    return step_name(c, step);
}

/* ---- types ----------------------------------------------------------------------- */

static bool claims_zero_tails(const kiln_type *t) {
    return (t->facts & KILN_FACT_TAIL_ZERO) != 0 && kiln_type_has_tails(t);
}

bool kiln_net_same_bytes(const kiln_type *x, const kiln_type *y) {
    return x->dtype == y->dtype && kiln_type_same_shape(x, y) &&
           kiln_type_same_places(x, y);
}

static kiln_status check_operand(check *c, const kiln_type *kernel, int slot,
                                 bool is_written) {
    const kiln_net_slot *s = slot_of(c, slot);
    const kiln_type has = kiln_net_type_of(s);
    const kiln_type *first = is_written ? &has : kernel;
    const bool is_zero = !claims_zero_tails(first) ||
                         ((is_written ? kernel : &has)->facts & KILN_FACT_TAIL_ZERO);
    if (kiln_net_same_bytes(kernel, &has) && kiln_type_bytes(kernel) == s->bytes &&
        is_zero)
        return KILN_OK;
    const char *k = kiln_type_text(&c->arena, kernel);
    const char *v = kiln_type_text(&c->arena, &has);
    if (is_written)
        return kiln_fail(c->err, KILN_ERR_BUG,
                         "step '%s' writes '%s' as %s, who reads it is told %s of "
                         "%" PRId64 " bytes",
                         here(c), s->value->name, k, v, s->bytes);
    return kiln_fail(c->err, KILN_ERR_BUG,
                     "step '%s' makes '%s' as %s of %" PRId64 " bytes, step '%s' reads "
                     "it as %s",
                     maker(c, slot), s->value->name, v, s->bytes, here(c), k);
}

static kiln_status check_call(check *c, const kiln_net_step *s) {
    const kiln_network_kernel *k = &c->n->kernel.v[s->kernel];
    if (s->n_operands != k->n_operands || s->n_read != k->n_operands - k->n_written)
        return kiln_fail(c->err, KILN_ERR_BUG,
                         "step '%s' gives %d operands, %d of them to read; its kernel "
                         "has %d and %d",
                         s->name, s->n_operands, s->n_read, k->n_operands,
                         k->n_operands - k->n_written);
    for (int i = 0; i < s->n_operands; i++)
        KILN_TRY(check_operand(c, &k->operand[i], s->operand[i], i >= s->n_read));
    return KILN_OK;
}

/* Runs of the innermost loop around the step; 1: there is none. */
static int64_t runs_around(const check *c) {
    int64_t runs = 1;
    for (size_t i = 0; i < c->step; i++) {
        const kiln_net_step *s = &c->n->step.v[i];
        if (s->kind == KILN_NET_LOOP && (size_t)s->partner > c->step)
            runs = s->count;
    }
    return runs;
}

/* A queue computes in its device's memory, and moves between that and the host's. */
static kiln_status check_reach(check *c, const kiln_net_step *s) {
    for (int i = 0; i < s->n_operands; i++) {
        const kiln_net_slot *slot = slot_of(c, s->operand[i]);
        const bool is_near = slot->device == s->device ||
                             (slot->device == 0 && s->kind != KILN_NET_CALL);
        if (!is_near)
            return kiln_fail(c->err, KILN_ERR_BUG,
                             "step '%s' of device %d reads or writes '%s' in memory of "
                             "device %d",
                             s->name, s->device, slot->value->name, slot->device);
    }
    return KILN_OK;
}

/* Bytes go from one slot to another, whole or an element of a sequence. */
static kiln_status check_move(check *c, const kiln_net_step *s) {
    const kiln_net_slot *from = slot_of(c, s->operand[0]);
    const kiln_net_slot *to = slot_of(c, s->operand[1]);
    const kiln_type x = kiln_net_type_of(from), y = kiln_net_type_of(to);
    const int64_t runs = s->kind == KILN_NET_COPY ? 1 : runs_around(c);
    const int64_t whole = s->kind == KILN_NET_TAKE ? from->bytes : to->bytes;
    const int64_t part = s->kind == KILN_NET_TAKE ? to->bytes : from->bytes;
    const bool is_same = s->kind != KILN_NET_COPY || kiln_net_same_bytes(&x, &y);
    if (is_same && x.dtype == y.dtype && part * runs == whole &&
        (!claims_zero_tails(&y) || claims_zero_tails(&x)))
        return KILN_OK;
    return kiln_fail(c->err, KILN_ERR_BUG,
                     "step '%s' moves '%s', %s of %" PRId64 " bytes made by step '%s', "
                     "to '%s', %s of %" PRId64,
                     here(c), from->value->name, kiln_type_text(&c->arena, &x),
                     from->bytes, maker(c, s->operand[0]), to->value->name,
                     kiln_type_text(&c->arena, &y), to->bytes);
}

/* ---- slots ----------------------------------------------------------------------- */

static uint64_t room_of(const check *c, const kiln_net_slot *s) {
    const kiln_net *n = c->n;
    switch (s->place) {
    case KILN_NET_ARENA:
        return (uint64_t)n->device.v[s->device].arena_bytes;
    case KILN_NET_PARAM:
        return n->param_bytes;
    case KILN_NET_PACKED:
        return n->device.v[s->device].packed_bytes;
    case KILN_NET_INPUT:
        return (uint64_t)kiln_type_bytes(&n->port.v[s->index].value->type);
    case KILN_NET_OUTPUT:
    case KILN_NET_N_PLACES:
        break;
    }
    return (uint64_t)kiln_type_bytes(&n->port.v[n->n_inputs + s->index].value->type);
}

/* A view lies in what it is a view of, and promises no more than that does. */
static kiln_status check_view(check *c, const kiln_net_slot *s) {
    const kiln_net_slot *of = slot_of(c, s->view_of);
    const kiln_type t = kiln_net_type_of(s), whole = kiln_net_type_of(of);
    if (s->view_offset >= 0 && s->view_offset + s->bytes <= of->bytes &&
        s->place == of->place && s->index == of->index && s->device == of->device &&
        s->offset == of->offset + (uint64_t)s->view_offset &&
        (!claims_zero_tails(&whole) || !kiln_type_has_tails(&t) ||
         claims_zero_tails(&t)))
        return KILN_OK;
    return kiln_fail(c->err, KILN_ERR_BUG,
                     "'%s', %s, lies at byte %" PRId64 " (%" PRIu64 ") of '%s', %s of "
                     "%" PRId64 " bytes (%" PRIu64 "): it is no part of it",
                     s->value->name, kiln_type_text(&c->arena, &t), s->view_offset,
                     s->offset, of->value->name, kiln_type_text(&c->arena, &whole),
                     of->bytes, of->offset);
}

static kiln_status check_slot(check *c, int i) {
    const kiln_net_slot *s = slot_of(c, i);
    const kiln_type t = kiln_net_type_of(s);
    if (kiln_type_bytes(&t) != s->bytes || s->offset % KILN_NETWORK_ALIGN != 0 ||
        s->offset > room_of(c, s) || (uint64_t)s->bytes > room_of(c, s) - s->offset)
        return kiln_fail(c->err, KILN_ERR_BUG,
                         "'%s', %s, has %" PRId64 " bytes from byte %" PRIu64 " of "
                         "%" PRIu64,
                         s->value->name, kiln_type_text(&c->arena, &t), s->bytes,
                         s->offset, room_of(c, s));
    return s->view_of >= 0 ? check_view(c, s) : KILN_OK;
}

/* ---- memory ---------------------------------------------------------------------- */

typedef struct blocks {
    size_t begin, end;
} blocks;

/* None: inputs and parameters, which nobody writes. */
static blocks blocks_of(const check *c, const kiln_net_slot *s) {
    const size_t n = ((size_t)s->bytes + KILN_NETWORK_ALIGN - 1) / KILN_NETWORK_ALIGN;
    if (s->place != KILN_NET_ARENA && s->place != KILN_NET_OUTPUT)
        return (blocks){0, 0};
    const size_t base =
        s->place == KILN_NET_OUTPUT ? c->output_at[s->index] : c->arena_at[s->device];
    const size_t begin = base + (size_t)s->offset / KILN_NETWORK_ALIGN;
    return (blocks){begin, begin + n};
}

static bool overlap(blocks x, blocks y) { return x.begin < y.end && y.begin < x.end; }

static kiln_status read_slot(check *c, int slot) {
    const kiln_net_slot *s = slot_of(c, slot);
    const int root = kiln_net_root(c->n, slot);
    const blocks b = blocks_of(c, s);
    for (size_t i = b.begin; i < b.end; i++) {
        const int owner = c->now.owner[i];
        if (owner == root)
            continue;
        if (owner == NOBODY)
            return kiln_fail(c->err, KILN_ERR_BUG,
                             "step '%s' reads '%s', of which nobody has made byte %zu",
                             here(c), s->value->name,
                             (i - b.begin) * KILN_NETWORK_ALIGN);
        return kiln_fail(c->err, KILN_ERR_BUG,
                         "step '%s' reads '%s', which step '%s' made and step '%s' has "
                         "written over with '%s'",
                         here(c), s->value->name, maker(c, slot), maker(c, owner),
                         slot_of(c, owner)->value->name);
    }
    return KILN_OK;
}

/* A result may take the place of what the step reads only where the step was made for
 * it: then it takes all of it. */
static bool may_take(const kiln_net *n, const kiln_net_step *s, int read, int written) {
    const kiln_net_slot *x = &n->slot.v[read], *y = &n->slot.v[written];
    bool is_takeable = s->kind == KILN_NET_COPY;
    for (int i = 0; i < s->n_takeable; i++)
        is_takeable = is_takeable || s->takeable[i] == read;
    return is_takeable && x->device == y->device && x->offset == y->offset &&
           x->bytes == y->bytes;
}

static kiln_status write_slot(check *c, const kiln_net_step *step, int k) {
    const int slot = step->operand[k], root = kiln_net_root(c->n, slot);
    const kiln_net_slot *s = slot_of(c, slot);
    const blocks b = blocks_of(c, s);
    if (b.begin == b.end && s->bytes > 0)
        return kiln_fail(c->err, KILN_ERR_BUG,
                         "step '%s' writes '%s', which is an input or a parameter",
                         step->name, s->value->name);
    for (int i = 0; i < k; i++) {
        const int other = step->operand[i];
        if (overlap(b, blocks_of(c, slot_of(c, other))) &&
            (i >= step->n_read || !may_take(c->n, step, other, slot)))
            return kiln_fail(c->err, KILN_ERR_BUG,
                             "step '%s' writes '%s' over '%s', which it %s", step->name,
                             s->value->name, slot_of(c, other)->value->name,
                             i < step->n_read ? "reads" : "writes too");
    }
    for (size_t i = 0; i < c->now.n_slots; i++)
        if ((int)i != slot && c->now.writer[i] != NOBODY &&
            kiln_net_root(c->n, (int)i) == root &&
            overlap(b, blocks_of(c, slot_of(c, (int)i))))
            return kiln_fail(
                c->err, KILN_ERR_BUG,
                "step '%s' writes '%s' over '%s', another part of '%s', "
                "which step '%s' made",
                step->name, s->value->name, slot_of(c, (int)i)->value->name,
                slot_of(c, root)->value->name, step_name(c, c->now.writer[i]));
    for (size_t i = b.begin; i < b.end; i++)
        c->now.owner[i] = root;
    c->now.writer[slot] = (int32_t)c->step;
    return KILN_OK;
}

/* ---- steps ----------------------------------------------------------------------- */

static memory memory_new(kiln_arena *a, size_t n_blocks, size_t n_slots) {
    memory m = {kiln_array(a, int32_t, n_blocks), kiln_array(a, int32_t, n_slots),
                n_blocks, n_slots};
    for (size_t i = 0; i < n_blocks; i++)
        m.owner[i] = NOBODY;
    for (size_t i = 0; i < n_slots; i++)
        m.writer[i] = NOBODY;
    return m;
}

static memory memory_copy(kiln_arena *a, const memory *m) {
    const memory copy = memory_new(a, m->n_blocks, m->n_slots);
    memcpy(copy.owner, m->owner, m->n_blocks * sizeof *m->owner);
    memcpy(copy.writer, m->writer, m->n_slots * sizeof *m->writer);
    return copy;
}

/* What holds after either of two ways. */
static void memory_join(memory *m, const memory *other) {
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->owner[i] != other->owner[i])
            m->owner[i] = NOBODY;
    for (size_t i = 0; i < m->n_slots; i++)
        if (m->writer[i] != other->writer[i])
            m->writer[i] = NOBODY;
}

static kiln_status check_steps(check *c, size_t begin, size_t end);

static kiln_status check_if(check *c, size_t at, size_t *next) {
    const kiln_net_step *s = &c->n->step.v[at];
    const size_t other = (size_t)s->partner, end = (size_t)c->n->step.v[other].partner;
    KILN_TRY(read_slot(c, s->operand[0]));
    memory before = memory_copy(&c->arena, &c->now);
    KILN_TRY(check_steps(c, at + 1, other));
    const memory after = c->now;
    c->now = before;
    KILN_TRY(check_steps(c, other + 1, end));
    memory_join(&c->now, &after);
    *next = end + 1;
    return KILN_OK;
}

/* Twice: what an iteration reads, the one before it may have written over. */
static kiln_status check_loop(check *c, size_t at, size_t *next) {
    const kiln_net_step *s = &c->n->step.v[at];
    for (int64_t i = 0; i < s->count && i < 2; i++)
        KILN_TRY(check_steps(c, at + 1, (size_t)s->partner));
    *next = (size_t)s->partner + 1;
    return KILN_OK;
}

static kiln_status check_work(check *c, size_t at) {
    const kiln_net_step *s = &c->n->step.v[at];
    c->step = at;
    KILN_TRY(check_reach(c, s));
    KILN_TRY(s->kind == KILN_NET_CALL ? check_call(c, s) : check_move(c, s));
    for (int i = 0; i < s->n_read; i++)
        KILN_TRY(read_slot(c, s->operand[i]));
    for (int i = s->n_read; i < s->n_operands; i++)
        KILN_TRY(write_slot(c, s, i));
    return KILN_OK;
}

static kiln_status check_steps(check *c, size_t begin, size_t end) {
    for (size_t i = begin; i < end;) {
        size_t next = i + 1;
        c->step = i;
        switch (c->n->step.v[i].kind) {
        case KILN_NET_IF:
            KILN_TRY(check_if(c, i, &next));
            break;
        case KILN_NET_LOOP:
            KILN_TRY(check_loop(c, i, &next));
            break;
        case KILN_NET_CALL:
        case KILN_NET_COPY:
        case KILN_NET_TAKE:
        case KILN_NET_PUT:
            KILN_TRY(check_work(c, i));
            break;
        case KILN_NET_ELSE:
        case KILN_NET_END:
        case KILN_NET_VIEW:
        case KILN_NET_JOIN:
        case KILN_NET_WAIT:
        case KILN_NET_N_KINDS:
            break;
        }
        i = next;
    }
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

static void lay_out_memory(check *c) {
    const kiln_net *n = c->n;
    size_t at = 0;
    c->arena_at = kiln_array(&c->arena, size_t, n->device.n);
    c->output_at = kiln_array(&c->arena, size_t, n->n_outputs);
    for (size_t d = 0; d < n->device.n; d++) {
        c->arena_at[d] = at;
        at += ((size_t)n->device.v[d].arena_bytes + KILN_NETWORK_ALIGN - 1) /
              KILN_NETWORK_ALIGN;
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const kiln_type *t = &n->port.v[n->n_inputs + i].value->type;
        c->output_at[i] = at;
        at +=
            ((size_t)kiln_type_bytes(t) + KILN_NETWORK_ALIGN - 1) / KILN_NETWORK_ALIGN;
    }
    c->now = memory_new(&c->arena, at, n->slot.n);
}

/* ---- open steps ------------------------------------------------------------------ */

static kiln_status check_open_operand(const check *c, const kiln_net_step *s, int k,
                                      bool is_place) {
    const kiln_net_slot *slot = slot_of(c, s->operand[k]);
    const kiln_type *kernel = &c->n->kernel.v[s->kernel].operand[k];
    const kiln_type has = kiln_net_type_of(slot);
    kiln_type moved = has; /* what is only moved is bytes */
    moved.dtype = kernel->dtype;
    if (is_place && kiln_net_same_bytes(kernel, &moved) &&
        kiln_dtype_bytes(kernel->dtype) == kiln_dtype_bytes(has.dtype) &&
        kiln_type_bytes(kernel) == slot->bytes)
        return KILN_OK;
    kiln_arena scratch = {0};
    kiln_fail(c->err, KILN_ERR_BUG,
              "open step '%s' packs '%s', %s of %" PRId64 " bytes, by a kernel of %s",
              s->name, slot->value->name, kiln_type_text(&scratch, &has), slot->bytes,
              kiln_type_text(&scratch, kernel));
    kiln_arena_fini(&scratch);
    return KILN_ERR_BUG;
}

/* A constant as the host has it, to a device that cannot read it there. */
static kiln_status check_open_copy(const check *c, const kiln_net_step *s) {
    const kiln_net_slot *from = slot_of(c, s->operand[0]);
    const kiln_net_slot *to = slot_of(c, s->operand[1]);
    const kiln_type x = kiln_net_type_of(from), y = kiln_net_type_of(to);
    const bool is_const =
        from->place == KILN_NET_PARAM || from->place == KILN_NET_PACKED;
    return is_const && from->device == 0 && to->place == KILN_NET_PACKED &&
                   to->device == s->device && s->device != 0 &&
                   kiln_net_same_bytes(&x, &y)
               ? KILN_OK
               : kiln_fail(c->err, KILN_ERR_BUG,
                           "open step '%s' copies '%s' from device %d to device %d",
                           s->name, from->value->name, from->device, to->device);
}

static kiln_status check_open_step(const check *c, const kiln_net_step *s) {
    if (s->kind == KILN_NET_COPY)
        return check_open_copy(c, s);
    KILN_TRY(check_open_operand(c, s, 0,
                                slot_of(c, s->operand[0])->place == KILN_NET_PARAM));
    return check_open_operand(c, s, 1,
                              slot_of(c, s->operand[1])->place == KILN_NET_PACKED);
}

/* Every open step makes another layout of a constant, or a copy, in a place of its own,
 * and whatever steps read of packed memory is what one of them has made. */
static kiln_status check_open(const check *c) {
    const kiln_net *n = c->n;
    uint64_t end = 0;
    int device = 0;
    size_t n_packed = 0;
    for (size_t i = 0; i < n->open.n; i++) {
        const kiln_net_step *s = &n->open.v[i];
        const kiln_net_slot *to = slot_of(c, s->operand[1]);
        KILN_TRY(check_open_step(c, s));
        end = to->device > device ? 0 : end;
        if (to->value->data != slot_of(c, s->operand[0])->value->data ||
            to->offset < end || to->device < device)
            return kiln_fail(c->err, KILN_ERR_BUG,
                             "open step '%s' packs another value than '%s', or over "
                             "what the step before it has packed",
                             s->name, to->value->name);
        end = to->offset + (uint64_t)to->bytes;
        device = to->device;
    }
    for (size_t i = 0; i < n->slot.n; i++)
        n_packed += n->slot.v[i].place == KILN_NET_PACKED && n->slot.v[i].view_of < 0;
    return n_packed == n->open.n ? KILN_OK
                                 : kiln_fail(c->err, KILN_ERR_BUG,
                                             "%zu open steps for %zu packed constants",
                                             n->open.n, n_packed);
}

/* Slots that steps use or the caller is given: nothing else is in anybody's way. */
static kiln_status check_slots(check *c) {
    bool *is_seen = kiln_array(&c->arena, bool, c->n->slot.n);
    for (size_t i = 0; i < c->n->step.n; i++)
        for (int k = 0; k < c->n->step.v[i].n_operands; k++) {
            const int slot = c->n->step.v[i].operand[k];
            if (!is_seen[slot])
                KILN_TRY(check_slot(c, slot));
            is_seen[slot] = true;
        }
    for (size_t i = 0; i < c->n->port.n; i++)
        KILN_TRY(check_slot(c, c->n->port.v[i].slot));
    return KILN_OK;
}

static kiln_status check_all(check *c) {
    KILN_TRY(check_open(c));
    KILN_TRY(check_slots(c));
    KILN_TRY(check_steps(c, 0, c->n->step.n));
    for (uint32_t i = 0; i < c->n->n_outputs; i++) {
        const kiln_net_port *p = &c->n->port.v[c->n->n_inputs + i];
        c->step = c->n->step.n;
        const kiln_net_slot *s = slot_of(c, p->slot);
        const blocks b = blocks_of(c, s);
        for (size_t k = b.begin; k < b.end; k++)
            if (c->now.owner[k] != kiln_net_root(c->n, p->slot))
                return kiln_fail(c->err, KILN_ERR_BUG,
                                 "output '%s' is not made by any step", p->name);
    }
    return kiln_net_check_order(c->n, c->err);
}

kiln_status kiln_net_check(const kiln_net *n, kiln_err *err) {
    check c = {.n = n, .err = err, .step = n->step.n};
    lay_out_memory(&c);
    const kiln_status st = check_all(&c);
    kiln_arena_fini(&c.arena);
    if (st != KILN_OK && c.step < n->step.n && n->step.v[c.step].line > 0)
        kiln_note(err, "reading line %d", n->step.v[c.step].line);
    if (st != KILN_OK)
        kiln_note(err, "holding the steps of '%s' against one another", n->g->name);
    return st;
}
