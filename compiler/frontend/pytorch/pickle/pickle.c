/* The machine of pickle.h: a stack of values, a memo, a table of opcodes. */
#include "compiler/frontend/pytorch/pickle/pickle.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_BYTES = 64 << 20, /* of state dicts and modules: kilobytes to a few megabytes */
    MAX_NAME = 100        /* of what messages show */
};

typedef struct machine {
    kiln_arena *a;
    kiln_err *err;
    const char *where;
    kiln_str bytes;
    size_t at, op_at;
    KILN_VEC(kiln_pickle_value *) stack;
    KILN_VEC(size_t) mark;
    KILN_VEC(kiln_pickle_value *) memo; /* by index; NULL: nothing there */
    bool is_done;
} machine;

typedef kiln_status op_fn(machine *m, int arg);

/* ---- pieces ---------------------------------------------------------------------- */

static kiln_status bad(machine *m, const char *what) {
    return kiln_fail(
        m->err, KILN_ERR_PARSE,
        "%s: %s at byte %zu; is the file damaged, or no pickle of torch's?", m->where,
        what, m->op_at);
}

static kiln_status take(machine *m, uint64_t n, kiln_str *out) {
    KILN_ASSERT(m->at <= m->bytes.n, "byte %zu of %zu", m->at, m->bytes.n);
    if (n > m->bytes.n - m->at)
        return bad(m, "the pickle ends early");
    *out = (kiln_str){m->bytes.p + m->at, (size_t)n};
    m->at += (size_t)n;
    return KILN_OK;
}

/* A little-endian number of up to 8 bytes. */
static kiln_status take_number(machine *m, int n, uint64_t *out) {
    KILN_ASSERT(n >= 0 && n <= 8, "a number of %d bytes", n);
    kiln_str s;
    uint64_t v = 0;
    KILN_TRY(take(m, (uint64_t)n, &s));
    for (int i = 0; i < n; i++)
        v |= (uint64_t)(unsigned char)s.p[i] << (8 * i);
    *out = v;
    return KILN_OK;
}

static kiln_status take_line(machine *m, kiln_str *out) {
    const char *const p = m->bytes.p + m->at;
    const char *const end = memchr(p, '\n', m->bytes.n - m->at);
    if (end == NULL)
        return bad(m, "a name without its end");
    *out = (kiln_str){p, (size_t)(end - p)};
    m->at += out->n + 1;
    return KILN_OK;
}

static kiln_pickle_value *push(machine *m, kiln_pickle_kind kind) {
    kiln_pickle_value *const v = kiln_new(m->a, kiln_pickle_value);
    v->kind = kind;
    kiln_vec_push(m->a, &m->stack, v);
    return v;
}

/* The lowest of the stack that is above the last mark. */
static size_t floor_of(const machine *m) {
    return m->mark.n > 0 ? m->mark.v[m->mark.n - 1] : 0;
}

static kiln_status pop(machine *m, kiln_pickle_value **out) {
    if (m->stack.n <= floor_of(m))
        return bad(m, "an empty stack");
    *out = m->stack.v[--m->stack.n];
    return KILN_OK;
}

/* What lies above the last mark, which goes. */
static kiln_status pop_mark(machine *m, size_t *from) {
    if (m->mark.n == 0)
        return bad(m, "a mark that is not there");
    *from = m->mark.v[--m->mark.n];
    KILN_ASSERT(*from <= m->stack.n, "a mark at %zu of %zu", *from, m->stack.n);
    return KILN_OK;
}

static void add_items(machine *m, kiln_pickle_value *to, size_t from) {
    KILN_ASSERT(from <= m->stack.n, "items from %zu of %zu", from, m->stack.n);
    for (size_t i = from; i < m->stack.n; i++)
        kiln_vec_push(m->a, &to->item, m->stack.v[i]);
    m->stack.n = from;
}

/* ---- numbers and texts ------------------------------------------------------------ */

static kiln_status op_skip(machine *m, int n) {
    uint64_t v;
    return take_number(m, n, &v); /* the protocol, the length of a frame */
}

static kiln_status op_none(machine *m, int arg) {
    (void)arg;
    push(m, KILN_PICKLE_NONE);
    return KILN_OK;
}

static kiln_status op_bool(machine *m, int value) {
    push(m, KILN_PICKLE_BOOL)->i = value;
    return KILN_OK;
}

/* Of 1 and 2 bytes without a sign, of 4 with one. */
static kiln_status op_int(machine *m, int n) {
    uint64_t v = 0;
    KILN_TRY(take_number(m, n, &v));
    push(m, KILN_PICKLE_INT)->i = n == 4 ? (int64_t)(int32_t)(uint32_t)v : (int64_t)v;
    return KILN_OK;
}

/* A length of n bytes, then so many bytes of an integer in two's complement. */
static kiln_status op_long(machine *m, int n) {
    uint64_t n_bytes = 0, v = 0;
    KILN_TRY(take_number(m, n, &n_bytes));
    if (n_bytes > 8)
        return bad(m, "an integer of more than 64 bits");
    KILN_TRY(take_number(m, (int)n_bytes, &v));
    if (n_bytes > 0 && n_bytes < 8 && (v >> (8 * n_bytes - 1)) != 0)
        v |= ~(uint64_t)0 << (8 * n_bytes);
    push(m, KILN_PICKLE_INT)->i = (int64_t)v;
    return KILN_OK;
}

static kiln_status op_float(machine *m, int n) {
    kiln_str s;
    uint64_t bits = 0;
    KILN_TRY(take(m, (uint64_t)n, &s));
    for (size_t i = 0; i < s.n; i++) /* big-endian, unlike all else */
        bits = bits << 8 | (unsigned char)s.p[i];
    memcpy(&push(m, KILN_PICKLE_FLOAT)->f, &bits, sizeof bits);
    return KILN_OK;
}

static kiln_status text(machine *m, int n, kiln_pickle_kind kind) {
    uint64_t n_bytes = 0;
    kiln_str s;
    KILN_TRY(take_number(m, n, &n_bytes));
    KILN_TRY(take(m, n_bytes, &s));
    push(m, kind)->s = s;
    return KILN_OK;
}

static kiln_status op_str(machine *m, int n) { return text(m, n, KILN_PICKLE_STR); }
static kiln_status op_bytes(machine *m, int n) { return text(m, n, KILN_PICKLE_BYTES); }

/* ---- containers ------------------------------------------------------------------ */

static kiln_status op_mark(machine *m, int arg) {
    (void)arg;
    kiln_vec_push(m->a, &m->mark, m->stack.n);
    return KILN_OK;
}

static kiln_status op_pop_mark(machine *m, int arg) {
    (void)arg;
    return pop_mark(m, &m->stack.n);
}

static kiln_status op_pop(machine *m, int arg) {
    kiln_pickle_value *v;
    (void)arg;
    return pop(m, &v);
}

static kiln_status op_dup(machine *m, int arg) {
    kiln_pickle_value *v;
    (void)arg;
    KILN_TRY(pop(m, &v));
    kiln_vec_push(m->a, &m->stack, v);
    kiln_vec_push(m->a, &m->stack, v);
    return KILN_OK;
}

static kiln_status op_empty(machine *m, int kind) {
    push(m, (kiln_pickle_kind)kind);
    return KILN_OK;
}

static kiln_status op_from_mark(machine *m, int kind) {
    size_t from = 0;
    KILN_TRY(pop_mark(m, &from));
    kiln_pickle_value *const v = kiln_new(m->a, kiln_pickle_value);
    v->kind = (kiln_pickle_kind)kind;
    add_items(m, v, from);
    if (v->kind == KILN_PICKLE_DICT && v->item.n % 2 != 0)
        return bad(m, "a key without a value");
    kiln_vec_push(m->a, &m->stack, v);
    return KILN_OK;
}

static kiln_status op_tuple(machine *m, int n) {
    if (m->stack.n - floor_of(m) < (size_t)n)
        return bad(m, "an empty stack");
    kiln_pickle_value *const v = kiln_new(m->a, kiln_pickle_value);
    v->kind = KILN_PICKLE_TUPLE;
    add_items(m, v, m->stack.n - (size_t)n);
    kiln_vec_push(m->a, &m->stack, v);
    return KILN_OK;
}

/* Appends or sets what lies from `from` on; dicts take pairs. */
static kiln_status fill(machine *m, size_t from, bool is_dict) {
    if (from <= floor_of(m))
        return bad(m, "an empty stack");
    kiln_pickle_value *const to = m->stack.v[from - 1];
    if (to->kind != KILN_PICKLE_OBJECT &&
        to->kind != (is_dict ? KILN_PICKLE_DICT : KILN_PICKLE_LIST))
        return bad(m, "items of what is no container");
    if (is_dict && (m->stack.n - from) % 2 != 0)
        return bad(m, "a key without a value");
    add_items(m, to, from);
    return KILN_OK;
}

static kiln_status op_fill(machine *m, int is_dict) {
    size_t from = 0;
    KILN_TRY(pop_mark(m, &from));
    return fill(m, from, is_dict != 0);
}

static kiln_status op_fill_one(machine *m, int n) {
    if (m->stack.n - floor_of(m) < (size_t)n)
        return bad(m, "an empty stack");
    return fill(m, m->stack.n - (size_t)n, n == 2);
}

/* ---- names and objects ------------------------------------------------------------ */

/* A module, or something in it. */
static bool is_in(kiln_str module, const char *root) {
    return kiln_str_starts(module, root) &&
           (module.n == strlen(root) || module.p[strlen(root)] == '.');
}

static kiln_status push_global(machine *m, kiln_str module, kiln_str name) {
    if (!is_in(module, "torch") && !is_in(module, "__torch__") &&
        !is_in(module, "collections"))
        return kiln_fail(
            m->err, KILN_ERR_UNSUPPORTED,
            "%s: byte %zu needs '%s.%s' of Python, whose code is not in the file, and "
            "kiln runs none; save the model with torch.jit.save or torch.export.save",
            m->where, m->op_at, kiln_str_printable(m->a, module, MAX_NAME),
            kiln_str_printable(m->a, name, MAX_NAME));
    kiln_pickle_value *const v = push(m, KILN_PICKLE_GLOBAL);
    v->module = module;
    v->s = name;
    return KILN_OK;
}

static kiln_status op_global(machine *m, int arg) {
    kiln_str module, name;
    (void)arg;
    KILN_TRY(take_line(m, &module));
    KILN_TRY(take_line(m, &name));
    return push_global(m, module, name);
}

static kiln_status op_stack_global(machine *m, int arg) {
    kiln_pickle_value *module, *name;
    (void)arg;
    KILN_TRY(pop(m, &name));
    KILN_TRY(pop(m, &module));
    if (module->kind != KILN_PICKLE_STR || name->kind != KILN_PICKLE_STR)
        return bad(m, "a name that is no text");
    return push_global(m, module->s, name->s);
}

/* TorchScript marks lists with their type: they are what they are given. */
static bool is_transparent(const kiln_pickle_value *f) {
    return kiln_str_is(f->module, "torch.jit._pickle") &&
           (kiln_str_starts(f->s, "build_") || kiln_str_is(f->s, "restore_type_tag"));
}

/* A call of a name: REDUCE, NEWOBJ. */
static kiln_status op_call(machine *m, int arg) {
    kiln_pickle_value *f, *args;
    (void)arg;
    KILN_TRY(pop(m, &args));
    KILN_TRY(pop(m, &f));
    if (f->kind != KILN_PICKLE_GLOBAL || args->kind != KILN_PICKLE_TUPLE)
        return bad(m, "a call of what is no name, or without a tuple");
    if (is_transparent(f)) {
        if (args->item.n == 0)
            return bad(m, "a list that is not there");
        /* Its values were made here: none is really constant. */
        kiln_vec_push(m->a, &m->stack, (kiln_pickle_value *)(uintptr_t)args->item.v[0]);
        return KILN_OK;
    }
    if (kiln_str_is(f->s, "OrderedDict") && args->item.n == 0) {
        push(m, KILN_PICKLE_DICT);
        return KILN_OK;
    }
    kiln_pickle_value *const v = push(m, KILN_PICKLE_OBJECT);
    v->module = f->module;
    v->s = f->s;
    v->args = args;
    return KILN_OK;
}

static kiln_status op_build(machine *m, int arg) {
    kiln_pickle_value *state;
    (void)arg;
    KILN_TRY(pop(m, &state));
    if (m->stack.n <= floor_of(m))
        return bad(m, "an empty stack");
    kiln_pickle_value *const v = m->stack.v[m->stack.n - 1];
    if (v->kind == KILN_PICKLE_OBJECT)
        v->state = state;
    else if (v->kind != KILN_PICKLE_DICT) /* of an OrderedDict: its _metadata */
        return bad(m, "a state of what is no object");
    return KILN_OK;
}

static kiln_status op_persistent(machine *m, int arg) {
    kiln_pickle_value *id;
    (void)arg;
    KILN_TRY(pop(m, &id));
    push(m, KILN_PICKLE_STORAGE)->args = id;
    return KILN_OK;
}

/* ---- the memo -------------------------------------------------------------------- */

static kiln_status memoize(machine *m, uint64_t at) {
    if (m->stack.n <= floor_of(m))
        return bad(m, "an empty stack");
    if (at > m->op_at) /* each entry has an opcode of its own before it */
        return bad(m, "a memo out of its range");
    while (m->memo.n <= at)
        kiln_vec_push(m->a, &m->memo, NULL);
    m->memo.v[at] = m->stack.v[m->stack.n - 1];
    return KILN_OK;
}

static kiln_status op_put(machine *m, int n) {
    uint64_t at = 0;
    KILN_TRY(take_number(m, n, &at));
    return memoize(m, at);
}

static kiln_status op_memoize(machine *m, int arg) {
    (void)arg;
    return memoize(m, m->memo.n);
}

static kiln_status op_get(machine *m, int n) {
    uint64_t at = 0;
    KILN_TRY(take_number(m, n, &at));
    if (at >= m->memo.n || m->memo.v[at] == NULL)
        return bad(m, "a memo that is not there");
    kiln_vec_push(m->a, &m->stack, m->memo.v[at]);
    return KILN_OK;
}

static kiln_status op_stop(machine *m, int arg) {
    (void)arg;
    if (m->stack.n != 1 || m->mark.n != 0)
        return bad(m, "an end with more or less than one value");
    m->is_done = true;
    return KILN_OK;
}

static const struct {
    op_fn *run;
    int arg;
} opcodes[256] = {
    [0x80] = {op_skip, 1},
    [0x95] = {op_skip, 8},
    ['.'] = {op_stop, 0},
    ['N'] = {op_none, 0},
    [0x88] = {op_bool, 1},
    [0x89] = {op_bool, 0},
    ['K'] = {op_int, 1},
    ['M'] = {op_int, 2},
    ['J'] = {op_int, 4},
    [0x8a] = {op_long, 1},
    [0x8b] = {op_long, 4},
    ['G'] = {op_float, 8},
    [0x8c] = {op_str, 1},
    ['X'] = {op_str, 4},
    [0x8d] = {op_str, 8},
    ['U'] = {op_str, 1},
    ['T'] = {op_str, 4},
    ['C'] = {op_bytes, 1},
    ['B'] = {op_bytes, 4},
    [0x8e] = {op_bytes, 8},
    ['('] = {op_mark, 0},
    ['1'] = {op_pop_mark, 0},
    ['0'] = {op_pop, 0},
    ['2'] = {op_dup, 0},
    [')'] = {op_empty, KILN_PICKLE_TUPLE},
    [']'] = {op_empty, KILN_PICKLE_LIST},
    [0x8f] = {op_empty, KILN_PICKLE_LIST}, /* a set */
    ['}'] = {op_empty, KILN_PICKLE_DICT},
    ['t'] = {op_from_mark, KILN_PICKLE_TUPLE},
    ['l'] = {op_from_mark, KILN_PICKLE_LIST},
    ['d'] = {op_from_mark, KILN_PICKLE_DICT},
    [0x91] = {op_from_mark, KILN_PICKLE_LIST}, /* a frozen set */
    [0x85] = {op_tuple, 1},
    [0x86] = {op_tuple, 2},
    [0x87] = {op_tuple, 3},
    ['a'] = {op_fill_one, 1},
    ['s'] = {op_fill_one, 2},
    ['e'] = {op_fill, false},
    [0x90] = {op_fill, false},
    ['u'] = {op_fill, true},
    ['c'] = {op_global, 0},
    [0x93] = {op_stack_global, 0},
    ['R'] = {op_call, 0},
    [0x81] = {op_call, 0},
    ['b'] = {op_build, 0},
    ['Q'] = {op_persistent, 0},
    ['q'] = {op_put, 1},
    ['r'] = {op_put, 4},
    [0x94] = {op_memoize, 0},
    ['h'] = {op_get, 1},
    ['j'] = {op_get, 4},
};

/* ---- the whole ------------------------------------------------------------------- */

/* Depth first, each value once: a value that is met while it is open holds itself. */
static kiln_status measure(machine *m, kiln_pickle_value *v, int depth) {
    int height = 0;
    if (v->height > 0 && depth + v->height <= KILN_PICKLE_MAX_DEPTH)
        return KILN_OK;
    if (v->is_open)
        return bad(m, "a value that holds itself");
    if (depth >= KILN_PICKLE_MAX_DEPTH || v->height > 0)
        return kiln_fail(m->err, KILN_ERR_LIMIT,
                         "%s: values are nested deeper than %d; is the file damaged?",
                         m->where, KILN_PICKLE_MAX_DEPTH);
    v->is_open = true;
    for (size_t i = 0; i < v->item.n + 2; i++) {
        const kiln_pickle_value *const in = i < v->item.n    ? v->item.v[i]
                                            : i == v->item.n ? v->args
                                                             : v->state;
        if (in == NULL)
            continue;
        KILN_TRY(measure(m, (kiln_pickle_value *)(uintptr_t)in, depth + 1));
        height = in->height > height ? in->height : height;
    }
    KILN_ASSERT(height < KILN_PICKLE_MAX_DEPTH, "a value %d high", height);
    v->is_open = false;
    v->height = (uint16_t)(height + 1);
    return KILN_OK;
}

static kiln_status run(machine *m, const kiln_pickle_value **out) {
    while (!m->is_done) {
        kiln_str op;
        m->op_at = m->at;
        KILN_TRY(take(m, 1, &op));
        const unsigned char code = (unsigned char)op.p[0];
        if (opcodes[code].run == NULL)
            return kiln_fail(m->err, KILN_ERR_PARSE,
                             "%s: opcode 0x%02x at byte %zu is none that torch writes; "
                             "is the file damaged?",
                             m->where, code, m->op_at);
        KILN_TRY(opcodes[code].run(m, opcodes[code].arg));
    }
    KILN_ASSERT(m->stack.n == 1, "a pickle of %zu values", m->stack.n);
    KILN_TRY(measure(m, m->stack.v[0], 0));
    *out = m->stack.v[0];
    return KILN_OK;
}

kiln_status kiln_pickle_read(kiln_arena *a, kiln_str bytes, const char *where,
                             const kiln_pickle_value **out, kiln_err *err) {
    machine m = {.a = a, .err = err, .where = where, .bytes = bytes};
    if (bytes.n > MAX_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "%s: the pickle has %zu bytes, more than %d are not read",
                         where, bytes.n, MAX_BYTES);
    return run(&m, out);
}

kiln_status kiln_pickle_read_next(kiln_arena *a, kiln_str bytes, const char *where,
                                  size_t *at, const kiln_pickle_value **out,
                                  kiln_err *err) {
    KILN_ASSERT(*at <= bytes.n, "byte %zu of %zu", *at, bytes.n);
    const size_t left = bytes.n - *at;
    machine m = {.a = a,
                 .err = err,
                 .where = where,
                 .bytes = {bytes.p + *at, left < MAX_BYTES ? left : MAX_BYTES}};
    KILN_TRY(run(&m, out));
    *at += m.at;
    return KILN_OK;
}

bool kiln_pickle_is_object(const kiln_pickle_value *v, const char *module,
                           const char *name) {
    return v->kind == KILN_PICKLE_OBJECT && kiln_str_is(v->module, module) &&
           kiln_str_is(v->s, name);
}

const kiln_pickle_value *kiln_pickle_get(const kiln_pickle_value *v, kiln_str key) {
    if (v->kind == KILN_PICKLE_OBJECT && v->state != NULL)
        v = v->state;
    if (v->kind != KILN_PICKLE_DICT)
        return NULL;
    for (size_t i = 0; i + 1 < v->item.n; i += 2)
        if (v->item.v[i]->kind == KILN_PICKLE_STR && kiln_str_eq(v->item.v[i]->s, key))
            return v->item.v[i + 1];
    return NULL;
}
