#include "tests/support/model/script_model.h"

#include <string.h>

#include "compiler/frontend/frontend_internal.h"
#include "tests/support/model/keras_model.h"

static void put(kiln_buf *b, const char *bytes, size_t n) { kiln_buf_add(b, bytes, n); }
#define PUT(b, text) put((b), (text), sizeof(text) - 1)

static void put_key(kiln_buf *b, const char *name) {
    const char n[4] = {(char)strlen(name), 0, 0, 0};
    PUT(b, "X");
    put(b, n, sizeof n);
    put(b, name, strlen(name));
}

static void put_members(kiln_buf *b) {
    put_key(b, "training");
    PUT(b, "\x89");
    put_key(b, "n");
    PUT(b, "K\x03");
    put_key(b, "w");
    PUT(b, "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage"
           "\nU\x01"
           "0U\x03"
           "cpuK\x04tQK\0K\2K\2\x86K\2K\1\x86\x89NtR");
}

kiln_str kiln_test_script(kiln_arena *a, const char *code) {
    static const char *const names[] = {"net/data.pkl",    "net/code/__torch__.py",
                                        "net/data/0",      "net/constants.pkl",
                                        "net/constants/0", "net/version"};
    static const float w[] = {1, 2, 3, 4};
    enum { N = sizeof names / sizeof names[0] };
    kiln_buf b, constants;
    kiln_buf_init(&b, a);
    kiln_buf_init(&constants, a);
    PUT(&b, "\x80\x02"
            "c__torch__\nNet\n)\x81}(");
    put_members(&b);
    if (strstr(code, "class Sub") != NULL) {
        put_key(&b, "sub");
        PUT(&b, "c__torch__\nSub\n)\x81}(");
        put_members(&b);
        PUT(&b, "ub");
    }
    PUT(&b, "ub.");
    PUT(&constants,
        "\x80\x02(ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n"
        "FloatStorage\nU\x01"
        "0U\x03"
        "cpuK\x04tQK\0K\4\x85K\1\x85\x89NtRt.");
    const kiln_str bytes[N] = {kiln_buf_str(&b),
                               kiln_str_from(code),
                               {(const char *)w, sizeof w},
                               kiln_buf_str(&constants),
                               {(const char *)w, sizeof w},
                               KILN_STR_LIT("3\n")};
    return kiln_test_zip(a, names, bytes, N);
}

kiln_status kiln_test_import_script(kiln_arena *a, kiln_str bytes,
                                    const kiln_import_options *o, kiln_graph **out,
                                    kiln_import_report *report, kiln_err *err) {
    return kiln_frontend_pytorch.import(a, bytes, "net.pt", NULL, o, out, report, err);
}
