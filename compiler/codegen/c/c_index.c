/* Indexes: sums and products of loop variables, as people write them. */
#include "compiler/codegen/c/print.h"

#include <inttypes.h>

/* Of those only: what a buffer's indexes and loops' bounds are made of stays near its
 * extents, and they fit the address space. */
bool kiln_c_is_index(const kiln_c_printer *p, const kiln_expr *e) {
    int64_t v = 0;
    if (e->dtype != KILN_I64)
        return false;
    switch (e->kind) {
    case KILN_EXPR_INT:
        return e->u.i >= INT32_MIN && e->u.i <= INT32_MAX;
    case KILN_EXPR_VAR: {
        const kiln_c_var *x = kiln_c_find(p, e->u.var);
        return x != NULL && x->is_index;
    }
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MIN:
    case KILN_EXPR_MAX:
    case KILN_EXPR_RAMP:
        return kiln_c_is_index(p, e->arg[0]) && kiln_c_is_index(p, e->arg[1]);
    case KILN_EXPR_MUL:
        return kiln_c_is_index(p, e->arg[0]) && kiln_c_is_index(p, e->arg[1]) &&
               (kiln_x_is_int(e->arg[0], &v) || kiln_x_is_int(e->arg[1], &v));
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return kiln_c_is_index(p, e->arg[0]) && kiln_x_is_int(e->arg[1], &v) && v > 0 &&
               v <= INT32_MAX;
    case KILN_EXPR_BROADCAST:
        return kiln_c_is_index(p, e->arg[0]);
    case KILN_EXPR_SELECT:
        return kiln_c_is_index(p, e->arg[1]) && kiln_c_is_index(p, e->arg[2]);
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_CALL:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_LOAD:
    case KILN_EXPRS_SCOPED:
    case KILN_EXPR_SHUFFLE:
        break;
    }
    return false;
}

/* Whatever its variables are? Then a division need not round down. */
static bool is_never_negative(const kiln_c_printer *p, const kiln_expr *e) {
    const kiln_c_var *x = NULL;
    switch (e->kind) {
    case KILN_EXPR_INT:
        return e->u.i >= 0;
    case KILN_EXPR_VAR:
        x = kiln_c_find(p, e->u.var);
        return x != NULL && x->is_never_negative;
    case KILN_EXPR_ADD:
    case KILN_EXPR_MUL:
    case KILN_EXPR_MIN:
    case KILN_EXPR_RAMP:
        return is_never_negative(p, e->arg[0]) && is_never_negative(p, e->arg[1]);
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_BROADCAST:
        return is_never_negative(p, e->arg[0]);
    case KILN_EXPR_FLOORMOD:
        return true;
    case KILN_EXPR_MAX:
        return is_never_negative(p, e->arg[0]) || is_never_negative(p, e->arg[1]);
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_SUB:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_SELECT:
    case KILN_EXPR_CALL:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_LOAD:
    case KILN_EXPRS_SCOPED:
    case KILN_EXPR_SHUFFLE:
        break;
    }
    return false;
}

static kiln_c_text known(kiln_c_printer *p, int64_t v) {
    kiln_c_text x = kiln_c_put(p, v < 0 ? KILN_C_UNARY : KILN_C_PRIMARY, "%" PRId64, v);
    x.is_known = true;
    x.v = v;
    return x;
}

static kiln_c_text sum(kiln_c_printer *p, kiln_c_text x, kiln_c_text y) {
    if (x.is_known && y.is_known)
        return known(p, x.v + y.v);
    if (x.is_known && x.v == 0)
        return y;
    if (y.is_known && y.v == 0)
        return x;
    if (y.is_known && y.v < 0)
        return kiln_c_put(p, KILN_C_SUM, "%s - %" PRId64, kiln_c_in(p, x, KILN_C_SUM),
                          -y.v);
    return kiln_c_put(p, KILN_C_SUM, "%s + %s", kiln_c_in(p, x, KILN_C_SUM),
                      kiln_c_in(p, y, KILN_C_PRODUCT));
}

static kiln_c_text difference(kiln_c_printer *p, kiln_c_text x, kiln_c_text y) {
    if (y.is_known)
        return sum(p, x, known(p, -y.v));
    return kiln_c_put(p, KILN_C_SUM, "%s - %s", kiln_c_in(p, x, KILN_C_SUM),
                      kiln_c_in(p, y, KILN_C_PRODUCT));
}

static kiln_c_text product(kiln_c_printer *p, kiln_c_text x, kiln_c_text y) {
    if (x.is_known && y.is_known)
        return known(p, x.v * y.v);
    if ((x.is_known && x.v == 1) || (y.is_known && y.v == 0))
        return y;
    if ((y.is_known && y.v == 1) || (x.is_known && x.v == 0))
        return x;
    return kiln_c_put(p, KILN_C_PRODUCT, "%s * %s", kiln_c_in(p, x, KILN_C_PRODUCT),
                      kiln_c_in(p, y, KILN_C_UNARY));
}

static const char floor_div_text[] =
    "ptrdiff_t floor_div_index(ptrdiff_t x, ptrdiff_t y) {\n"
    "    return x / y - (x % y < 0);\n}\n";
static const char floor_mod_text[] =
    "ptrdiff_t floor_mod_index(ptrdiff_t x, ptrdiff_t y) {\n"
    "    return x % y + (x % y < 0 ? y : 0);\n}\n";

/* By a number above zero. */
static const char *rounding(kiln_c_printer *p, bool is_mod) {
    const char *name = is_mod ? "floor_mod_index" : "floor_div_index";
    kiln_c_unit *u = p->unit;
    if (!kiln_map_has(&u->known, kiln_str_from(name))) {
        kiln_map_set(u->arena, &u->known, kiln_str_from(name), name);
        kiln_c_add(p, name,
                   kiln_format(p->arena, "%s%s", u->dialect->qualifiers,
                               is_mod ? floor_mod_text : floor_div_text));
    }
    return name;
}

static kiln_c_text divided(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const bool is_mod = e->kind == KILN_EXPR_FLOORMOD;
    const kiln_c_text x = kiln_c_index(p, e->arg[0], lane);
    const kiln_c_text y = kiln_c_index(p, e->arg[1], lane);
    if (is_never_negative(p, e->arg[0]))
        return kiln_c_put(p, KILN_C_PRODUCT, "%s %c %s",
                          kiln_c_in(p, x, KILN_C_PRODUCT), is_mod ? '%' : '/',
                          kiln_c_in(p, y, KILN_C_UNARY));
    return kiln_c_put(p, KILN_C_PRIMARY, "%s(%s, %s)", rounding(p, is_mod), x.text,
                      y.text);
}

static kiln_c_text extreme(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const char *x = kiln_c_in(p, kiln_c_index(p, e->arg[0], lane), KILN_C_SUM);
    const char *y = kiln_c_in(p, kiln_c_index(p, e->arg[1], lane), KILN_C_SUM);
    return kiln_c_put(p, KILN_C_SELECT, "%s %c %s ? %s : %s", x,
                      e->kind == KILN_EXPR_MIN ? '<' : '>', y, x, y);
}

static kiln_c_text selected(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    const kiln_c_text c = kiln_c_expr(p, e->arg[0], lane);
    const kiln_c_text x = kiln_c_index(p, e->arg[1], lane);
    const kiln_c_text y = kiln_c_index(p, e->arg[2], lane);
    return kiln_c_put(p, KILN_C_SELECT, "%s ? %s : %s", kiln_c_in(p, c, KILN_C_COMPARE),
                      kiln_c_in(p, x, KILN_C_COMPARE), kiln_c_in(p, y, KILN_C_COMPARE));
}

static kiln_c_text ramp(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    kiln_c_text at = {.text = lane, .binds = KILN_C_PRIMARY};
    if (kiln_parse_i64(kiln_str_from(lane), &at.v))
        at.is_known = true;
    return sum(p, kiln_c_index(p, e->arg[0], NULL),
               product(p, at, kiln_c_index(p, e->arg[1], NULL)));
}

/* Anything else is computed as a number, and taken for one. */
kiln_c_text kiln_c_index(kiln_c_printer *p, const kiln_expr *e, const char *lane) {
    if (!kiln_c_is_index(p, e))
        return kiln_c_put(p, KILN_C_UNARY, "(ptrdiff_t)%s",
                          kiln_c_in(p, kiln_c_expr(p, e, lane), KILN_C_UNARY));
    switch (e->kind) {
    case KILN_EXPR_INT:
        return known(p, e->u.i);
    case KILN_EXPR_VAR:
        return kiln_c_find(p, e->u.var)->text;
    case KILN_EXPR_ADD:
        return sum(p, kiln_c_index(p, e->arg[0], lane),
                   kiln_c_index(p, e->arg[1], lane));
    case KILN_EXPR_SUB:
        return difference(p, kiln_c_index(p, e->arg[0], lane),
                          kiln_c_index(p, e->arg[1], lane));
    case KILN_EXPR_MUL:
        return product(p, kiln_c_index(p, e->arg[0], lane),
                       kiln_c_index(p, e->arg[1], lane));
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return divided(p, e, lane);
    case KILN_EXPRS_EXTREME:
        return extreme(p, e, lane);
    case KILN_EXPR_BROADCAST:
        return kiln_c_index(p, e->arg[0], NULL);
    case KILN_EXPR_RAMP:
        return ramp(p, e, lane);
    case KILN_EXPR_SELECT:
        return selected(p, e, lane);
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_CALL:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_LOAD:
    case KILN_EXPRS_SCOPED:
    case KILN_EXPR_SHUFFLE:
        break;
    }
    KILN_ASSERT(false, "'%s' has an index that is none", p->p->name);
    return known(p, 0);
}

const kiln_c_memory *kiln_c_memory_of(kiln_c_printer *p, const kiln_buffer *b) {
    for (size_t i = p->memory.n; i-- > 0;)
        if (p->memory.v[i].buffer == b) {
            *p->memory.v[i].is_used = true;
            return &p->memory.v[i];
        }
    kiln_c_fail(p, KILN_ERR_ARG, "buffer '%s' is used where it does not exist",
                b->name);
    return NULL;
}

/* Row-major; flat buffers have one index. */
kiln_c_text kiln_c_element(kiln_c_printer *p, const kiln_buffer *b,
                           const kiln_expr *const *index, const char *lane) {
    int64_t stride[KILN_MAX_AXES];
    kiln_c_text at = known(p, 0);
    kiln_buffer_strides(b, stride);
    for (int i = 0; i < b->rank; i++)
        at =
            sum(p, at,
                product(p, kiln_c_index(p, index[i], index[i]->lanes > 1 ? lane : NULL),
                        known(p, stride[i])));
    const kiln_c_memory *m = kiln_c_memory_of(p, b);
    return m == NULL ? at : kiln_c_put(p, KILN_C_PRIMARY, "%s[%s]", m->name, at.text);
}
