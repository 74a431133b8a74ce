/* CNTK models for tests, as text of pb_text.h: one dictionary each for a model, a
 * variable, a function. Shapes are CNTK's, fastest axis first. */
#ifndef KILN_TESTS_SUPPORT_MODEL_CNTK_MODEL_H
#define KILN_TESTS_SUPPORT_MODEL_CNTK_MODEL_H

#include "compiler/frontend/frontend.h"

/* Entries of a dictionary. */
#define CNTK_BOOL(key, v) "2:{1:'" key "' 2:{2:1 3:" v "}} "
#define CNTK_INT(key, v) "2:{1:'" key "' 2:{2:2 4:" v "}} "
#define CNTK_SIZE(key, v) "2:{1:'" key "' 2:{2:3 5:" v "}} "
#define CNTK_FLOAT(key, v) "2:{1:'" key "' 2:{2:4 6:f" v "}} "
#define CNTK_TEXT(key, v) "2:{1:'" key "' 2:{2:6 8:'" v "'}} "
#define CNTK_SHAPE(key, v) "2:{1:'" key "' 2:{2:7 9:{1:[" v "]}}} "
#define CNTK_AXIS(key, v) "2:{1:'" key "' 2:{2:8 10:{1:" v "}}} "
#define CNTK_LIST(key, items) "2:{1:'" key "' 2:{2:9 11:{" items "}}} "
#define CNTK_DICT(key, entries) "2:{1:'" key "' 2:{2:10 12:{" entries "}}} "
/* Elements of a list. */
#define CNTK_ITEM_BOOL(v) "1:{2:1 3:" v "} "
#define CNTK_ITEM_SIZE(v) "1:{2:3 5:" v "} "
#define CNTK_ITEM_TEXT(v) "1:{2:6 8:'" v "'} "
#define CNTK_ITEM_AXIS(v) "1:{2:8 10:{1:" v "}} "
#define CNTK_ITEM_DICT(entries) "1:{2:10 12:{" entries "}} "

/* A parameter; a function with a list of uids and attributes. */
#define CNTK_PARAMETER(uid, dims, values)                                              \
    CNTK_ITEM_DICT(                                                                    \
        CNTK_TEXT("uid", uid) CNTK_SIZE("kind", "2") CNTK_SIZE("data_type", "1")       \
            CNTK_SHAPE("shape", dims) "2:{1:'value' 2:{2:11 13:{1:1 3:{1:[" dims       \
                                      "]} 4:{1:(" values ")}}}} ")
#define CNTK_FUNCTION(uid, op, inputs, attrs)                                          \
    CNTK_ITEM_DICT(CNTK_TEXT("type", "PrimitiveFunction") CNTK_TEXT("uid", uid)        \
                       CNTK_SIZE("op", op) CNTK_LIST("inputs", inputs)                 \
                           CNTK_DICT("attributes", attrs))
#define CNTK_PLACEHOLDER(uid)                                                          \
    CNTK_ITEM_DICT(CNTK_TEXT("uid", uid) CNTK_SIZE("kind", "4")                        \
                       CNTK_SIZE("data_type", "1") CNTK_SHAPE("shape", "1"))

/* Inputs x and z (NULL: none) with a batch; `variables` and `functions` are elements of
 * lists. */
kiln_str kiln_test_cntk(kiln_arena *a, const char *x, const char *z,
                        const char *variables, const char *functions, const char *root);
kiln_status kiln_test_import_cntk(kiln_arena *a, kiln_str bytes,
                                  const kiln_import_options *o, kiln_graph **out,
                                  kiln_import_report *report, kiln_err *err);

#endif
