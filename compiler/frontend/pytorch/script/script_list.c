/* Lists, dictionaries and texts of TorchScript. */
#include <string.h>

#include "compiler/frontend/pytorch/script/script_builtin.h"

static bool is_dict(const kiln_script_value *v) {
    return v->kind == KILN_SCRIPT_V_DICT;
}

static size_t count(const kiln_script_value *v) { return v->list->item.n; }
static kiln_script_value *item(const kiln_script_value *v, size_t i) {
    return &v->list->item.v[i];
}

static kiln_status give_int(kiln_script_call *k, int64_t i) {
    return kiln_script_give(k, kiln_script_of_int(i));
}

static kiln_status check_length(kiln_script_call *k, size_t n) {
    if (n <= KILN_SCRIPT_MAX_LIST)
        return kiln_script_spend(k->cx, 1);
    return kiln_script_fail(k->cx, KILN_ERR_LIMIT, "a list of more than %d items",
                            KILN_SCRIPT_MAX_LIST);
}

kiln_status kiln_script_join(kiln_script_call *k, const kiln_script_value *x,
                             const kiln_script_value *y, size_t times,
                             kiln_script_value *out) {
    kiln_script_value list = kiln_script_new_list(k->cx, x->kind);
    if (count(x) > 0 && times > KILN_SCRIPT_MAX_LIST / count(x))
        return check_length(k, (size_t)KILN_SCRIPT_MAX_LIST + 1);
    KILN_TRY(check_length(k, count(x) * times + (y != NULL ? count(y) : 0)));
    KILN_TRY(kiln_script_spend(k->cx, count(x) * times + (y != NULL ? count(y) : 0)));
    for (size_t t = 0; t < times; t++)
        for (size_t i = 0; i < count(x); i++)
            kiln_script_push(k->cx, &list, *item(x, i));
    for (size_t i = 0; y != NULL && i < count(y); i++)
        kiln_script_push(k->cx, &list, *item(y, i));
    *out = list;
    return KILN_OK;
}

/* An index, from the end where it is negative. */
static kiln_status place(kiln_script_call *k, size_t at, size_t n, size_t *out) {
    if (k->v[at].kind != KILN_SCRIPT_V_INT)
        return kiln_script_wrong(k, at, "an index");
    const int64_t i = k->v[at].i + (k->v[at].i < 0 ? (int64_t)n : 0);
    if (i < 0 || (uint64_t)i >= n)
        return kiln_script_fail(k->cx, KILN_ERR_PARSE,
                                "index %lld is outside of a list of %zu",
                                (long long)k->v[at].i, n);
    *out = (size_t)i;
    return KILN_OK;
}

/* The pair of a key; count: there is none. */
static size_t find_key(const kiln_script_value *dict, const kiln_script_value *key) {
    size_t i = 0;
    while (i + 1 < count(dict) && !kiln_script_equal(item(dict, i), key))
        i += 2;
    return i + 1 < count(dict) ? i : count(dict);
}

/* ---- lists --------------------------------------------------------------------------- */

kiln_status kiln_script_builtin_len(kiln_script_call *k) {
    const kiln_script_value *const v = &k->v[0];
    if (kiln_script_is_list(v) || is_dict(v))
        return give_int(k, (int64_t)(is_dict(v) ? count(v) / 2 : count(v)));
    if (v->kind == KILN_SCRIPT_V_TEXT)
        return give_int(k, (int64_t)v->s.n);
    if (v->kind == KILN_SCRIPT_V_TENSOR && v->tensor->v->type.rank > 0) {
        KILN_TRY(kiln_script_need_length(k, 0));
        return give_int(k, v->tensor->v->type.dim[0]);
    }
    if (v->kind == KILN_SCRIPT_V_OBJECT) {
        const kiln_script_args none = {NULL, NULL, 0};
        return kiln_script_call_method(k->cx, v, KILN_STR_LIT("__len__"), &none,
                                       k->out);
    }
    return kiln_script_wrong(k, 0, "something with a length");
}

kiln_status kiln_script_builtin_list(kiln_script_call *k) {
    kiln_script_value list;
    if (!kiln_script_is_list(&k->v[0]))
        return kiln_script_leave(k);
    KILN_TRY(kiln_script_join(k, &k->v[0], NULL, 1, &list));
    list.kind = KILN_SCRIPT_V_LIST;
    return kiln_script_give(k, list);
}

kiln_status kiln_script_builtin_append(kiln_script_call *k) {
    kiln_script_value list = k->v[0];
    if (list.kind != KILN_SCRIPT_V_LIST)
        return kiln_script_wrong(k, 0, "a list");
    KILN_TRY(check_length(k, count(&list) + 1));
    kiln_script_push(k->cx, &list, k->v[1]);
    return kiln_script_give(k, list);
}

kiln_status kiln_script_builtin_extend(kiln_script_call *k) {
    kiln_script_value list = k->v[0];
    if (list.kind != KILN_SCRIPT_V_LIST || !kiln_script_is_list(&k->v[1]))
        return kiln_script_wrong(k, 0, "a list");
    const size_t n = count(&k->v[1]);
    KILN_TRY(check_length(k, count(&list) + n));
    KILN_TRY(kiln_script_spend(k->cx, n));
    for (size_t i = 0; i < n; i++)
        kiln_script_push(k->cx, &list, *item(&k->v[1], i));
    return KILN_OK;
}

kiln_status kiln_script_builtin_insert(kiln_script_call *k) {
    kiln_script_value list = k->v[0];
    if (list.kind != KILN_SCRIPT_V_LIST || k->v[1].kind != KILN_SCRIPT_V_INT)
        return kiln_script_wrong(k, 0, "a list");
    const int64_t n = (int64_t)count(&list);
    int64_t at = k->v[1].i + (k->v[1].i < 0 ? n : 0);
    at = at < 0 ? 0 : at > n ? n : at;
    KILN_TRY(check_length(k, count(&list) + 1));
    kiln_script_push(k->cx, &list, k->v[2]);
    for (size_t i = count(&list) - 1; i > (size_t)at; i--)
        *item(&list, i) = *item(&list, i - 1);
    *item(&list, (size_t)at) = k->v[2];
    return KILN_OK;
}

static void take_out(kiln_script_list *list, size_t at, size_t n) {
    KILN_ASSERT(at + n <= list->item.n, "items %zu to %zu of %zu", at, at + n,
                list->item.n);
    memmove(list->item.v + at, list->item.v + at + n,
            (list->item.n - at - n) * sizeof *list->item.v);
    list->item.n -= n;
}

kiln_status kiln_script_builtin_pop(kiln_script_call *k) {
    const kiln_script_value *const v = &k->v[0];
    size_t at;
    if (is_dict(v) && k->n > 1) {
        at = find_key(v, &k->v[1]);
        if (at == count(v))
            return k->n == 3 ? kiln_script_give(k, k->v[2])
                             : kiln_script_wrong(k, 1, "a key of the dictionary");
        KILN_TRY(kiln_script_give(k, *item(v, at + 1)));
        take_out(v->list, at, 2);
        return KILN_OK;
    }
    if (v->kind != KILN_SCRIPT_V_LIST || count(v) == 0)
        return kiln_script_wrong(k, 0, "a list that is not empty");
    at = count(v) - 1;
    if (k->n > 1)
        KILN_TRY(place(k, 1, count(v), &at));
    KILN_TRY(kiln_script_give(k, *item(v, at)));
    take_out(v->list, at, 1);
    return KILN_OK;
}

kiln_status kiln_script_builtin_reverse(kiln_script_call *k) {
    if (k->v[0].kind != KILN_SCRIPT_V_LIST)
        return kiln_script_leave(k);
    for (size_t i = 0, j = count(&k->v[0]); i + 1 < j; i++) {
        kiln_script_value *const x = item(&k->v[0], i), *const y = item(&k->v[0], --j);
        const kiln_script_value t = *x;
        *x = *y;
        *y = t;
    }
    return KILN_OK;
}

kiln_status kiln_script_builtin_clear(kiln_script_call *k) {
    if (!kiln_script_is_list(&k->v[0]) && !is_dict(&k->v[0]))
        return kiln_script_wrong(k, 0, "a list");
    k->v[0].list->item.n = 0;
    return KILN_OK;
}

kiln_status kiln_script_builtin_index(kiln_script_call *k) {
    if (!kiln_script_is_list(&k->v[0]))
        return kiln_script_leave(k);
    for (size_t i = 0; i < count(&k->v[0]); i++)
        if (kiln_script_equal(item(&k->v[0], i), &k->v[1]))
            return give_int(k, (int64_t)i);
    return kiln_script_wrong(k, 1, "an item of the list");
}

/* ---- parts ----------------------------------------------------------------------- */

static bool bound(const kiln_script_call *k, size_t at, int64_t otherwise,
                  int64_t *out) {
    *out = otherwise;
    if (at >= k->n || k->v[at].kind == KILN_SCRIPT_V_NONE)
        return true;
    *out = k->v[at].i;
    return k->v[at].kind == KILN_SCRIPT_V_INT;
}

/* list[start:stop:step] */
kiln_status kiln_script_builtin_slice(kiln_script_call *k) {
    const kiln_script_value *const v = &k->v[0];
    int64_t start, stop, step;
    if (!kiln_script_is_list(v) && v->kind != KILN_SCRIPT_V_TEXT)
        return kiln_script_leave(k);
    const bool is_text = v->kind == KILN_SCRIPT_V_TEXT;
    const int64_t n = (int64_t)(is_text ? v->s.n : count(v));
    if (!bound(k, 3, 1, &step) || step == 0 || step == INT64_MIN ||
        !bound(k, 1, step > 0 ? 0 : n - 1, &start) ||
        !bound(k, 2, step > 0 ? n : -n - 1, &stop) || (is_text && step != 1))
        return kiln_script_wrong(k, 0, "something with a slice of integers");
    start += start < 0 && k->n > 1 && k->v[1].kind == KILN_SCRIPT_V_INT ? n : 0;
    stop += stop < 0 ? n : 0;
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    start = start < low ? low : start > high ? high : start;
    stop = stop < low ? low : stop > high ? high : stop;
    if (is_text)
        return kiln_script_give(
            k, (kiln_script_value){
                   .kind = KILN_SCRIPT_V_TEXT,
                   .s = {v->s.p + start, stop > start ? (size_t)(stop - start) : 0}});
    kiln_script_value list = kiln_script_new_list(k->cx, v->kind);
    KILN_TRY(kiln_script_spend(k->cx, count(v)));
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
        kiln_script_push(k->cx, &list, *item(v, (size_t)i));
        if (step > n || step < -n)
            break;
    }
    return kiln_script_give(k, list);
}

kiln_status kiln_script_builtin_getitem(kiln_script_call *k) {
    const kiln_script_value *const v = &k->v[0];
    size_t at;
    if (is_dict(v)) {
        at = find_key(v, &k->v[1]);
        return at < count(v) ? kiln_script_give(k, *item(v, at + 1))
                             : kiln_script_wrong(k, 1, "a key of the dictionary");
    }
    if (v->kind == KILN_SCRIPT_V_TEXT) {
        KILN_TRY(place(k, 1, v->s.n, &at));
        return kiln_script_give(
            k, (kiln_script_value){.kind = KILN_SCRIPT_V_TEXT, .s = {v->s.p + at, 1}});
    }
    if (kiln_script_is_list(v)) {
        KILN_TRY(place(k, 1, count(v), &at));
        return kiln_script_give(k, *item(v, at));
    }
    if (v->kind != KILN_SCRIPT_V_TENSOR)
        return kiln_script_wrong(k, 0, "something with items");
    kiln_script_value args[] = {*v, kiln_script_of_int(0), k->v[1]};
    kiln_str names[] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    return kiln_script_call_name(k->cx, KILN_STR_LIT("torch.select"),
                                 &(kiln_script_args){args, names, 3}, k->out);
}

kiln_status kiln_script_builtin_set_item(kiln_script_call *k) {
    kiln_script_value v = k->v[0];
    size_t at;
    if (is_dict(&v)) {
        at = find_key(&v, &k->v[1]);
        if (at < count(&v)) {
            *item(&v, at + 1) = k->v[2];
            return KILN_OK;
        }
        KILN_TRY(check_length(k, count(&v) + 2));
        kiln_script_push(k->cx, &v, k->v[1]);
        kiln_script_push(k->cx, &v, k->v[2]);
        return KILN_OK;
    }
    if (v.kind != KILN_SCRIPT_V_LIST)
        return kiln_script_wrong(k, 0, "a list or a dictionary");
    KILN_TRY(place(k, 1, count(&v), &at));
    *item(&v, at) = k->v[2];
    return KILN_OK;
}

kiln_status kiln_script_builtin_contains(kiln_script_call *k) {
    const kiln_script_value *const v = &k->v[0];
    const size_t step = is_dict(v) ? 2 : 1;
    bool is_in = false;
    if (v->kind == KILN_SCRIPT_V_TEXT && k->v[1].kind == KILN_SCRIPT_V_TEXT) {
        for (size_t i = 0; i + k->v[1].s.n <= v->s.n && !is_in; i++)
            is_in = kiln_str_eq((kiln_str){v->s.p + i, k->v[1].s.n}, k->v[1].s);
        return kiln_script_give(k, kiln_script_of_bool(is_in));
    }
    if (!kiln_script_is_list(v) && !is_dict(v))
        return kiln_script_wrong(k, 0, "a list or a dictionary");
    for (size_t i = 0; i < count(v) && !is_in; i += step)
        is_in = kiln_script_equal(item(v, i), &k->v[1]);
    return kiln_script_give(k, kiln_script_of_bool(is_in));
}

/* ---- dictionaries ---------------------------------------------------------------- */

static kiln_status every_second(kiln_script_call *k, size_t from) {
    kiln_script_value list = kiln_script_new_list(k->cx, KILN_SCRIPT_V_LIST);
    if (!is_dict(&k->v[0]))
        return kiln_script_leave(k);
    KILN_TRY(kiln_script_spend(k->cx, count(&k->v[0])));
    for (size_t i = from; i < count(&k->v[0]); i += 2)
        kiln_script_push(k->cx, &list, *item(&k->v[0], i));
    return kiln_script_give(k, list);
}

kiln_status kiln_script_builtin_keys(kiln_script_call *k) { return every_second(k, 0); }
kiln_status kiln_script_builtin_values(kiln_script_call *k) {
    return every_second(k, 1);
}

kiln_status kiln_script_builtin_items(kiln_script_call *k) {
    kiln_script_value list = kiln_script_new_list(k->cx, KILN_SCRIPT_V_LIST);
    if (!is_dict(&k->v[0]))
        return kiln_script_leave(k);
    KILN_TRY(kiln_script_spend(k->cx, count(&k->v[0])));
    for (size_t i = 0; i + 1 < count(&k->v[0]); i += 2) {
        kiln_script_value pair = kiln_script_new_list(k->cx, KILN_SCRIPT_V_TUPLE);
        kiln_script_push(k->cx, &pair, *item(&k->v[0], i));
        kiln_script_push(k->cx, &pair, *item(&k->v[0], i + 1));
        kiln_script_push(k->cx, &list, pair);
    }
    return kiln_script_give(k, list);
}

kiln_status kiln_script_builtin_get(kiln_script_call *k) {
    if (!is_dict(&k->v[0]))
        return kiln_script_leave(k);
    const size_t at = find_key(&k->v[0], &k->v[1]);
    if (at < count(&k->v[0]))
        return kiln_script_give(k, *item(&k->v[0], at + 1));
    return kiln_script_give(k, k->n == 3 ? k->v[2] : kiln_script_none());
}

kiln_status kiln_script_builtin_dict(kiln_script_call *k) {
    kiln_script_value dict = kiln_script_new_list(k->cx, KILN_SCRIPT_V_DICT);
    if (k->n == 1 && is_dict(&k->v[0]))
        KILN_TRY(kiln_script_join(k, &k->v[0], NULL, 1, &dict));
    else if (k->n == 1)
        return kiln_script_wrong(k, 0, "a dictionary");
    return kiln_script_give(k, dict);
}

/* ---- ranges ---------------------------------------------------------------------- */

static kiln_status three_ints(kiln_script_call *k, int64_t v[3]) {
    for (size_t i = 0; i < k->n; i++) {
        if (k->v[i].kind != KILN_SCRIPT_V_INT)
            return kiln_script_wrong(k, i, "an integer");
        v[i] = k->v[i].i;
    }
    return KILN_OK;
}

/* Of so many integers: exact below 2^62, and ranges that long are refused. */
static int64_t range_length(int64_t start, int64_t stop, int64_t step) {
    const double d = ((double)stop - (double)start) / (double)step;
    if (!(d > 0))
        return 0;
    return d > KILN_SCRIPT_MAX_LIST
               ? (int64_t)KILN_SCRIPT_MAX_LIST + 1
               : (stop - start + step - (step > 0 ? 1 : -1)) / step;
}

kiln_status kiln_script_builtin_range(kiln_script_call *k) {
    kiln_script_value list = kiln_script_new_list(k->cx, KILN_SCRIPT_V_LIST);
    int64_t v[3] = {0, 0, 1};
    KILN_TRY(three_ints(k, v));
    if (k->n == 1) {
        v[1] = v[0];
        v[0] = 0;
    }
    if (v[2] == 0)
        return kiln_script_wrong(k, 2, "a step");
    const int64_t n = range_length(v[0], v[1], v[2]);
    KILN_TRY(check_length(k, (size_t)n));
    KILN_TRY(kiln_script_spend(k->cx, (size_t)n));
    for (int64_t i = 0; i < n; i++)
        kiln_script_push(k->cx, &list, kiln_script_of_int(v[0] + i * v[2]));
    return kiln_script_give(k, list);
}

kiln_status kiln_script_builtin_range_length(kiln_script_call *k) {
    int64_t v[3];
    KILN_TRY(three_ints(k, v));
    if (v[2] == 0)
        return kiln_script_wrong(k, 2, "a step");
    return give_int(k, range_length(v[0], v[1], v[2]));
}

/* index, start, step */
kiln_status kiln_script_builtin_derive_index(kiln_script_call *k) {
    int64_t v[3], i;
    KILN_TRY(three_ints(k, v));
    if (__builtin_mul_overflow(v[0], v[2], &i) || __builtin_add_overflow(v[1], i, &i))
        return kiln_script_wrong(k, 0, "a smaller index");
    return give_int(k, i);
}

/* ---- texts ----------------------------------------------------------------------- */

static kiln_status give_text(kiln_script_call *k, kiln_str s) {
    return kiln_script_give(k, (kiln_script_value){.kind = KILN_SCRIPT_V_TEXT, .s = s});
}

/* "{}" by the next argument. */
kiln_status kiln_script_builtin_format(kiln_script_call *k) {
    enum { MAX_TEXT = 4096 };
    kiln_buf b;
    size_t next = 1;
    kiln_buf_init(&b, &k->cx->common.scratch);
    kiln_buf_puts(&b, "");
    if (k->v[0].kind != KILN_SCRIPT_V_TEXT)
        return kiln_script_wrong(k, 0, "a text");
    const kiln_str s = k->v[0].s;
    for (size_t i = 0; i < s.n && b.n < MAX_TEXT; i++)
        if (s.p[i] == '{' && i + 1 < s.n && s.p[i + 1] == '}' && next < k->n) {
            kiln_script_show(&b, &k->v[next++], 0);
            i++;
        } else {
            kiln_buf_add(&b, s.p + i, 1);
        }
    return give_text(k, kiln_buf_str(&b));
}

kiln_status kiln_script_builtin_to_text(kiln_script_call *k) {
    kiln_buf b;
    kiln_buf_init(&b, &k->cx->common.scratch);
    kiln_buf_puts(&b, "");
    kiln_script_show(&b, &k->v[0], 0);
    return give_text(k, kiln_buf_str(&b));
}

kiln_status kiln_script_builtin_lower(kiln_script_call *k) {
    if (k->v[0].kind != KILN_SCRIPT_V_TEXT)
        return kiln_script_wrong(k, 0, "a text");
    char *const s = kiln_str_dupv(&k->cx->common.scratch, k->v[0].s);
    for (size_t i = 0; i < k->v[0].s.n; i++)
        s[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] - 'A' + 'a' : s[i]);
    return give_text(k, (kiln_str){s, k->v[0].s.n});
}

static kiln_status begins_or_ends(kiln_script_call *k, bool is_end) {
    if (k->v[0].kind != KILN_SCRIPT_V_TEXT || k->v[1].kind != KILN_SCRIPT_V_TEXT)
        return kiln_script_wrong(k, 0, "a text");
    const kiln_str s = k->v[0].s, part = k->v[1].s;
    const bool is =
        part.n <= s.n &&
        kiln_str_eq((kiln_str){s.p + (is_end ? s.n - part.n : 0), part.n}, part);
    return kiln_script_give(k, kiln_script_of_bool(is));
}

kiln_status kiln_script_builtin_startswith(kiln_script_call *k) {
    return begins_or_ends(k, false);
}
kiln_status kiln_script_builtin_endswith(kiln_script_call *k) {
    return begins_or_ends(k, true);
}
