/* What the innermost loops of an assembly text hold. Reads LLVM's own output (AT&T
 * syntax for x86-64): a loop is what lies between a label and a later branch back to
 * it; it is innermost when no other loop lies inside. */
#include "compiler/codegen/codegen.h"

#include <string.h>

typedef struct line {
    kiln_str label;   /* "name:" defines it */
    kiln_str op;      /* instruction; empty: none */
    kiln_str operand; /* the rest, without its comment */
} line;

static const char blanks[] = " \t\r";

static bool is_blank(char c) { return memchr(blanks, c, 3) != NULL; }

static line read_line(kiln_str text, kiln_arch arch) {
    line l = {.op = {NULL, 0}};
    for (size_t i = 0; i < text.n; i++) {
        const bool comment = arch == KILN_ARCH_X86_64
                                 ? text.p[i] == '#'
                                 : i + 1 < text.n && memcmp(text.p + i, "//", 2) == 0;
        if (comment)
            text.n = i;
    }
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
    size_t n = 0;
    while (n < text.n && !is_blank(text.p[n]))
        n++;
    l.op = (kiln_str){text.p, n};
    l.operand = kiln_str_trim((kiln_str){text.p + n, text.n - n});
    return l;
}

/* The label that a branch leads to; empty: no branch. */
static kiln_str branch_target(const line *l, kiln_arch arch) {
    const kiln_str none = {NULL, 0};
    if (l->op.n == 0)
        return none;
    const bool is_branch =
        arch == KILN_ARCH_X86_64
            ? l->op.p[0] == 'j'
            : kiln_str_is(l->op, "b") || kiln_str_starts(l->op, "b.") ||
                  kiln_str_starts(l->op, "cb") || kiln_str_starts(l->op, "tb");
    if (!is_branch)
        return none;
    size_t at = l->operand.n;
    while (at > 0 && l->operand.p[at - 1] != ',')
        at--;
    return kiln_str_trim((kiln_str){l->operand.p + at, l->operand.n - at});
}

static bool has(kiln_str s, const char *word) {
    const size_t n = strlen(word);
    for (size_t i = 0; i + n <= s.n; i++)
        if (memcmp(s.p + i, word, n) == 0)
            return true;
    return false;
}

static void count_x86(const line *l, kiln_asm_loop *out) {
    const bool is_vector =
        has(l->operand, "%xmm") || has(l->operand, "%ymm") || has(l->operand, "%zmm");
    const bool packed = !kiln_str_ends(l->op, "ss") && !kiln_str_ends(l->op, "sd");
    const bool fma = kiln_str_starts(l->op, "vfmadd") ||
                     kiln_str_starts(l->op, "vfmsub") ||
                     kiln_str_starts(l->op, "vfnm") || kiln_str_starts(l->op, "vpdp") ||
                     kiln_str_starts(l->op, "vdpbf16");
    const bool memory = has(l->operand, "(");
    /* AT&T: the destination is last. */
    const bool to_memory =
        memory && l->operand.n > 0 && l->operand.p[l->operand.n - 1] == ')';
    out->vector_fma += fma && packed;
    out->vector_loads += is_vector && memory && !to_memory;
    out->vector_stores += is_vector && to_memory;
    /* An array on the stack is walked by an index: "64(%rsp,%rax)". */
    out->spills += has(l->operand, "(%rsp)");
}

static void count_aarch64(const line *l, kiln_asm_loop *out) {
    const bool q = l->operand.n > 0 && l->operand.p[0] == 'q';
    out->vector_fma += kiln_str_starts(l->op, "fmla") ||
                       kiln_str_starts(l->op, "fmls") ||
                       kiln_str_starts(l->op, "sdot") || kiln_str_starts(l->op, "udot");
    out->vector_loads += kiln_str_starts(l->op, "ld1") || (q && l->op.p[0] == 'l');
    out->vector_stores += kiln_str_starts(l->op, "st1") || (q && l->op.p[0] == 's');
    out->spills += has(l->operand, "[sp]") || has(l->operand, "[sp, #");
}

typedef KILN_VEC(line) line_list;
typedef KILN_VEC(kiln_asm_loop) loop_list;

/* Labels are few and loops short: the nearest definition before the branch. */
static void find_loops(kiln_arena *a, const line_list *lines, kiln_arch arch,
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
    line_list lines = {.n = 0};
    loop_list all = {.n = 0}, inner = {.n = 0};
    kiln_str rest = assembly, text;
    while (kiln_str_cut(&rest, '\n', &text)) {
        const line l = read_line(text, arch);
        if (lines.n >= MAX_LINES)
            return kiln_fail(err, KILN_ERR_LIMIT, "assembly must have at most %d lines",
                             (int)MAX_LINES);
        kiln_vec_push(a, &lines, l);
    }
    find_loops(a, &lines, arch, &all);
    for (size_t i = 0; i < all.n; i++) {
        if (!is_innermost(&all, i))
            continue;
        kiln_asm_loop loop = all.v[i];
        for (int k = loop.line_begin - 1; k < loop.line_end; k++) {
            const line *l = &lines.v[k];
            if (l->op.n == 0)
                continue;
            loop.instructions++;
            if (arch == KILN_ARCH_X86_64)
                count_x86(l, &loop);
            else
                count_aarch64(l, &loop);
        }
        kiln_vec_push(a, &inner, loop);
    }
    *out = inner.v;
    *n = inner.n;
    return KILN_OK;
}
