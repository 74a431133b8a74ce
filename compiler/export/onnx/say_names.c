/* Names of values. In ONNX a value is its name, and names of regions may not be those
 * around them: so every value of the model has one of its own. Inputs and outputs keep
 * theirs; another value that wants one of these gets a suffix. */
#include "compiler/export/onnx/say.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_NAME_BYTES = 4096 };

/* Strings of protobuf are UTF-8. */
static const char *clean(kiln_say *s, const char *want) {
    const kiln_str name = kiln_str_from(want);
    if (name.n == 0)
        return "value";
    return kiln_utf8_valid(name) && name.n <= MAX_NAME_BYTES
               ? want
               : kiln_str_printable(s->arena, name, MAX_NAME_BYTES);
}

static const char *fresh_in(kiln_say *s, kiln_map *taken, const char *want) {
    want = clean(s, want);
    int64_t *last = kiln_map_get(taken, kiln_str_from(want));
    const char *name = want;
    while (kiln_map_has(taken, kiln_str_from(name)))
        name = kiln_format(s->arena, "%s.%" PRId64, want, ++*last);
    last = kiln_new(s->arena, int64_t);
    kiln_map_set(s->arena, taken, kiln_str_from(name), last);
    return name;
}

const char *kiln_say_fresh(kiln_say *s, const char *want) {
    return fresh_in(s, &s->names, want);
}

kiln_say_scope *kiln_say_scope_new(kiln_say *s, const kiln_graph *g) {
    kiln_say_scope *scope = kiln_new(s->arena, kiln_say_scope);
    scope->g = g;
    scope->name = kiln_array(s->arena, const char *, g->values.n);
    kiln_buf_init(&scope->nodes, s->arena);
    return scope;
}

void kiln_say_name_inputs(kiln_say *s, kiln_say_scope *scope) {
    for (size_t i = 0; i < scope->g->inputs.n; i++) {
        const kiln_value *v = scope->g->inputs.v[i];
        if (scope->name[v->id] == NULL)
            scope->name[v->id] = kiln_say_fresh(s, v->name);
    }
}

/* May the output be the value itself? It must be made by a node here, once. */
static bool can_be(const kiln_say_scope *scope, const kiln_value *v) {
    return v->def != NULL && scope->name[v->id] == NULL;
}

const char **kiln_say_name_outputs(kiln_say *s, kiln_say_scope *scope, bool is_region) {
    const kiln_graph *g = scope->g;
    const char **name = kiln_array(s->arena, const char *, g->outputs.n);
    for (size_t i = 0; i < g->outputs.n; i++) {
        const kiln_value *v = g->outputs.v[i];
        const char *const mine = scope->name[v->id];
        /* An input that is an output under its own name needs nothing. */
        if (!is_region && mine != NULL && v->def == NULL &&
            strcmp(mine, g->output_names.v[i]) == 0) {
            name[i] = mine;
            continue;
        }
        name[i] = kiln_say_fresh(s, g->output_names.v[i]);
        if (can_be(scope, v))
            scope->name[v->id] = name[i];
    }
    return name;
}

void kiln_say_name_rest(kiln_say *s, kiln_say_scope *scope) {
    const kiln_graph *g = scope->g;
    const int *uses = kiln_graph_count_uses(g, s->arena);
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        if (scope->name[v->id] != NULL)
            continue;
        if (kiln_value_is_const(v) && uses[v->id] > 0)
            scope->name[v->id] = kiln_say_constant_of(s, v->name, &v->type, v->data);
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->n_out; k++) {
            const kiln_value *v = g->nodes.v[i]->out[k];
            if (scope->name[v->id] == NULL)
                scope->name[v->id] = kiln_say_fresh(s, v->name);
        }
}

void kiln_say_late_outputs(kiln_say *s, const char *const *outputs) {
    const kiln_say_scope *scope = s->scope;
    for (size_t i = 0; i < scope->g->outputs.n; i++) {
        const char *const name = scope->name[scope->g->outputs.v[i]->id];
        if (strcmp(name, outputs[i]) != 0)
            kiln_say_1(s, "Identity", name, outputs[i]);
    }
}
