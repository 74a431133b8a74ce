/* Texts, names, lines. */
#include "compiler/codegen/c/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of C, and what files of C should not have as names of their own. */
static const char *const keywords[] = {
    "auto",    "break",    "case",     "char",      "const",    "continue", "default",
    "do",      "double",   "else",     "enum",      "extern",   "float",    "for",
    "goto",    "if",       "inline",   "int",       "long",     "register", "restrict",
    "return",  "short",    "signed",   "sizeof",    "static",   "struct",   "switch",
    "typedef", "union",    "unsigned", "void",      "volatile", "while",    "asm",
    "main",    "kernel",   "global",   "local",     "constant", "private",  "memcpy",
    "bool",    "true",     "false",    "NULL",      "unix",     "linux",    "size_t",
    "alignas", "alignof",  "nullptr",  "constexpr", "typeof",   "int8_t",   "uint8_t",
    "int16_t", "uint16_t", "int32_t",  "uint32_t",  "int64_t",  "uint64_t", "ptrdiff_t",
};

static bool is_keyword(const char *text) {
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
        if (strcmp(keywords[i], text) == 0)
            return true;
    return false;
}

static const char *formatted(kiln_arena *a, const char *fmt, va_list args)
    KILN_PRINTF(2, 0);

static const char *formatted(kiln_arena *a, const char *fmt, va_list args) {
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, fmt, args);
    KILN_ASSERT(n >= 0, "'%s' could not be formatted", fmt);
    char *text = kiln_arena_alloc_raw(a, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

/* Helpers and tables are called so. */
static bool is_helper(const char *text) {
    static const char *const ending[] = {"_f32", "_f64", "_i8",   "_u8",
                                         "_i16", "_u16", "_i32",  "_u32",
                                         "_i64", "_u64", "_index"};
    if (kiln_str_starts(kiln_str_from(text), "table_"))
        return true;
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        if (kiln_str_ends(kiln_str_from(text), ending[i]))
            return true;
    return false;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Names that begin with '_' are the compiler's. */
char *kiln_c_word(kiln_arena *a, const char *text) {
    enum { MAX = 64 };
    char word[MAX + 1];
    size_t n = 0;
    for (const char *c = text; *c != '\0' && n < MAX; c++) {
        const bool is_good = is_letter(*c) || is_digit(*c);
        if (is_good)
            word[n++] = *c;
        else if (n > 0 && word[n - 1] != '_')
            word[n++] = '_';
    }
    while (n > 0 && word[n - 1] == '_')
        n--;
    word[n] = '\0';
    if (n == 0)
        return kiln_str_dup(a, "x");
    if (is_helper(word))
        return kiln_format(a, "%s_x", word);
    const bool is_bad = is_digit(word[0]) || is_keyword(word);
    return is_bad ? kiln_format(a, "x_%s", word) : kiln_str_dup(a, word);
}

char *kiln_c_comment(kiln_arena *a, const char *text) {
    char *out = kiln_str_dup(a, text);
    for (char *c = out; *c != '\0'; c++) {
        const bool is_end = (*c == '/' && c > out && c[-1] == '*') ||
                            (*c == '*' && c > out && c[-1] == '/');
        if (is_end || (unsigned char)*c < ' ' || *c == '\\' || *c == '?')
            *c = '.';
    }
    return out;
}

kiln_c_text kiln_c_put(kiln_c_printer *p, kiln_c_binds binds, const char *fmt, ...) {
    va_list args;
    kiln_c_text x = {.text = "", .binds = binds};
    va_start(args, fmt);
    x.text = formatted(p->arena, fmt, args);
    va_end(args);
    return x;
}

const char *kiln_c_in(kiln_c_printer *p, kiln_c_text x, kiln_c_binds at_least) {
    return x.binds >= at_least ? x.text : kiln_format(p->arena, "(%s)", x.text);
}

static bool is_taken(const kiln_c_printer *p, const char *name) {
    for (size_t i = p->name.n; i-- > 0;)
        if (strcmp(p->name.v[i], name) == 0)
            return true;
    for (size_t i = 0; i < p->declared.n; i++)
        if (strcmp(p->declared.v[i].name, name) == 0)
            return true;
    return kiln_map_get(&p->unit->known, kiln_str_from(name)) != NULL;
}

const char *kiln_c_name(kiln_c_printer *p, const char *wanted) {
    const char *word = kiln_c_word(p->arena, wanted), *name = word;
    for (int i = 2; is_taken(p, name); i++)
        name = kiln_format(p->arena, "%s_%d", word, i);
    kiln_vec_push(p->arena, &p->name, name);
    return name;
}

void kiln_c_line(kiln_c_printer *p, const char *fmt, ...) {
    va_list args;
    for (int i = 0; i < p->depth; i++)
        kiln_buf_puts(p->out, "    ");
    va_start(args, fmt);
    kiln_buf_puts(p->out, formatted(p->arena, fmt, args));
    va_end(args);
    kiln_buf_puts(p->out, "\n");
}

void kiln_c_fail(kiln_c_printer *p, kiln_status st, const char *fmt, ...) {
    va_list args;
    if (p->status != KILN_OK)
        return;
    va_start(args, fmt);
    p->status = kiln_fail(p->err, st, "%s", formatted(p->arena, fmt, args));
    va_end(args);
}

kiln_c_block kiln_c_open(kiln_c_printer *p) {
    const kiln_c_block b = {p->name.n, p->vars.n, p->memory.n, p->ready.n};
    p->depth++;
    return b;
}

void kiln_c_close(kiln_c_printer *p, kiln_c_block b) {
    KILN_ASSERT(p->depth > 0 && b.names <= p->name.n && b.vars <= p->vars.n,
                "a block ends that has not begun");
    p->depth--;
    p->name.n = b.names;
    p->vars.n = b.vars;
    p->memory.n = b.memory;
    p->ready.n = b.ready;
    kiln_c_line(p, "}");
}

kiln_c_block kiln_c_lanes(kiln_c_printer *p, int lanes, const char **lane) {
    KILN_ASSERT(lanes > 1, "a loop over %d lanes", lanes);
    const size_t names = p->name.n;
    *lane = kiln_c_name(p, "lane");
    kiln_c_line(p, "for (int %s = 0; %s < %d; %s++) {", *lane, *lane, lanes, *lane);
    kiln_c_block b = kiln_c_open(p);
    b.names = names;
    return b;
}
