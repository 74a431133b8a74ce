/* The file of a pipeline, from JSON to names that were looked up
 * (docs/pipeline-json.md).
 */
#include "packager/sign.h"
#include "pipeline/nightly/nightly_internal.h"
#include "pipeline/tune/tune.h"
#include "reports/reports.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_ROUNDS = 30,
    MAX_ROUNDS = 100000,
    MAX_SECONDS = 10 * 24 * 3600,
    MAX_KEPT = 100000,
    MAX_RANK = 16 /* of --shape; the import names its own limit */
};

typedef struct reader {
    kiln_arena *arena;
    kiln_problems problems;
    const char *dir; /* absolute: what paths are relative to */
    kiln_nightly_config *c;
    kiln_nightly_profiles profile; /* what models have that say nothing */
    kiln_nightly_numbers threads;
    const char *numerics, *pack;
    kiln_nightly_tune tune;
    double fail_above, pass_below; /* percent */
} reader;

/* ---- words ----------------------------------------------------------------------- */

static const char *path_field(reader *r, const kiln_fields *f, const char *member) {
    const char *text = kiln_fields_text(f, member);
    return text == NULL ? NULL : kiln_nightly_absolute(r->arena, r->dir, text);
}

/* A database, which may be on a server. */
static const char *place_field(reader *r, const kiln_fields *f, const char *member) {
    const char *text = kiln_fields_text(f, member);
    return text == NULL || kiln_db_file(text) == NULL ? text : path_field(r, f, member);
}

static kiln_nightly_numbers read_threads(reader *r, const kiln_fields *f,
                                         kiln_nightly_numbers otherwise) {
    const kiln_json *list = kiln_fields_list(f, "threads");
    kiln_nightly_numbers out = {.n = 0};
    if (list == NULL)
        return otherwise;
    size_t i = 0;
    for (const kiln_json *v = kiln_json_first(list); v != NULL;
         v = kiln_json_next(v), i++) {
        const char *path =
            kiln_format(r->arena, "%s[%zu]", kiln_fields_path(f, "threads"), i);
        int64_t n = 0;
        bool is_twice = false;
        if (!kiln_json_i64(v, &n) || n < 1 || n > KILN_NIGHTLY_MAX_THREADS) {
            kiln_problem(&r->problems, path,
                         "must be a whole number from 1 to %d, is %s",
                         KILN_NIGHTLY_MAX_THREADS, kiln_fields_shown(r->arena, v));
            continue;
        }
        for (size_t k = 0; k < out.n; k++)
            is_twice |= out.v[k] == (int)n;
        if (is_twice)
            kiln_problem(&r->problems, path, "is there twice: %d", (int)n);
        else
            kiln_vec_push(r->arena, &out, (int)n);
    }
    if (i == 0)
        kiln_problem(&r->problems, kiln_fields_path(f, "threads"), "must not be empty");
    return out.n > 0 ? out : otherwise;
}

/* "a,b" of ["a", "b"]; NULL: none. */
static const char *read_baselines(reader *r, const kiln_fields *f,
                                  const char *(*name_at)(int i)) {
    const kiln_json *list = kiln_fields_list(f, "baselines");
    kiln_buf text;
    size_t i = 0;
    kiln_buf_init(&text, r->arena);
    for (const kiln_json *v = kiln_json_first(list); v != NULL;
         v = kiln_json_next(v), i++) {
        const char *path =
            kiln_format(r->arena, "%s[%zu]", kiln_fields_path(f, "baselines"), i);
        if (kiln_fields_word_of(&r->problems, path, v, name_at) != NULL)
            kiln_buf_printf(&text, "%s%s", text.n > 0 ? "," : "",
                            kiln_json_string(v, ""));
    }
    return text.n > 0 ? text.p : NULL;
}

/* "tune": null says that nothing is tuned, an object changes what `otherwise` says. */
static kiln_nightly_tune read_tune(reader *r, const kiln_fields *f,
                                   kiln_nightly_tune otherwise) {
    static const char *const known[] = {"trials", "seconds",   "search", "cost_model",
                                        "seed",   "early_end", NULL};
    const kiln_json *v = kiln_json_get(f->object, "tune");
    kiln_nightly_tune t = otherwise;
    if (v == NULL)
        return otherwise;
    if (kiln_fields_get(f, "tune") == NULL)
        return (kiln_nightly_tune){.is_asked = false};
    const kiln_fields own =
        kiln_fields_open(&r->problems, v, kiln_fields_path(f, "tune"), known);
    t.is_asked = true;
    t.trials = kiln_fields_int(&own, "trials", 1, 1000000, t.trials);
    t.seconds = kiln_fields_int(&own, "seconds", 0, MAX_SECONDS, t.seconds);
    t.seed = kiln_fields_int(&own, "seed", 1, INT32_MAX, t.seed);
    t.no_early_end = !kiln_fields_bool(&own, "early_end", !t.no_early_end);
    const char *search = kiln_fields_word(&own, "search", kiln_nightly_search_name);
    const char *model =
        kiln_fields_word(&own, "cost_model", kiln_nightly_cost_model_name);
    t.search = search != NULL ? search : t.search;
    t.cost_model = model != NULL ? model : t.cost_model;
    return t;
}

/* ---- models ---------------------------------------------------------------------- */

/* {"x": [1, 3, 224, 224]}: "x:1x3x224x224". */
static void read_shapes(reader *r, const kiln_fields *f, kiln_nightly_words *out) {
    const kiln_json *v = kiln_fields_get(f, "shapes");
    if (v != NULL && !kiln_json_is_object(v)) {
        kiln_problem(&r->problems, kiln_fields_path(f, "shapes"),
                     "must be an object such as {\"x\": [1, 3, 224, 224]}, is %s",
                     kiln_fields_shown(r->arena, v));
        return;
    }
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m)) {
        kiln_buf text;
        size_t n = 0;
        bool is_good = kiln_json_is_array(m);
        kiln_buf_init(&text, r->arena);
        kiln_buf_printf(&text, "%s:", kiln_json_key(m));
        for (const kiln_json *d = kiln_json_first(m); d != NULL;
             d = kiln_json_next(d), n++) {
            int64_t dim = -1;
            is_good = is_good && kiln_json_i64(d, &dim) && dim >= 0 && n < MAX_RANK;
            kiln_buf_printf(&text, "%s%lld", n > 0 ? "x" : "", (long long)dim);
        }
        if (!is_good || n == 0)
            kiln_problem(&r->problems,
                         kiln_format(r->arena, "%s.%s", kiln_fields_path(f, "shapes"),
                                     kiln_json_key(m)),
                         "must be a list of dimensions such as [1, 3, 224, 224]");
        else
            kiln_vec_push(r->arena, out, text.p);
    }
}

/* {"sr": 16000, "h": "h.npy"}: "sr=16000", "h=/there/h.npy". */
static void read_binds(reader *r, const kiln_fields *f, kiln_nightly_words *out) {
    const kiln_json *v = kiln_fields_get(f, "binds");
    if (v != NULL && !kiln_json_is_object(v)) {
        kiln_problem(&r->problems, kiln_fields_path(f, "binds"),
                     "must be an object such as {\"sr\": 16000}, is %s",
                     kiln_fields_shown(r->arena, v));
        return;
    }
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m)) {
        const char *key = kiln_json_key(m);
        const char *path =
            kiln_format(r->arena, "%s.%s", kiln_fields_path(f, "binds"), key);
        const char *file = kiln_json_string(m, NULL);
        if (kiln_json_is_number(m)) {
            kiln_vec_push(
                r->arena, out,
                kiln_format(r->arena, "%s=%.17g", key, kiln_json_number(m, 0)));
        } else if (file == NULL) {
            kiln_problem(&r->problems, path, "must be a number or a file, is %s",
                         kiln_fields_shown(r->arena, m));
        } else if (!kiln_file_exists(kiln_nightly_absolute(r->arena, r->dir, file))) {
            kiln_problem(&r->problems, path, "must be a file that is there, is '%s'",
                         file);
        } else {
            kiln_vec_push(r->arena, out,
                          kiln_format(r->arena, "%s=%s", key,
                                      kiln_nightly_absolute(r->arena, r->dir, file)));
        }
    }
}

/* "zoo:NAME", "fetch:NAME", or a file. */
static void read_source(reader *r, const kiln_fields *f, kiln_nightly_model *out) {
    static const char zoo[] = "zoo:", fetch[] = "fetch:";
    const char *text = kiln_fields_text(f, "source");
    const char *path = kiln_fields_path(f, "source");
    kiln_err why = {.status = KILN_OK};
    if (text == NULL) {
        if (kiln_fields_get(f, "source") == NULL)
            kiln_problem(
                &r->problems, path,
                "must say where the model is: \"zoo:NAME\", \"fetch:NAME\" or a "
                "file");
    } else if (strncmp(text, zoo, sizeof zoo - 1) == 0) {
        out->source = text;
        if (kiln_nightly_find_zoo(text + sizeof zoo - 1, &why) != KILN_OK)
            kiln_problem(&r->problems, path, "is '%s': %s", text, why.text);
    } else if (strncmp(text, fetch, sizeof fetch - 1) == 0) {
        out->fetch = text + sizeof fetch - 1;
        if (kiln_nightly_find_in_catalog(r->arena, r->c->catalog, out->fetch, &why) !=
            KILN_OK)
            kiln_problem(&r->problems, path, "is '%s': %s", text, why.text);
    } else {
        out->source = kiln_nightly_absolute(r->arena, r->dir, text);
        if (!kiln_file_exists(out->source))
            kiln_problem(
                &r->problems, path,
                "must be a file that is there, \"zoo:NAME\" or \"fetch:NAME\", is "
                "'%s'",
                text);
    }
}

static void read_golden(reader *r, const kiln_fields *f, kiln_nightly_model *out) {
    out->golden = path_field(r, f, "golden");
    if (out->golden != NULL &&
        !kiln_file_exists(kiln_path_join(r->arena, out->golden, "golden.json")))
        kiln_problem(&r->problems, kiln_fields_path(f, "golden"),
                     "must be a folder with a golden.json, is '%s'", out->golden);
}

/* "fail_above" and "pass_below" of a "gate", percent. */
static void read_gate_limits(reader *r, const kiln_fields *gate, double *fail_above,
                             double *pass_below) {
    *fail_above = kiln_fields_number(gate, "fail_above", 0, 100, *fail_above);
    *pass_below = kiln_fields_number(gate, "pass_below", 0, 100, *pass_below);
    if (!(*fail_above < *pass_below))
        kiln_problem(&r->problems, kiln_fields_path(gate, "pass_below"),
                     "must be above fail_above, %g, is %g", *fail_above, *pass_below);
}

static void read_own_gate(reader *r, const kiln_fields *f, kiln_nightly_model *out) {
    static const char *const known[] = {"fail_above", "pass_below", NULL};
    const kiln_fields own = kiln_fields_open(&r->problems, kiln_fields_get(f, "gate"),
                                             kiln_fields_path(f, "gate"), known);
    out->fail_above = r->fail_above;
    out->pass_below = r->pass_below;
    if (own.object != NULL)
        read_gate_limits(r, &own, &out->fail_above, &out->pass_below);
}

static void read_model(reader *r, const kiln_json *v, size_t i) {
    static const char *const known[] = {
        "name",    "source",   "version", "shapes", "binds", "golden", "profiles",
        "threads", "numerics", "pack",    "tune",   "gate",  NULL};
    const kiln_fields f = kiln_fields_open(
        &r->problems, v, kiln_format(r->arena, "models[%zu]", i), known);
    kiln_nightly_model m = {.name = kiln_fields_name(&f, "name"),
                            .version = kiln_fields_name(&f, "version")};
    if (kiln_fields_get(&f, "name") == NULL && f.object != NULL)
        kiln_problem(&r->problems, kiln_fields_path(&f, "name"), "must be there");
    for (size_t k = 0; m.name != NULL && k < r->c->model.n; k++)
        if (strcmp(r->c->model.v[k].name, m.name) == 0)
            kiln_problem(&r->problems, kiln_fields_path(&f, "name"),
                         "must be its own, models[%zu] is called '%s' too", k, m.name);
    m.name = m.name == NULL ? "" : m.name;
    m.version = m.version == NULL ? "1" : m.version;
    read_source(r, &f, &m);
    read_shapes(r, &f, &m.shape);
    read_binds(r, &f, &m.bind);
    read_golden(r, &f, &m);
    m.profile = kiln_nightly_profiles_read(&f, r->dir, r->profile);
    m.threads = read_threads(r, &f, r->threads);
    const char *numerics = kiln_fields_word(&f, "numerics", kiln_nightly_numerics_name);
    m.numerics = numerics != NULL ? numerics : r->numerics;
    const char *pack = kiln_fields_word(&f, "pack", kiln_nightly_pack_name);
    m.pack = pack != NULL ? pack : r->pack;
    m.tune = read_tune(r, &f, r->tune);
    read_own_gate(r, &f, &m);
    kiln_vec_push(r->arena, &r->c->model, m);
}

/* ---- lists of operators ---------------------------------------------------------- */

static void read_set(reader *r, const kiln_json *v, size_t i) {
    static const char *const known[] = {"set",     "profiles", "threads", "baselines",
                                        "seconds", "tune",     NULL};
    const kiln_fields f = kiln_fields_open(
        &r->problems, v, kiln_format(r->arena, "operators[%zu]", i), known);
    const char *word = kiln_fields_text(&f, "set");
    kiln_err why = {.status = KILN_OK};
    kiln_nightly_set s = {.word = "", .label = ""};
    if (word != NULL) {
        const bool is_file =
            !kiln_nightly_is_ops_list(word) &&
            (kiln_nightly_is_path(word, NULL) ||
             kiln_file_exists(kiln_nightly_absolute(r->arena, r->dir, word)));
        s.word = is_file ? kiln_nightly_absolute(r->arena, r->dir, word) : word;
        s.label = kiln_nightly_label_of(r->arena, s.word);
        if (kiln_nightly_find_ops(r->arena, s.word, &why) != KILN_OK)
            kiln_problem(&r->problems, kiln_fields_path(&f, "set"), "is '%s': %s", word,
                         why.text);
        else if (!kiln_fields_is_name(s.label))
            kiln_problem(&r->problems, kiln_fields_path(&f, "set"),
                         "must be a file whose name can name a folder too");
    } else if (kiln_fields_get(&f, "set") == NULL && f.object != NULL) {
        kiln_problem(&r->problems, kiln_fields_path(&f, "set"),
                     "must be a list of operators that ships, or a file");
    }
    for (size_t k = 0; k < r->c->set.n; k++)
        if (s.label[0] != '\0' && strcmp(r->c->set.v[k].label, s.label) == 0)
            kiln_problem(&r->problems, kiln_fields_path(&f, "set"),
                         "must be its own, operators[%zu] is '%s' too", k, s.label);
    s.profile = kiln_nightly_profiles_read(&f, r->dir, r->profile);
    s.threads = read_threads(r, &f, r->threads);
    s.seconds = kiln_fields_number(&f, "seconds", 0, 3600, 0);
    s.baselines = read_baselines(r, &f, kiln_nightly_op_baseline_name);
    s.tune = read_tune(r, &f, r->tune);
    kiln_vec_push(r->arena, &r->c->set, s);
}

/* ---- the rest -------------------------------------------------------------------- */

static void read_limits(reader *r, const kiln_fields *top) {
    const char *known[KILN_NIGHTLY_N_KINDS + 1] = {NULL};
    for (int k = 0; k < KILN_NIGHTLY_N_KINDS; k++)
        known[k] = kiln_nightly_kind_name((kiln_nightly_kind)k);
    const kiln_fields f =
        kiln_fields_open(&r->problems, kiln_fields_get(top, "limits"), "limits", known);
    for (int k = 0; k < KILN_NIGHTLY_N_KINDS; k++)
        r->c->limit_s[k] = kiln_fields_int(&f, known[k], 1, MAX_SECONDS, 0);
}

static void read_stages(reader *r, const kiln_fields *top) {
    static const char *const of_build[] = {"require_tuned", "pack", NULL};
    static const char *const of_bench[] = {"rounds", "baselines", "require_baselines",
                                           NULL};
    static const char *const of_gate[] = {"accepted",   "frozen",     "drift",
                                          "fail_above", "pass_below", NULL};
    kiln_nightly_config *c = r->c;
    const kiln_fields build = kiln_fields_open(
        &r->problems, kiln_fields_get(top, "build"), "build", of_build);
    const kiln_fields bench = kiln_fields_open(
        &r->problems, kiln_fields_get(top, "bench"), "bench", of_bench);
    const kiln_fields gate =
        kiln_fields_open(&r->problems, kiln_fields_get(top, "gate"), "gate", of_gate);
    c->require_tuned = kiln_fields_number(&build, "require_tuned", 0, 100, -1);
    r->pack = kiln_fields_word(&build, "pack", kiln_nightly_pack_name);
    r->pack = r->pack == NULL ? "build" : r->pack;
    c->rounds = kiln_fields_int(&bench, "rounds", 1, MAX_ROUNDS, DEFAULT_ROUNDS);
    c->baselines = read_baselines(r, &bench, kiln_nightly_baseline_name);
    c->require_baselines = kiln_fields_bool(&bench, "require_baselines", true);
    c->accepted = path_field(r, &gate, "accepted");
    c->wants_frozen = kiln_fields_bool(&gate, "frozen", true);
    r->fail_above = 100 * KILN_GATE_FAIL_ABOVE;
    r->pass_below = 100 * KILN_GATE_PASS_BELOW;
    read_gate_limits(r, &gate, &r->fail_above, &r->pass_below);
    const char *drift = kiln_fields_word(&gate, "drift", kiln_nightly_drift_name);
    c->drift_fails = drift != NULL && strcmp(drift, "fail") == 0;
    if (gate.object != NULL && kiln_fields_get(&gate, "accepted") == NULL)
        kiln_problem(&r->problems, "gate.accepted",
                     "must be the folder of accepted archives");
}

/* A keyring that opens; a secret key that opens without a terminal. */
static void read_keys(reader *r, const kiln_fields *top) {
    kiln_nightly_config *c = r->c;
    const char *password = getenv("KILN_PASSWORD_FILE");
    kiln_keyring ring;
    kiln_str text;
    kiln_err why = {.status = KILN_OK};
    c->keyring = path_field(r, top, "keyring");
    c->sign = path_field(r, top, "sign");
    if (c->keyring != NULL &&
        kiln_keyring_open(r->arena, c->keyring, &ring, &why) != KILN_OK)
        kiln_problem(&r->problems, "keyring", "must be a folder of public keys: %s",
                     why.text);
    if (c->sign == NULL)
        return;
    if (kiln_file_map(r->arena, c->sign, KILN_KEY_FILE_MAX, &text, NULL) != KILN_OK)
        kiln_problem(&r->problems, "sign",
                     "must be a secret key that is there, is '%s'", c->sign);
    else if (kiln_secret_key_wants_password(text) &&
             (password == NULL || password[0] == '\0'))
        kiln_problem(
            &r->problems, "sign",
            "has a password, which nobody gives at night: let KILN_PASSWORD_FILE "
            "name a file with it, or make a key by 'kiln keygen --no-password'");
}

static void read_history(reader *r, const kiln_fields *top) {
    static const char *const of_keep[] = {"nights", "gb", NULL};
    static const double most_gb = 1e6;
    const kiln_fields keep =
        kiln_fields_open(&r->problems, kiln_fields_get(top, "keep"), "keep", of_keep);
    r->c->history = path_field(r, top, "history");
    r->c->keep_nights = kiln_fields_int(&keep, "nights", 1, MAX_KEPT, 0);
    r->c->keep_gb = kiln_fields_number(&keep, "gb", 0, most_gb, 0);
    if (keep.object != NULL && r->c->keep_nights == 0 && !(r->c->keep_gb > 0))
        kiln_problem(&r->problems, "keep", "must say how many nights, or how many gb");
}

static void read_lists(reader *r, const kiln_fields *top) {
    const kiln_json *models = kiln_fields_list(top, "models");
    const kiln_json *sets = kiln_fields_list(top, "operators");
    size_t i = 0;
    if (kiln_json_size(models) + kiln_json_size(sets) > KILN_NIGHTLY_MAX_MODELS) {
        kiln_problem(&r->problems, "models", "and operators must be at most %d",
                     KILN_NIGHTLY_MAX_MODELS);
        return;
    }
    for (const kiln_json *v = kiln_json_first(models); v != NULL; v = kiln_json_next(v))
        read_model(r, v, i++);
    i = 0;
    for (const kiln_json *v = kiln_json_first(sets); v != NULL; v = kiln_json_next(v))
        read_set(r, v, i++);
    if (r->c->model.n + r->c->set.n == 0 && r->problems.line.n == 0)
        kiln_problem(&r->problems, "models",
                     "must not be empty: there is nothing to do");
}

static void read_all(reader *r, const kiln_json *root) {
    static const char *const known[] = {
        "name",     "out",  "db",      "catalog", "models",    "profiles", "threads",
        "numerics", "tune", "build",   "bench",   "operators", "gate",     "limits",
        "history",  "keep", "keyring", "sign",    NULL};
    static const kiln_nightly_tune tune = {.trials = 64, .seed = 1};
    const kiln_nightly_profile native = {.word = "native", .label = "native"};
    const kiln_fields top = kiln_fields_open(&r->problems, root, "", known);
    kiln_nightly_config *c = r->c;
    c->name = kiln_fields_text(&top, "name");
    c->name = c->name == NULL
                  ? kiln_nightly_label_of(
                        r->arena, kiln_nightly_absolute(r->arena, r->dir, c->path))
                  : c->name;
    c->out = path_field(r, &top, "out");
    c->out = c->out == NULL ? kiln_path_join(r->arena, r->dir, "out") : c->out;
    c->db = place_field(r, &top, "db");
    c->catalog = path_field(r, &top, "catalog");
    if (c->catalog != NULL && !kiln_file_exists(c->catalog))
        kiln_problem(&r->problems, "catalog", "must be a file that is there, is '%s'",
                     c->catalog);
    kiln_nightly_numbers one = {.n = 0};
    kiln_vec_push(r->arena, &one, 1);
    kiln_nightly_profiles here = {.n = 0};
    kiln_vec_push(r->arena, &here, native);
    r->threads = read_threads(r, &top, one);
    r->profile = kiln_nightly_profiles_read(&top, r->dir, here);
    r->numerics = kiln_fields_word(&top, "numerics", kiln_nightly_numerics_name);
    r->numerics = r->numerics == NULL ? "fast" : r->numerics;
    r->tune = read_tune(r, &top, tune);
    read_stages(r, &top);
    read_keys(r, &top);
    read_limits(r, &top);
    read_history(r, &top);
    read_lists(r, &top);
}

static void add_command(reader *r, const kiln_nightly_overrides *over) {
    kiln_nightly_config *c = r->c;
    const char *path = kiln_path_join(r->arena, r->dir, kiln_path_base(c->path));
    const char *const option[][2] = {
        {"--out", over->out != NULL ? c->out : NULL},
        {"--accepted", over->accepted != NULL ? c->accepted : NULL}};
    kiln_vec_push(r->arena, &c->command, "nightly");
    kiln_vec_push(r->arena, &c->command, path);
    for (size_t i = 0; i < sizeof option / sizeof option[0]; i++)
        if (option[i][1] != NULL) {
            kiln_vec_push(r->arena, &c->command, option[i][0]);
            kiln_vec_push(r->arena, &c->command, option[i][1]);
        }
    for (size_t i = 0; i < over->n_only; i++) {
        kiln_vec_push(r->arena, &c->only, over->only[i]);
        kiln_vec_push(r->arena, &c->command, "--only");
        kiln_vec_push(r->arena, &c->command, over->only[i]);
    }
    if (c->is_frozen)
        kiln_vec_push(r->arena, &c->command, "--frozen-db");
    if (c->no_ready)
        kiln_vec_push(r->arena, &c->command, "--no-ready");
    if (c->injected > 0) {
        kiln_vec_push(r->arena, &c->command, "--inject");
        kiln_vec_push(r->arena, &c->command,
                      kiln_format(r->arena, "%.12g%%", 100 * c->injected));
    }
}

kiln_status kiln_nightly_read(kiln_arena *a, const char *path,
                              const kiln_nightly_overrides *over,
                              kiln_nightly_config *out, kiln_err *err) {
    kiln_nightly_config c = {.path = path,
                             .is_frozen = over->is_frozen,
                             .no_ready = over->no_ready,
                             .injected = over->injected};
    reader r = {.arena = a, .problems = {.arena = a, .file = path}, .c = &c};
    const kiln_json *root = NULL;
    const char *here = NULL;
    kiln_str text;
    KILN_TRY(kiln_file_map(a, path, KILN_JSON_MAX_BYTES, &text, err));
    kiln_sha256_of(text.p, text.n, c.sha256);
    KILN_TRY(kiln_json_parse(a, text, path, &root, err));
    KILN_TRY(kiln_path_real(a, kiln_path_dir(a, path), &r.dir, err));
    KILN_TRY(kiln_path_real(a, ".", &here, err));
    read_all(&r, root);
    c.out = over->out != NULL ? kiln_nightly_absolute(a, here, over->out) : c.out;
    c.accepted = over->accepted != NULL ? kiln_nightly_absolute(a, here, over->accepted)
                                        : c.accepted;
    c.db = c.db == NULL ? kiln_path_join(a, c.out, "tuning.db") : c.db;
    if (c.injected > 0 && c.accepted == NULL)
        kiln_problem(&r.problems, "gate.accepted",
                     "must be there for --inject: without, no gate times anything");
    KILN_TRY(kiln_problems_end(&r.problems, err));
    add_command(&r, over);
    *out = c;
    return KILN_OK;
}
