/* CRC-32C, as TensorFlow writes it behind what it saves. Eight bytes at a time by eight
 * tables: Kounavis and Berry, "A systematic approach to building high performance
 * software-based CRC generators", 2005. Polynomial: Castagnoli, reflected, 0x82f63b78.
 * Masking: LevelDB, "util/crc32c.h". */
#include "compiler/frontend/tensorflow/crc32c.h"

enum { WORD = 8, BYTES = 256 };

static void make_tables(uint32_t table[WORD][BYTES]) {
    for (uint32_t i = 0; i < BYTES; i++) {
        uint32_t v = i;
        for (int bit = 0; bit < 8; bit++)
            v = (v >> 1) ^ ((v & 1) != 0 ? UINT32_C(0x82f63b78) : 0);
        table[0][i] = v;
    }
    for (int k = 1; k < WORD; k++)
        for (int i = 0; i < BYTES; i++)
            table[k][i] =
                (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & (BYTES - 1)];
}

uint32_t kiln_tf_crc32c(kiln_str bytes) {
    uint32_t table[WORD][BYTES], crc = UINT32_MAX;
    const unsigned char *p = (const unsigned char *)bytes.p;
    size_t n = bytes.n;
    make_tables(table); /* 20 microseconds: no state is kept */
    for (; n >= WORD; n -= WORD, p += WORD) {
        uint32_t next = 0;
        for (unsigned k = 0; k < WORD; k++) {
            const uint32_t before = k < 4 ? (crc >> (8 * k)) & 0xff : 0;
            next ^= table[WORD - 1 - k][before ^ p[k]];
        }
        crc = next;
    }
    for (; n > 0; n--, p++)
        crc = (crc >> 8) ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

uint32_t kiln_tf_crc_mask(uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}
