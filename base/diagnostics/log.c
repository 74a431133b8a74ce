/* The log: see log.h. */
#include "base/diagnostics/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/core.h"

enum { MAX_RULES = 32, TAG_BYTES = 32 };

typedef struct rule {
    char tag[TAG_BYTES];
    kiln_log_level level;
} rule;

typedef struct settings {
    rule rules[MAX_RULES];
    size_t n_rules;
    kiln_log_level others; /* for tags without a rule */
} settings;

static const char *const level_names[] = {"error", "warn", "info", "debug"};
enum { N_LEVELS = sizeof level_names / sizeof level_names[0] };
_Static_assert(N_LEVELS == KILN_LOG_DEBUG + 1, "one name a level");

static settings current = {.others = KILN_LOG_WARN}; /* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t read_environment = PTHREAD_ONCE_INIT;
/* The highest level that is on for any tag: lines above it, nearly all, need no lock.
 */
static atomic_int highest = KILN_LOG_WARN;

static bool find_level(kiln_str name, kiln_log_level *out) {
    for (int i = 0; i < N_LEVELS; i++) {
        if (kiln_str_is(name, level_names[i])) {
            *out = (kiln_log_level)i;
            return true;
        }
    }
    return false;
}

/* One part of a setting, "level" or "tag=level"; a later part wins. */
static void add_part(settings *s, kiln_str part) {
    const char *complaint = NULL;
    kiln_str value = part, tag = {NULL, 0};
    const bool has_tag = part.n > 0 && memchr(part.p, '=', part.n) != NULL;
    if (has_tag)
        (void)kiln_str_cut(&value, '=', &tag);
    kiln_log_level level = KILN_LOG_WARN;
    if (!find_level(value, &level))
        complaint = "the level must be error, warn, info or debug";
    else if (!has_tag)
        s->others = level;
    else if (tag.n == 0 || tag.n >= TAG_BYTES)
        complaint = "the tag is empty or too long";
    else if (s->n_rules == MAX_RULES)
        complaint = "there are too many tags";
    if (complaint != NULL) {
        fprintf(stderr, "warn log: KILN_LOG part '%.*s' is ignored: %s\n",
                KILN_STR_ARG(part), complaint);
        return;
    }
    if (has_tag) {
        rule *r = &s->rules[s->n_rules++];
        memcpy(r->tag, tag.p, tag.n);
        r->tag[tag.n] = '\0';
        r->level = level;
    }
}

static void configure(const char *setting) {
    settings s = {.others = KILN_LOG_WARN};
    kiln_str rest = kiln_str_from(setting), part;
    while (kiln_str_cut(&rest, ',', &part)) {
        part = kiln_str_trim(part);
        if (part.n > 0)
            add_part(&s, part);
    }
    int most = (int)s.others;
    for (size_t i = 0; i < s.n_rules; i++)
        if ((int)s.rules[i].level > most)
            most = (int)s.rules[i].level;

    pthread_mutex_lock(&lock);
    current = s;
    pthread_mutex_unlock(&lock);
    atomic_store(&highest, most);
}

static void configure_from_environment(void) { configure(getenv("KILN_LOG")); }

void kiln_log_configure(const char *setting) {
    /* The environment first: it must not come later and undo this call. */
    pthread_once(&read_environment, configure_from_environment);
    configure(setting);
}

bool kiln_log_is_on(kiln_log_level level, const char *tag) {
    pthread_once(&read_environment, configure_from_environment);
    if ((int)level > atomic_load_explicit(&highest, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&lock);
    kiln_log_level most = current.others;
    for (size_t i = 0; i < current.n_rules; i++)
        if (strcmp(current.rules[i].tag, tag) == 0)
            most = current.rules[i].level;
    pthread_mutex_unlock(&lock);
    return level <= most;
}

void kiln_log_line(kiln_log_level level, const char *tag, const char *fmt, ...) {
    enum { MAX_LINE = 4096 };
    char line[MAX_LINE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    for (char *c = line; *c != '\0'; c++) /* names from files speak to no terminal */
        if (((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f)
            *c = '?';
    flockfile(stderr); /* lines of threads do not mix */
    fprintf(stderr, "%s %s: %s\n", level_names[level], tag, line);
    funlockfile(stderr);
}
