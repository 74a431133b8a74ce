/* CurveZMQ (RFC 26) over ZMTP 3.0 (RFC 23), both ends:
 *
 *     greeting   FF 0*8 7F  3 0  "CURVE" 0*15  as-server  0*31       either way
 *     HELLO      version  0*72  C'  nonce  Box[0*64](C'->S)           to the server
 *     WELCOME    nonce  Box[S' cookie](S->C')
 *     INITIATE   cookie  nonce  Box[C vouch metadata](C'->S')         to the server
 *     READY      nonce  Box[metadata](S'->C')
 *     MESSAGE    nonce  Box[flags data](C'<->S')                      either way
 *
 * C and S are those whose pairs the two own, C' and S' made for this connection. The
 * vouch, Box[C' S](C->S'), is what only who has C's secret half can make. A server that
 * keeps its connection's state needs nothing in the cookie: it is a number that comes
 * back. What one box holds cannot be said twice: nonces of one end only grow.
 *
 * Each frame is flags, a length, a body; a command's body begins with its name.
 */
#include "pipeline/curve/box.h"

#include <string.h>

enum {
    GREETING = 64,
    SIGNATURE = 10,
    LONG = 2,    /* flags of frames */
    COMMAND = 4, /* of those of the handshake */
    INNER_COMMAND = 2,
    KEY = KILN_CURVE_KEY,
    TAG = KILN_BOX_TAG,
    SHORT = 8,  /* bytes of a nonce that are counted, */
    DRAWN = 16, /* and of one that is drawn */
    COOKIE = 96,
    VOUCH = DRAWN + TAG + 2 * KEY,
    HELLO = 6 + 2 + 72 + KEY + SHORT + TAG + 64,
    WELCOME = 8 + DRAWN + TAG + KEY + COOKIE,
    INITIATE = 9 + COOKIE + SHORT + TAG + KEY + VOUCH, /* without metadata */
    READY = 6 + SHORT + TAG,
    MESSAGE = 8 + SHORT + TAG + 1, /* of nothing */
    MAX_METADATA = 512,
    MAX_HANDSHAKE = INITIATE + MAX_METADATA
};
_Static_assert(KILN_CURVE_SEAL == MESSAGE + 9, "a frame's length has eight bytes");

static const char metadata[] = "\13Socket-Type\0\0\0\6DEALER";
enum { METADATA = sizeof metadata - 1 };

static void put_number(unsigned char *p, uint64_t n) {
    for (int i = 7; i >= 0; i--, n >>= 8)
        p[i] = (unsigned char)n;
}

static uint64_t get_number(const unsigned char *p) {
    uint64_t n = 0;
    for (int i = 0; i < 8; i++)
        n = n << 8 | p[i];
    return n;
}

/* A prefix of 16 letters and eight counted bytes, or of 8 and sixteen drawn ones. */
static const unsigned char *nonce_of(const char *prefix, const unsigned char *rest,
                                     unsigned char nonce[KILN_BOX_NONCE]) {
    const size_t n = strlen(prefix);
    memcpy(nonce, prefix, n);
    memcpy(nonce + n, rest, KILN_BOX_NONCE - n);
    return nonce;
}

static unsigned char *put(unsigned char *at, const void *p, size_t n) {
    memcpy(at, p, n);
    return at + n;
}

/* ---- the two ends ---------------------------------------------------------------- */

static void begin(kiln_curve_session *s, const kiln_curve_pair *own) {
    memset(s, 0, sizeof *s);
    s->own = *own;
    kiln_curve_pair_make(&s->brief);
}

void kiln_curve_serve(kiln_curve_session *s, const kiln_curve_pair *own,
                      const kiln_curve_allowed *allowed) {
    begin(s, own);
    s->is_server = true;
    s->allowed = allowed;
}

void kiln_curve_connect(kiln_curve_session *s, const kiln_curve_pair *own,
                        const kiln_curve_key *server) {
    begin(s, own);
    s->peer = *server;
}

void kiln_curve_end(kiln_curve_session *s) { kiln_curve_wipe(s, sizeof *s); }

unsigned char *kiln_curve_room(kiln_curve_session *s, size_t *room) {
    KILN_ASSERT(s->at <= s->n_in && s->n_in <= sizeof s->in,
                "%zu of %zu bytes are read", s->at, s->n_in);
    memmove(s->in, s->in + s->at, s->n_in - s->at);
    s->n_in -= s->at;
    s->at = 0;
    *room = sizeof s->in - s->n_in;
    return s->in + s->n_in;
}

/* ---- frames ---------------------------------------------------------------------- */

/* A command of the handshake goes out; all are shorter than 256 bytes, or have a long
 * length. */
static unsigned char *begin_command(kiln_curve_session *s, size_t body,
                                    const char *name) {
    unsigned char *at = s->out;
    if (body > UINT8_MAX) {
        *at++ = COMMAND | LONG;
        put_number(at, body);
        at += 8;
    } else {
        *at++ = COMMAND;
        *at++ = (unsigned char)body;
    }
    s->n_out = (size_t)(at - s->out) + body;
    *at++ = (unsigned char)strlen(name);
    return put(at, name, strlen(name));
}

/* The next nonce of ours, written. */
static unsigned char *put_count(kiln_curve_session *s, unsigned char *at) {
    put_number(at, ++s->sent);
    return at + SHORT;
}

/* False: said before, or never. */
static bool take_count(kiln_curve_session *s, const unsigned char *at) {
    const uint64_t n = get_number(at);
    if (n <= s->got)
        return false;
    s->got = n;
    return true;
}

static void send_greeting(kiln_curve_session *s) {
    memset(s->out, 0, GREETING);
    s->out[0] = 0xff;
    s->out[8] = 1;
    s->out[9] = 0x7f;
    s->out[10] = 3;
    memcpy(s->out + 12, "CURVE", 5);
    s->out[32] = s->is_server;
    s->n_out = GREETING;
    s->has_greeted = true;
}

static bool send_hello(kiln_curve_session *s) {
    static const unsigned char zeros[72];
    unsigned char nonce[KILN_BOX_NONCE];
    kiln_curve_key k;
    unsigned char *at = begin_command(s, HELLO, "HELLO");
    if (!kiln_box_key(&s->peer, &s->brief.secret, &k))
        return false;
    *at++ = 1;
    *at++ = 0;
    at = put(at, zeros, sizeof zeros);
    at = put(at, s->brief.public_key.bytes, KEY);
    const unsigned char *count = at;
    at = put_count(s, at);
    kiln_box_close(&k, nonce_of("CurveZMQHELLO---", count, nonce), zeros, 64, at);
    kiln_curve_wipe(&k, sizeof k);
    return true;
}

static void send_welcome(kiln_curve_session *s, const kiln_curve_key *k) {
    unsigned char nonce[KILN_BOX_NONCE], both[KEY + COOKIE];
    unsigned char *at = begin_command(s, WELCOME, "WELCOME");
    kiln_box_random(s->cookie, sizeof s->cookie);
    memcpy(both, s->brief.public_key.bytes, KEY);
    memcpy(both + KEY, s->cookie, COOKIE);
    kiln_box_random(at, DRAWN);
    kiln_box_close(k, nonce_of("WELCOME-", at, nonce), both, sizeof both, at + DRAWN);
}

static bool send_initiate(kiln_curve_session *s) {
    unsigned char nonce[KILN_BOX_NONCE], two[2 * KEY];
    unsigned char box[KEY + VOUCH + METADATA];
    kiln_curve_key k;
    unsigned char *at = begin_command(s, INITIATE + METADATA, "INITIATE");
    if (!kiln_box_key(&s->peer_brief, &s->own.secret, &k))
        return false;
    memcpy(two, s->brief.public_key.bytes, KEY);
    memcpy(two + KEY, s->peer.bytes, KEY);
    memcpy(box, s->own.public_key.bytes, KEY);
    kiln_box_random(box + KEY, DRAWN);
    kiln_box_close(&k, nonce_of("VOUCH---", box + KEY, nonce), two, sizeof two,
                   box + KEY + DRAWN);
    memcpy(box + KEY + VOUCH, metadata, METADATA);
    kiln_curve_wipe(&k, sizeof k);
    at = put(at, s->cookie, COOKIE);
    const unsigned char *count = at;
    at = put_count(s, at);
    kiln_box_close(&s->shared, nonce_of("CurveZMQINITIATE", count, nonce), box,
                   sizeof box, at);
    return true;
}

static void send_ready(kiln_curve_session *s) {
    unsigned char nonce[KILN_BOX_NONCE];
    unsigned char *at = begin_command(s, READY + METADATA, "READY");
    const unsigned char *count = at;
    at = put_count(s, at);
    kiln_box_close(&s->shared, nonce_of("CurveZMQREADY---", count, nonce), metadata,
                   METADATA, at);
}

/* ---- what comes ------------------------------------------------------------------ */

static kiln_status refuse(kiln_err *err, const char *why) {
    return kiln_fail(err, KILN_ERR_PARSE, "curve: %s", why);
}

static kiln_status on_hello(kiln_curve_session *s, const unsigned char *p, size_t n,
                            kiln_err *err) {
    unsigned char nonce[KILN_BOX_NONCE], zeros[64];
    kiln_curve_key k;
    if (n != HELLO || p[6] != 1 || p[7] != 0)
        return refuse(err, "no HELLO of version 1.0");
    memcpy(s->peer_brief.bytes, p + 80, KEY);
    if (!take_count(s, p + 112) || !kiln_box_key(&s->peer_brief, &s->own.secret, &k))
        return refuse(err, "a HELLO without a key");
    const bool ok = kiln_box_open(&k, nonce_of("CurveZMQHELLO---", p + 112, nonce),
                                  p + 120, n - 120, zeros);
    if (ok)
        send_welcome(s, &k);
    kiln_curve_wipe(&k, sizeof k);
    if (!ok)
        return refuse(err, "a HELLO that is for another server");
    s->step = KILN_CURVE_INITIATE;
    return KILN_OK;
}

static kiln_status on_welcome(kiln_curve_session *s, const unsigned char *p, size_t n,
                              kiln_err *err) {
    unsigned char nonce[KILN_BOX_NONCE], both[KEY + COOKIE];
    kiln_curve_key k;
    if (n != WELCOME || !kiln_box_key(&s->peer, &s->brief.secret, &k))
        return refuse(err, "no WELCOME");
    const bool ok = kiln_box_open(&k, nonce_of("WELCOME-", p + 8, nonce), p + 8 + DRAWN,
                                  n - 8 - DRAWN, both);
    kiln_curve_wipe(&k, sizeof k);
    if (!ok)
        return refuse(err, "who answers has not the device's key");
    memcpy(s->peer_brief.bytes, both, KEY);
    memcpy(s->cookie, both + KEY, COOKIE);
    if (!kiln_box_key(&s->peer_brief, &s->brief.secret, &s->shared) ||
        !send_initiate(s))
        return refuse(err, "a WELCOME without a key");
    s->step = KILN_CURVE_READY;
    return KILN_OK;
}

/* The key that vouches for the connection's is who it says: box: of INITIATE. */
static bool is_vouched(kiln_curve_session *s, const unsigned char *box) {
    unsigned char nonce[KILN_BOX_NONCE], two[2 * KEY];
    kiln_curve_key k;
    memcpy(s->peer.bytes, box, KEY);
    if (!kiln_box_key(&s->peer, &s->brief.secret, &k))
        return false;
    const bool ok = kiln_box_open(&k, nonce_of("VOUCH---", box + KEY, nonce),
                                  box + KEY + DRAWN, VOUCH - DRAWN, two);
    kiln_curve_wipe(&k, sizeof k);
    return ok && memcmp(two, s->peer_brief.bytes, KEY) == 0 &&
           memcmp(two + KEY, s->own.public_key.bytes, KEY) == 0;
}

static kiln_status on_initiate(kiln_curve_session *s, const unsigned char *p, size_t n,
                               kiln_err *err) {
    enum { AT = 9 + COOKIE };
    unsigned char nonce[KILN_BOX_NONCE], box[KEY + VOUCH + MAX_METADATA];
    if (n < INITIATE || n > MAX_HANDSHAKE || memcmp(p + 9, s->cookie, COOKIE) != 0)
        return refuse(err, "no INITIATE of this connection");
    if (!take_count(s, p + AT) ||
        !kiln_box_key(&s->peer_brief, &s->brief.secret, &s->shared) ||
        !kiln_box_open(&s->shared, nonce_of("CurveZMQINITIATE", p + AT, nonce),
                       p + AT + SHORT, n - AT - SHORT, box) ||
        !is_vouched(s, box))
        return refuse(err, "an INITIATE that nobody vouches for");
    if (!kiln_curve_is_allowed(s->allowed, &s->peer))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "curve: a key that is not allowed");
    send_ready(s);
    s->step = KILN_CURVE_OPEN;
    return KILN_OK;
}

static kiln_status on_ready(kiln_curve_session *s, const unsigned char *p, size_t n,
                            kiln_err *err) {
    unsigned char nonce[KILN_BOX_NONCE], box[MAX_METADATA];
    if (n < READY || n - READY > sizeof box || !take_count(s, p + 6) ||
        !kiln_box_open(&s->shared, nonce_of("CurveZMQREADY---", p + 6, nonce),
                       p + 6 + SHORT, n - 6 - SHORT, box))
        return refuse(err, "no READY of this connection");
    s->step = KILN_CURVE_OPEN;
    return KILN_OK;
}

static kiln_status on_message(kiln_curve_session *s, const unsigned char *p, size_t n,
                              kiln_curve_event *out, kiln_err *err) {
    unsigned char nonce[KILN_BOX_NONCE];
    const char *prefix = s->is_server ? "CurveZMQMESSAGEC" : "CurveZMQMESSAGES";
    if (n < MESSAGE || memcmp(p, "\7MESSAGE", 8) != 0 || !take_count(s, p + 8) ||
        !kiln_box_open(&s->shared, nonce_of(prefix, p + 8, nonce), p + 8 + SHORT,
                       n - 8 - SHORT, s->plain))
        return refuse(err, "no message of this connection");
    /* Parts of a message are a stream's pieces too; commands are between libraries. */
    if ((s->plain[0] & INNER_COMMAND) == 0 && n > MESSAGE)
        *out = (kiln_curve_event){KILN_CURVE_GIVES,
                                  {(const char *)s->plain + 1, n - MESSAGE}};
    return KILN_OK;
}

typedef struct command {
    const char *name; /* with its length ahead */
    kiln_curve_step step;
    kiln_status (*take)(kiln_curve_session *s, const unsigned char *p, size_t n,
                        kiln_err *err);
} command;
static const command commands[] = {
    {"\5HELLO", KILN_CURVE_HELLO, on_hello},
    {"\7WELCOME", KILN_CURVE_WELCOME, on_welcome},
    {"\10INITIATE", KILN_CURVE_INITIATE, on_initiate},
    {"\5READY", KILN_CURVE_READY, on_ready},
};

static kiln_status on_command(kiln_curve_session *s, const unsigned char *p, size_t n,
                              kiln_err *err) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const size_t name = strlen(commands[i].name);
        if (commands[i].step == s->step && n >= name &&
            memcmp(p, commands[i].name, name) == 0)
            return commands[i].take(s, p, n, err);
    }
    return refuse(err, "another command than the one that is to come");
}

/* Who connects greets first; a server once it sees that it is spoken to in ZMTP. */
static kiln_status on_greeting(kiln_curve_session *s, bool *wants, kiln_err *err) {
    const unsigned char *p = s->in + s->at;
    const size_t n = s->n_in - s->at;
    *wants = false;
    if ((n > 0 && p[0] != 0xff) || (n >= SIGNATURE && (p[9] & 1) != 1))
        return refuse(err, "no greeting of ZMTP");
    if (!s->has_greeted && (!s->is_server || n >= SIGNATURE)) {
        send_greeting(s);
        return KILN_OK;
    }
    *wants = n < GREETING;
    if (*wants)
        return KILN_OK;
    if (p[10] < 3 || memcmp(p + 12, "CURVE\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20) != 0 ||
        (s->is_server && p[32] != 0)) /* of a server the library says nothing there */
        return refuse(err, "it does not speak ZMTP 3 with CURVE, as the other end");
    s->at += GREETING;
    s->step = s->is_server ? KILN_CURVE_HELLO : KILN_CURVE_WELCOME;
    if (!s->is_server && !send_hello(s))
        return refuse(err, "the device's key is none");
    return KILN_OK;
}

/* A whole frame, its body at *p; *wants: it is not here yet. */
static kiln_status cut_frame(kiln_curve_session *s, const unsigned char **p, size_t *n,
                             bool *wants, kiln_err *err) {
    const unsigned char *at = s->in + s->at;
    const size_t has = s->n_in - s->at, most = s->step == KILN_CURVE_OPEN
                                                   ? (size_t)KILN_CURVE_MAX_FRAME
                                                   : (size_t)MAX_HANDSHAKE;
    *wants = true;
    if (has == 0)
        return KILN_OK;
    if ((at[0] & ~LONG) != (s->step == KILN_CURVE_OPEN ? 0 : COMMAND))
        return refuse(err, "a frame that is not due");
    const size_t head = (at[0] & LONG) != 0 ? 9 : 2;
    if (has < head)
        return KILN_OK;
    const uint64_t body = head == 9 ? get_number(at + 1) : at[1];
    if (body > most)
        return kiln_fail(err, KILN_ERR_LIMIT, "curve: a frame of more than %zu bytes",
                         most);
    if (has - head < body)
        return KILN_OK;
    *wants = false;
    *p = at + head;
    *n = (size_t)body;
    s->at += head + (size_t)body;
    return KILN_OK;
}

kiln_status kiln_curve_next(kiln_curve_session *s, kiln_curve_event *out,
                            kiln_err *err) {
    bool wants = false;
    *out = (kiln_curve_event){.what = KILN_CURVE_WANTS};
    while (!wants && out->what == KILN_CURVE_WANTS) {
        const unsigned char *p = NULL;
        size_t n = 0;
        s->n_out = 0;
        if (s->step == KILN_CURVE_GREETING) {
            KILN_TRY(on_greeting(s, &wants, err));
        } else {
            KILN_TRY(cut_frame(s, &p, &n, &wants, err));
            if (!wants && s->step == KILN_CURVE_OPEN)
                KILN_TRY(on_message(s, p, n, out, err));
            else if (!wants)
                KILN_TRY(on_command(s, p, n, err));
        }
        if (s->n_out > 0)
            *out =
                (kiln_curve_event){KILN_CURVE_SENDS, {(const char *)s->out, s->n_out}};
    }
    return KILN_OK;
}

size_t kiln_curve_seal(kiln_curve_session *s, const void *p, size_t n,
                       unsigned char *out) {
    unsigned char nonce[KILN_BOX_NONCE];
    KILN_ASSERT(s->step == KILN_CURVE_OPEN && n <= KILN_CURVE_MAX_PLAIN,
                "%zu bytes cannot be sealed", n);
    unsigned char *at = out;
    *at++ = LONG;
    put_number(at, MESSAGE + n);
    at = put(at + 8, "\7MESSAGE", 8);
    const unsigned char *count = at;
    at = put_count(s, at);
    /* Where the box will be, but for the tag that comes ahead of it. */
    at[TAG] = 0;
    memcpy(at + TAG + 1, p, n);
    kiln_box_close(
        &s->shared,
        nonce_of(s->is_server ? "CurveZMQMESSAGES" : "CurveZMQMESSAGEC", count, nonce),
        at + TAG, n + 1, at);
    return n + KILN_CURVE_SEAL;
}
