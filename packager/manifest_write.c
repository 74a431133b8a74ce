/* manifest.json, written (docs/package-format.md), and the same for people. */
#include "packager/packager_internal.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <string.h>

static void put_ports(kiln_json_writer *w, const char *key,
                      const kiln_package_port *port, size_t n) {
    kiln_json_name(w, key);
    kiln_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", port[i].name);
        kiln_json_member_str(w, "dtype", port[i].dtype);
        kiln_json_name(w, "shape");
        kiln_json_begin_row(w);
        for (int k = 0; k < port[i].rank; k++)
            kiln_json_put_i64(w, port[i].dim[k]);
        kiln_json_end_array(w);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

static void put_kernel(kiln_json_writer *w, const kiln_package_kernel *k) {
    const kiln_json *config = NULL;
    kiln_err err = {.status = KILN_OK};
    const kiln_status st = kiln_json_parse(w->out->arena, kiln_str_from(k->config),
                                           "configuration", &config, &err);
    KILN_ASSERT(st == KILN_OK, "kernel '%s': %s", k->symbol, err.text);
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "symbol", k->symbol);
    kiln_json_member_str(w, "origin", k->origin);
    kiln_json_member_str(w, "template", k->tmpl);
    kiln_json_name(w, "configuration");
    kiln_json_put(w, config);
    kiln_json_member_str(w, "workload", k->workload);
    kiln_json_member_i64(w, "multiply_adds", k->muladds);
    kiln_json_member_i64(w, "flops", k->flops);
    kiln_json_member_i64(w, "bytes", k->bytes);
    kiln_json_member_i64(w, "code_bytes", k->code_bytes);
    kiln_json_member_str(w, "code_sha256", k->code_sha256);
    kiln_json_name(w, "steps");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < k->n_steps; i++)
        kiln_json_put_string(w, kiln_str_from(k->step[i]));
    kiln_json_end_array(w);
    kiln_json_end_object(w);
}

static void put_fixed(kiln_json_writer *w, const kiln_package_facts *f) {
    kiln_json_name(w, "fixed_inputs");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < f->n_fixed; i++) {
        const kiln_json_text row[] = {{"name", f->fixed[i].name},
                                      {"type", f->fixed[i].type},
                                      {"sha256", f->fixed[i].sha256}};
        kiln_json_put_texts(w, row, sizeof row / sizeof row[0]);
    }
    kiln_json_end_array(w);
}

static void put_model(kiln_json_writer *w, const kiln_package_facts *f) {
    kiln_json_name(w, "model");
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", f->model);
    kiln_json_member_str(w, "version", f->version);
    kiln_json_member_str(w, "source_sha256", f->source_sha256);
    kiln_json_member_str(w, "licence", f->licence);
    put_fixed(w, f);
    if (f->as_reference)
        kiln_json_member_str(w, "rounding", "reference");
    kiln_json_end_object(w);
}

static void put_memory(kiln_json_writer *w, const kiln_package_memory *m) {
    kiln_json_name(w, "memory");
    kiln_json_begin_object(w);
    kiln_json_member_i64(w, "arena_bytes", (int64_t)m->arena);
    kiln_json_member_i64(w, "lower_bound_bytes", (int64_t)m->lower_bound);
    kiln_json_member_i64(w, "param_bytes", (int64_t)m->params);
    kiln_json_member_i64(w, "workspace_bytes", (int64_t)m->workspace);
    kiln_json_member_i64(w, "scratch_bytes", (int64_t)m->scratch);
    kiln_json_member_i64(w, "packed_bytes", (int64_t)m->packed);
    kiln_json_end_object(w);
}

static void put_entries(kiln_json_writer *w, const kiln_package_facts *f) {
    kiln_json_name(w, "entries");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < f->n_entries; i++) {
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", f->entry[i].name);
        kiln_json_member_i64(w, "bytes", (int64_t)f->entry[i].bytes);
        kiln_json_member_str(w, "sha256", f->entry[i].sha256);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

/* Where the host is the only one nothing is said. */
static void put_devices(kiln_json_writer *w, const kiln_package_facts *f) {
    if (f->n_devices < 2)
        return;
    kiln_json_name(w, "devices");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < f->n_devices; i++)
        kiln_json_put_string(w, kiln_str_from(f->device[i]));
    kiln_json_end_array(w);
}

/* Where no search was, or it found nothing, nothing is said. */
static void put_searched(kiln_json_writer *w, const kiln_package_facts *f) {
    if (f->n_searched == 0)
        return;
    kiln_json_name(w, "layouts");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < f->n_searched; i++) {
        const kiln_json_text row[] = {{"step", f->searched[i].step},
                                      {"types", f->searched[i].types}};
        kiln_json_put_texts(w, row, sizeof row / sizeof row[0]);
    }
    kiln_json_end_array(w);
}

static void put_one(kiln_json_writer *w, const kiln_package_facts *f) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "format", "kiln package");
    kiln_json_member_i64(w, "format_version", KILN_PACKAGE_FORMAT);
    kiln_json_member_str(w, "kiln", f->kiln_version);
    if (f->kiln_commit != NULL)
        kiln_json_member_str(w, "commit", f->kiln_commit);
    kiln_json_member_str(w, "llvm", f->llvm_version);
    kiln_json_member_str(w, "lld", f->lld_version);
    kiln_json_member_str(w, "zstd", f->zstd_version);
    put_model(w, f);
    kiln_json_member_str(w, "architecture", kiln_arch_name(f->profile.arch));
    kiln_json_member_str(w, "numerics", kiln_numerics_name(f->profile.numerics));
    kiln_json_member_i64(w, "threads", f->threads > 1 ? f->threads : 1);
    kiln_json_name(w, "profile");
    kiln_profile_put(w, &f->profile);
    if (f->profile.measure != NULL)
        kiln_json_member_str(w, "measure", f->profile.measure);
    put_ports(w, "inputs", f->input, f->n_inputs);
    put_ports(w, "outputs", f->output, f->n_outputs);
    put_devices(w, f);
    kiln_json_member_str(w, "pack", kiln_package_pack(&f->memory));
    put_memory(w, &f->memory);
    kiln_json_member_bool(w, "proved", !f->is_unproved);
    kiln_json_name(w, "tolerance");
    kiln_json_begin_object(w);
    kiln_json_member_f64(w, "relative", f->tolerance.relative);
    kiln_json_member_f64(w, "rms", f->tolerance.rms);
    kiln_json_member_f64(w, "absolute", f->tolerance.absolute);
    kiln_json_end_object(w);
    kiln_json_name(w, "kernels");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < f->n_kernels; i++)
        put_kernel(w, &f->kernel[i]);
    kiln_json_end_array(w);
    put_searched(w, f);
    put_entries(w, f);
    kiln_json_end_object(w);
}

/* Of several: each with the folder that it is in. */
static void put_variants(kiln_json_writer *w, const kiln_package_facts *f) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "format", "kiln package");
    kiln_json_member_i64(w, "format_version", KILN_PACKAGE_FORMAT_OF_SEVERAL);
    kiln_json_name(w, "variants");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < f->n_variants; i++) {
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "folder", f->variant[i].folder);
        kiln_json_name(w, "manifest");
        put_one(w, f->variant[i].facts);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
    kiln_json_end_object(w);
}

void kiln_package_manifest(kiln_buf *out, const kiln_package_facts *f) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    if (f->n_variants > 0)
        put_variants(&w, f);
    else
        put_one(&w, f);
    kiln_buf_puts(out, "\n");
}

/* ---- for people ------------------------------------------------------------------ */

static void print_ports(kiln_buf *out, const char *what, const kiln_package_port *port,
                        size_t n) {
    for (size_t i = 0; i < n; i++)
        kiln_buf_printf(out, "%-16s %s: %s%s\n", i == 0 ? what : "",
                        kiln_str_printable(out->arena, kiln_str_from(port[i].name), 64),
                        port[i].dtype,
                        kiln_shape_text(out->arena, port[i].rank, port[i].dim));
}

/* "37 default, 2 tuned": in order of first appearance. */
static void print_ledger(kiln_buf *out, const kiln_package_facts *f) {
    kiln_numbers seen = {.map = {.slot = NULL}};
    for (size_t i = 0; i < f->n_kernels; i++) {
        const kiln_str origin = kiln_str_from(f->kernel[i].origin);
        kiln_numbers_set(out->arena, &seen, origin,
                         kiln_numbers_get(&seen, origin) + 1);
    }
    kiln_buf_printf(out, "%-16s %zu", "kernels", f->n_kernels);
    for (size_t i = 0; i < seen.map.entries.n; i++) {
        const kiln_str origin = seen.map.entries.v[i].key;
        kiln_buf_printf(out, "%s%zu %s", i == 0 ? ": " : ", ",
                        kiln_numbers_get(&seen, origin),
                        kiln_str_printable(out->arena, origin, 32));
    }
    kiln_buf_puts(out, "\n");
}

static void print_one(kiln_buf *out, const kiln_package_facts *f) {
    kiln_arena *a = out->arena;
    kiln_buf_printf(out, "%-16s %s, version %s\n", "model",
                    kiln_str_printable(a, kiln_str_from(f->model), 64),
                    kiln_str_printable(a, kiln_str_from(f->version), 64));
    kiln_buf_printf(out, "%-16s SHA-256 %s\n", "source", f->source_sha256);
    kiln_buf_printf(out, "%-16s %s\n", "licence",
                    f->licence != NULL
                        ? kiln_str_printable(a, kiln_str_from(f->licence), 64)
                        : "not known");
    kiln_buf_printf(out, "%-16s %s (%s, %s, numerics %s), %d thread%s\n", "profile",
                    kiln_str_printable(a, kiln_str_from(f->profile.name), 64),
                    kiln_arch_name(f->profile.arch), f->profile.cpu,
                    kiln_numerics_name(f->profile.numerics), f->threads,
                    f->threads == 1 ? "" : "s");
    kiln_buf_printf(out, "%-16s kiln %s%s%s, LLVM %s, %s, zstd %s\n", "made by",
                    kiln_str_printable(a, kiln_str_from(f->kiln_version), 32),
                    f->kiln_commit != NULL ? " of commit " : "",
                    f->kiln_commit != NULL ? f->kiln_commit : "",
                    kiln_str_printable(a, kiln_str_from(f->llvm_version), 32),
                    kiln_str_printable(a, kiln_str_from(f->lld_version), 64),
                    kiln_str_printable(a, kiln_str_from(f->zstd_version), 32));
    print_ports(out, "inputs", f->input, f->n_inputs);
    print_ports(out, "outputs", f->output, f->n_outputs);
    print_ledger(out, f);
    kiln_buf_printf(out,
                    "%-16s %" PRIu64 " bytes of activations (at least %" PRIu64
                    "), %" PRIu64 " of parameters, %" PRIu64 " of workspace, %" PRIu64
                    " a thread\n",
                    "memory", f->memory.arena, f->memory.lower_bound, f->memory.params,
                    f->memory.workspace, f->memory.scratch);
    for (size_t i = 0; i < f->n_devices && f->n_devices > 1; i++)
        kiln_buf_printf(out, "%s%s", i == 0 ? "devices          " : ", ",
                        kiln_str_printable(a, kiln_str_from(f->device[i]), 64));
    if (f->n_devices > 1)
        kiln_buf_puts(out, "\n");
    if (f->memory.packed > 0)
        kiln_buf_printf(out,
                        "%-16s when it is opened, once: %" PRIu64
                        " bytes of a model's memory beside the parameters\n",
                        "packed", f->memory.packed);
    if (f->is_unproved)
        kiln_buf_printf(out, "%-16s no: it was packed without having run\n", "proved");
    kiln_buf_printf(out, "%-16s %g * |value| + %g * rms + %g\n", "tolerance",
                    f->tolerance.relative, f->tolerance.rms, f->tolerance.absolute);
    for (size_t i = 0; i < f->n_entries; i++)
        kiln_buf_printf(out, "%-16s %s, %" PRIu64 " bytes\n", i == 0 ? "entries" : "",
                        f->entry[i].name, f->entry[i].bytes);
}

void kiln_package_print(kiln_buf *out, const kiln_package_facts *f) {
    if (f->n_variants == 0)
        print_one(out, f);
    for (size_t i = 0; i < f->n_variants; i++) {
        kiln_buf_printf(out, "%s%-16s %s\n", i > 0 ? "\n" : "", "variant",
                        f->variant[i].folder);
        print_one(out, f->variant[i].facts);
    }
}
