/* The cycle model against LLVM's models of cores that are not here: the hot loops of the
 * products of BERT-base and ViT-B/16, as the rules schedule them for the machines of
 * tests/pipeline/kernels/machines, by llvm-mca. In cycles of a vector multiply-add:
 *
 *   ports   at least, by the machine's model
 *   alone   multiply-adds that wait for nothing, by llvm-mca. LLVM 19 knows one port for
 *           them on Ice Lake and Sapphire Rapids, whose servers have two
 *   loop    the hot loop, by llvm-mca: all loads are from the L1 cache, and the front end
 *           never waits. What is above `alone` is bad code for that core
 *   model   kiln_tile_cycles, by which tiles are chosen: what it has above `ports` are
 *           loads, also from the L2 cache, that are not hidden
 *
 *   bench_mca          the table
 *   bench_mca texts    the hot loops too
 *
 * Where there is no llvm-mca-19 or llvm-mca, it says so and ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host/process.h"
#include "compiler/network/network_kernel.h"
#include "compiler/schedule/template/tiles.h"
#include "pipeline/kernels/op_line.h"
#include "tests/pipeline/kernels/machines/machines.h"

enum { RUNS = 200 };

static const char *const lines[] = {
    "mm bert_qkv 128 768 768", "mm bert_up 128 768 3072", "mm bert_down 128 3072 768",
    "mm vit_proj 197 768 768", "mm vit_up 197 768 3072",  "mm vit_down 197 3072 768",
    "mm gpt_up 1 768 3072",    "mm square 1024 1024 1024"};

/* LLVM's name of the core that each machine has. */
static const struct {
    const char *machine, *cpu;
} cores[] = {{"skylake_x", "skylake-avx512"},
             {"ice_lake", "icelake-server"},
             {"sapphire_rapids", "sapphirerapids"},
             {"zen4", "znver4"}};

static void need(kiln_status st, const kiln_err *err) {
    if (st == KILN_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

/* The number behind a title of llvm-mca's summary; 0: there is none. */
static double number(kiln_str text, const char *title) {
    kiln_str line;
    while (kiln_str_cut(&text, '\n', &line)) {
        const size_t n = strlen(title);
        if (line.n > n && memcmp(line.p, title, n) == 0)
            return strtod(line.p + n, NULL);
    }
    return 0;
}

/* Cycles of one turn of a loop; 0: the tool is not there, or does not know the core. */
static double ask(kiln_arena *a, const char *tool, const char *cpu, kiln_str text) {
    const char *argv[] = {tool,
                          "-mtriple=x86_64-unknown-linux-gnu",
                          kiln_format(a, "-mcpu=%s", cpu),
                          kiln_format(a, "-iterations=%d", (int)RUNS),
                          "-noalias",
                          "-instruction-info=false",
                          "-resource-pressure=false",
                          NULL};
    const kiln_process_options o = {
        .argv = argv, .input = text, .time_limit_ms = 20000};
    kiln_process_result r;
    kiln_err err = {0};
    if (kiln_process_run(a, &o, &r, &err) != KILN_OK || r.end != KILN_PROCESS_EXITED ||
        r.code != 0)
        return 0;
    return number(r.out, "Total Cycles:") / RUNS;
}

/* Cycles of one multiply-add among many; 0: the tool does not know the core. */
static double alone(kiln_arena *a, const char *tool, const char *cpu) {
    enum { N = 24 };
    kiln_buf text;
    kiln_buf_init(&text, a);
    for (int i = 0; i < N; i++)
        kiln_buf_printf(&text, "vfmadd231ps %%zmm30, %%zmm31, %%zmm%d\n", i);
    return ask(a, tool, cpu, kiln_buf_str(&text)) / N;
}

static const char *find_tool(kiln_arena *a) {
    static const char *const names[] = {"llvm-mca-19", "llvm-mca"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (alone(a, names[i], cores[0].cpu) > 0)
            return names[i];
    return NULL;
}

/* Tails are loops of their own, with more instructions for each multiply-add. */
static const kiln_asm_loop *whole_tiles(const kiln_hot_loops *h) {
    const kiln_asm_loop *best = NULL;
    for (size_t i = 0; i < h->n; i++) {
        const kiln_asm_loop *l = &h->loop[i];
        if (l->vector_fma > 0 &&
            (best == NULL || (int64_t)l->instructions * best->vector_fma <
                                 (int64_t)best->instructions * l->vector_fma))
            best = l;
    }
    return best;
}

static int64_t knob(const kiln_choice *c, const char *name) {
    for (int i = 0; i < c->space.n; i++)
        if (strcmp(c->space.knob[i].name, name) == 0)
            return kiln_config_int(&c->space, &c->config, i, 0);
    return 0;
}

static void row(const char *tool, const char *cpu, const kiln_profile *p,
                const char *line, bool is_shown) {
    static const kiln_choose_options o = {.tmpl = "matmul"};
    kiln_arena a = {0};
    kiln_op_line one;
    kiln_op_work work;
    kiln_choice c;
    kiln_kernel k;
    kiln_hot_loops h;
    kiln_err err = {0};
    need(kiln_op_line_of(&a, line, &one, &err), &err);
    need(kiln_op_work_make(&a, &one, &work, &err), &err);
    need(kiln_choose(&a, &work, p, &o, &c, &err), &err);
    need(kiln_kernel_make(&a, &work, &c, p, &k, &err), &err);
    need(kiln_kernel_loops(&a, &k, p, &h, &err), &err);
    const kiln_asm_loop *loop = whole_tiles(&h);
    if (loop == NULL) {
        printf("%-16s %-10s has no loop of multiply-adds\n", p->name, work.name);
        kiln_arena_fini(&a);
        return;
    }
    const kiln_str text =
        kiln_text_lines(k.text.assembly, loop->line_begin, loop->line_end);
    const int64_t rows = knob(&c, "tile_m");
    const int64_t vectors = knob(&c, "tile_n") / (p->vector_bytes / 4);
    const double single = alone(&a, tool, cpu), cycles = ask(&a, tool, cpu, text);
    if (single > 0 && cycles > 0)
        printf("%-16s %-10s %2d x %-2d %5d %8.3f %8.3f %8.3f %8.3f\n", p->name,
               work.name, (int)rows, (int)vectors, loop->instructions,
               1.0 / p->core.fma_ports, single, cycles / loop->vector_fma,
               kiln_tile_cycles(p, rows, vectors) / (double)(rows * vectors));
    else
        printf("%-16s %-10s: %s says nothing of '%s'\n", p->name, work.name, tool, cpu);
    if (is_shown)
        printf("%.*s\n", KILN_STR_ARG(text));
    kiln_arena_fini(&a);
}

int main(int argc, char **argv) {
    static kiln_profile machine[KILN_MAX_MACHINES];
    const bool is_shown = argc > 1 && strcmp(argv[1], "texts") == 0;
    const int n = kiln_machines_read(machine);
    kiln_arena a = {0};
    const char *tool = find_tool(&a);
    if (tool == NULL) {
        printf("skipped: there is no llvm-mca-19 or llvm-mca\n");
        kiln_arena_fini(&a);
        return 0;
    }
    printf("%-16s %-10s %-6s %5s %8s %8s %8s %8s\n", "machine", "product", "tile",
           "instr", "ports", "alone", "loop", "model");
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++)
        for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++)
            row(tool, cores[i].cpu, kiln_machine_named(machine, n, cores[i].machine),
                lines[k], is_shown);
    kiln_arena_fini(&a);
    return 0;
}
