/* What a core does in a cycle, by who made it: for machines that nobody measured
 * (pipeline/machine does that better). Families and models as cpuid gives them. */
#include "compiler/target/x86/x86.h"

#include <string.h>

typedef struct made {
    const char *vendor;
    int family_from, family_to;
    int vector_bytes;
    kiln_core core;
} made;

static const made cores[] = {
    /* Zen 4 does 512-bit operations in two halves (Yee, Zen5's AVX512 Teardown, 2024):
     * one multiply-add, one load a cycle, a store in two; L2 32 bytes. Six cores of a
     * 7600X at 5.2 GHz read 2030 GB/s from L1, which is 65 bytes a cycle of each, write
     * 1027, 33, and read 1028 from L2, 33 (AIDA64; Tom's Hardware Italia, 10 June 2024);
     * the rates behind L2 were not looked up. */
    {"AuthenticAMD",
     0x19,
     0x19,
     64,
     {.fma_ports = 1,
      .fma_latency = 4,
      .load_ports = 1,
      .store_ports = 1,
      .l2_rate = 32,
      .l3_rate = 20,
      .memory_rate = 8}},
    /* Servers since Skylake have two ports for 512-bit multiply-adds, Sapphire Rapids as
     * well (Chips and Cheese, A Peek at Sapphire Rapids, 2023), and load two such vectors
     * a cycle, Golden Cove as well, of its three loads of 256 bits (Chips and Cheese,
     * Popping the Hood on Golden Cove, 2021). L2 64 bytes, 48 sustained; an L3 cache of
     * slices across a mesh gives one core 8 to 10, memory 4 (Intel, 64 and IA-32
     * Architectures Optimization Reference Manual; Velten and others, Memory Performance
     * of AMD EPYC Rome and Intel Cascade Lake SP, ICPE 2022). */
    {"GenuineIntel",
     6,
     6,
     64,
     {.fma_ports = 2,
      .fma_latency = 4,
      .load_ports = 2,
      .store_ports = 1,
      .l2_rate = 48,
      .l3_rate = 10,
      .memory_rate = 4}},
};

bool kiln_x86_core(const char *vendor, int family, int vector_bytes, kiln_core *out) {
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++)
        if (strcmp(cores[i].vendor, vendor) == 0 && family >= cores[i].family_from &&
            family <= cores[i].family_to && cores[i].vector_bytes == vector_bytes) {
            *out = cores[i].core;
            return true;
        }
    return false;
}
