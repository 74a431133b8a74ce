/* Inside pipeline/measure/builder. */
#ifndef KILN_PIPELINE_MEASURE_BUILDER_INTERNAL_H
#define KILN_PIPELINE_MEASURE_BUILDER_INTERNAL_H

#include "compiler/network/network_kernel.h"
#include "compiler/network/network_pack.h"
#include "pipeline/measure/wire/wire.h"
#include "runtime/device.h"

/* Code that packs constants, each made once; zeroed but for what is borrowed. */
typedef struct kiln_packings {
    kiln_arena *arena;           /* of what is made */
    const kiln_profile *profile; /* of candidates */
    const kiln_profile *host;    /* that it is made for; NULL: not asked for yet */
    kiln_map known;              /* packing's text -> kiln_wire_packing */
} kiln_packings;

/* Code of one constant; what it points to lives as the packings do. */
kiln_status kiln_packings_find(kiln_packings *p, const kiln_packing *k,
                               kiln_wire_packing *out, kiln_err *err);

/* The kernel's arguments in terms of the workload's values, for runners. */
kiln_status kiln_operands_describe(kiln_arena *a, kiln_packings *packings,
                                   const kiln_te_graph *te, const kiln_wire_work *w,
                                   kiln_wire_code *out, kiln_err *err);

/* The device that candidates are for, where its driver compiles ahead for it. */
typedef struct kiln_translator {
    kiln_device *device; /* NULL: none does */
    bool has_tried;
} kiln_translator;

/* Has its driver a translator? */
bool kiln_translator_is_wanted(const kiln_profile *p);
/* Once, where it is wanted; true: this was the first time, whether there is one now or
 * not. */
bool kiln_translator_open(kiln_translator *t, const kiln_profile *p);
/* The module in the device's machine code, in the arena; as it is, where that fails. */
kiln_str kiln_translate(const kiln_translator *t, kiln_arena *a, kiln_str module);
void kiln_translator_close(kiln_translator *t);

#endif
