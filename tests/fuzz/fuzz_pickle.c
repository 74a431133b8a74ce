/* A pickle of any bytes: refused, or values of which none holds itself; its tensors are
 * read from a storage of few bytes. */
#include "tests/fuzz/fuzz.h"

#include "compiler/frontend/pytorch/pickle/pickle.h"

enum { MAX_TENSORS = 100, MAX_COPY = 1 << 20 };

static void read_tensors(kiln_arena *a, const kiln_pickle_value *v, int *left) {
    static const char storage[256];
    kiln_err err = {0};
    kiln_pickle_tensor t;
    const void *data;
    if (v == NULL || --*left < 0)
        return;
    if (kiln_pickle_is_tensor(v) && kiln_pickle_tensor_of(v, &t, &err) == KILN_OK &&
        kiln_type_bytes(&t.type) < MAX_COPY)
        (void)kiln_pickle_tensor_data(a, &t, (kiln_str){storage, sizeof storage}, &data,
                                      &err);
    for (size_t i = 0; i < v->item.n; i++)
        read_tensors(a, v->item.v[i], left);
    read_tensors(a, v->args, left);
    read_tensors(a, v->state, left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_pickle_value *v = NULL;
    int left = MAX_TENSORS;
    if (kiln_pickle_read(&a, (kiln_str){(const char *)data, size}, "fuzz.pkl", &v,
                         &err) == KILN_OK)
        read_tensors(&a, v, &left);
    kiln_arena_fini(&a);
    return 0;
}
