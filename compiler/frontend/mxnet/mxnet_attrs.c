/* Attributes of MXNet's operators: texts as Python writes values, "(2, 2)", "True",
 * "1e-05", "None". */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <inttypes.h>
#include <string.h>

/* What cannot change a result: how and where it is computed, and how it is trained. */
static const char *const ignored[] = {
    "workspace",          "cudnn_tune",      "cudnn_off",
    "cudnn_algo_verbose", "momentum",        "num_args",
    "ctx_group",          "lr_mult",         "wd_mult",
    "mirror_stage",       "force_mirroring", "grad_scale",
    "ignore_label",       "use_ignore",      "normalization",
    "smooth_alpha",       "out_grad",        "min_calib_range",
    "max_calib_range",    "sparse_grad",     "weight_lr_mult",
    "weight_wd_mult",     "bias_lr_mult",    "bias_wd_mult",
    "valid_thresh",       "margin",          "regularization_coefficient",
    "use_linear"};

static bool is_ignored(const char *name) {
    if (strncmp(name, "__", 2) == 0) /* of a user */
        return true;
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (strcmp(name, ignored[i]) == 0)
            return true;
    return false;
}

const char *kiln_mx_text(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name) {
    const char *found = NULL;
    size_t at = 0;
    for (size_t i = 0; i < 3; i++)
        for (const kiln_json *m = kiln_json_first(n->attrs[i]); m != NULL;
             m = kiln_json_next(m), at++) {
            if (at >= KILN_MX_MAX_ATTRS || strcmp(kiln_json_key(m), name) != 0)
                continue;
            cx->attrs_read |= UINT64_C(1) << at;
            found = kiln_json_string(m, NULL);
        }
    return found == NULL || strcmp(found, "None") == 0 ? NULL : found;
}

static void refuse(kiln_mx_cx *cx, const char *name, const char *what,
                   const char *text) {
    if (cx->attr_err.status == KILN_OK)
        cx->attr_err.status = kiln_fail(
            &cx->attr_err, KILN_ERR_PARSE, "attribute '%s' must be %s, is '%s'", name,
            what, kiln_import_show(&cx->common, kiln_str_from(text)));
}

/* A whole number, with the L of Python 2. */
static bool parse_int(kiln_str s, int64_t *out) {
    s = kiln_str_trim(s);
    if (kiln_str_ends(s, "L"))
        s.n--;
    if (kiln_parse_i64(s, out))
        return true;
    double d;
    if (!kiln_parse_f64(s, &d) || !(d >= -1e15 && d <= 1e15) || d != (double)(int64_t)d)
        return false;
    *out = (int64_t)d;
    return true;
}

int64_t kiln_mx_int(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                    int64_t otherwise) {
    const char *const text = kiln_mx_text(cx, n, name);
    int64_t v = otherwise;
    if (text != NULL && !parse_int(kiln_str_from(text), &v))
        refuse(cx, name, "a whole number", text);
    return v;
}

double kiln_mx_float(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                     double otherwise) {
    const char *const text = kiln_mx_text(cx, n, name);
    double v = otherwise;
    if (text != NULL && !kiln_parse_f64(kiln_str_trim(kiln_str_from(text)), &v))
        refuse(cx, name, "a number", text);
    return v;
}

bool kiln_mx_bool(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                  bool otherwise) {
    const char *const text = kiln_mx_text(cx, n, name);
    static const char *const words[] = {"True", "true", "1", "False", "false", "0"};
    if (text == NULL)
        return otherwise;
    for (size_t i = 0; i < 6; i++)
        if (strcmp(text, words[i]) == 0)
            return i < 3;
    refuse(cx, name, "True or False", text);
    return otherwise;
}

bool kiln_mx_parse_tuple(const char *text, int64_t out[KILN_MX_MAX_TUPLE], size_t *n) {
    kiln_str s = kiln_str_trim(kiln_str_from(text)), one;
    const char close = s.n < 2         ? '\0'
                       : s.p[0] == '(' ? ')'
                       : s.p[0] == '[' ? ']'
                                       : '\0';
    *n = 0;
    if (close != '\0') {
        if (s.p[s.n - 1] != close)
            return false;
        s = kiln_str_trim((kiln_str){s.p + 1, s.n - 2});
    }
    if (s.n == 0)
        return close != '\0';
    while (kiln_str_cut(&s, ',', &one)) {
        one = kiln_str_trim(one);
        if (one.n == 0 && kiln_str_trim(s).n == 0 && *n > 0)
            break; /* "(2,)" */
        if (*n == KILN_MX_MAX_TUPLE)
            return false;
        if (kiln_str_is(one, "None"))
            out[*n] = KILN_MX_NONE;
        else if (!parse_int(one, &out[*n]))
            return false;
        (*n)++;
    }
    return true;
}

size_t kiln_mx_tuple(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                     int64_t out[KILN_MX_MAX_TUPLE]) {
    const char *const text = kiln_mx_text(cx, n, name);
    size_t count = 0;
    if (text == NULL || kiln_mx_parse_tuple(text, out, &count)) {
        KILN_ASSERT(count <= KILN_MX_MAX_TUPLE, "%zu numbers were read", count);
        return count;
    }
    refuse(cx, name, "whole numbers, at most 16, as '(2, 2)'", text);
    return 0;
}

int kiln_mx_word(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                 const char *const *words) {
    const char *const text = kiln_mx_text(cx, n, name);
    kiln_buf known;
    if (text == NULL)
        return 0;
    kiln_buf_init(&known, &cx->common.scratch);
    kiln_buf_puts(&known, "one of");
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
        kiln_buf_printf(&known, "%s %s", i == 0 ? "" : ",", words[i]);
    }
    refuse(cx, name, kiln_buf_str(&known).p, text);
    return 0;
}

kiln_status kiln_mx_check_attrs(kiln_mx_cx *cx, const kiln_mx_node *n) {
    size_t at = 0;
    for (size_t i = 0; i < 3; i++)
        for (const kiln_json *m = kiln_json_first(n->attrs[i]); m != NULL;
             m = kiln_json_next(m), at++) {
            if (at >= KILN_MX_MAX_ATTRS)
                return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                                 "a node may have at most %d attributes",
                                 KILN_MX_MAX_ATTRS);
            const bool is_read = (cx->attrs_read >> at & 1) != 0;
            const bool is_none = strcmp(kiln_json_string(m, ""), "None") == 0;
            if (is_read || is_none || is_ignored(kiln_json_key(m)))
                continue;
            return kiln_fail(
                cx->common.err, KILN_ERR_UNSUPPORTED,
                "attribute '%s' is not read for this operator; take it out of the "
                "symbol if it does not matter",
                kiln_import_show(&cx->common, kiln_str_from(kiln_json_key(m))));
        }
    return KILN_OK;
}
