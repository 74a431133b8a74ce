/* What the innermost loops of an assembly text hold. Reads LLVM's own output, as the
 * architecture's row says: a loop is what lies between a label and a later branch back
 * to it; it is innermost when no other loop lies inside. */
#include "compiler/codegen/codegen.h"

#include <string.h>

typedef struct line {
    kiln_str label;   /* "name:" defines it */
    kiln_str op;      /* instruction; empty: none */
    kiln_str operand; /* the rest, without its comment */
} line;

static const char blanks[] = " \t\r";

static bool is_blank(char c) { return memchr(blanks, c, 3) != NULL; }

static size_t word(kiln_str text) {
    size_t n = 0;
    while (n < text.n && !is_blank(text.p[n]))
        n++;
    return n;
}

static line read_line(kiln_str text, const char *comment) {
    line l = {.op = {NULL, 0}};
    const size_t n_comment = strlen(comment);
    for (size_t i = 0; i + n_comment <= text.n; i++)
        if (memcmp(text.p + i, comment, n_comment) == 0)
            text.n = i;
    const bool indented = text.n > 0 && is_blank(text.p[0]);
    text = kiln_str_trim(text);
    if (text.n == 0)
        return l;
    if (!indented && text.p[text.n - 1] == ':') {
        l.label = (kiln_str){text.p, text.n - 1};
        return l;
    }
    if (text.p[0] == '.')
        return l; /* a directive */
    size_t n = word(text);
    if (text.p[0] == '@') { /* PTX: who does it */
        text = kiln_str_trim((kiln_str){text.p + n, text.n - n});
        n = word(text);
    }
    l.op = (kiln_str){text.p, n};
    l.operand = kiln_str_trim((kiln_str){text.p + n, text.n - n});
    return l;
}

/* The label that a branch leads to; empty: no branch. */
static kiln_str branch_target(const line *l, const kiln_arch_def *arch) {
    const kiln_str none = {NULL, 0};
    if (l->op.n == 0 || (arch->asm_flags(l->op, l->operand) & KILN_ASM_BRANCH) == 0)
        return none;
    kiln_str to = l->operand;
    if (to.n > 0 && to.p[to.n - 1] == ';') /* PTX */
        to.n--;
    size_t at = to.n;
    while (at > 0 && to.p[at - 1] != ',')
        at--;
    return kiln_str_trim((kiln_str){to.p + at, to.n - at});
}

static void count(const line *l, const kiln_arch_def *arch, kiln_asm_loop *out) {
    const unsigned flags = arch->asm_flags(l->op, l->operand);
    out->instructions++;
    out->vector_fma += (flags & KILN_ASM_FMA) != 0;
    out->vector_loads += (flags & KILN_ASM_LOAD) != 0;
    out->vector_stores += (flags & KILN_ASM_STORE) != 0;
    out->spills += (flags & KILN_ASM_STACK) != 0;
}

typedef KILN_VEC(line) line_list;
typedef KILN_VEC(kiln_asm_loop) loop_list;

/* Labels are few and loops short: the nearest definition before the branch. */
static void find_loops(kiln_arena *a, const line_list *lines, const kiln_arch_def *arch,
                       loop_list *out) {
    kiln_map labels = {.n_slots = 0};
    for (size_t i = 0; i < lines->n; i++) {
        line *l = &lines->v[i];
        if (l->label.n > 0)
            kiln_map_set(a, &labels, l->label, l);
        const kiln_str target = branch_target(l, arch);
        const line *begin = target.n > 0 ? kiln_map_get(&labels, target) : NULL;
        if (begin == NULL)
            continue;
        const kiln_asm_loop loop = {.line_begin = (int)(begin - lines->v) + 1,
                                    .line_end = (int)i + 1};
        /* Another way back to the same label makes the same loop longer. */
        if (out->n > 0 && out->v[out->n - 1].line_begin == loop.line_begin)
            out->v[out->n - 1] = loop;
        else
            kiln_vec_push(a, out, loop);
    }
}

static bool is_innermost(const loop_list *all, size_t i) {
    const kiln_asm_loop *l = &all->v[i];
    for (size_t k = 0; k < all->n; k++)
        if (k != i && all->v[k].line_begin >= l->line_begin &&
            all->v[k].line_end <= l->line_end)
            return false;
    return true;
}

kiln_status kiln_asm_innermost_loops(kiln_arena *a, kiln_str assembly, kiln_arch arch,
                                     kiln_asm_loop **out, size_t *n, kiln_err *err) {
    enum { MAX_LINES = 1 << 22 };
    const kiln_arch_def *def = kiln_arch_of(arch);
    line_list lines = {.n = 0};
    loop_list all = {.n = 0}, inner = {.n = 0};
    kiln_str rest = assembly, text;
    while (kiln_str_cut(&rest, '\n', &text)) {
        const line l = read_line(text, def->comment);
        if (lines.n >= MAX_LINES)
            return kiln_fail(err, KILN_ERR_LIMIT, "assembly must have at most %d lines",
                             (int)MAX_LINES);
        kiln_vec_push(a, &lines, l);
    }
    find_loops(a, &lines, def, &all);
    for (size_t i = 0; i < all.n; i++) {
        if (!is_innermost(&all, i))
            continue;
        kiln_asm_loop loop = all.v[i];
        for (int k = loop.line_begin - 1; k < loop.line_end; k++) {
            const line *l = &lines.v[k];
            if (l->op.n > 0)
                count(l, def, &loop);
        }
        kiln_vec_push(a, &inner, loop);
    }
    *out = inner.v;
    *n = inner.n;
    return KILN_OK;
}
