/* Augmenting paths of least length, level by level. */
#include "compiler/pass/min_cut.h"

void kiln_cut_init(kiln_cut *c, kiln_arena *a) {
    *c = (kiln_cut){.arena = a};
    kiln_cut_add_node(c);
    kiln_cut_add_node(c);
}

int kiln_cut_add_node(kiln_cut *c) {
    kiln_vec_push(c->arena, &c->first, -1);
    return (int)c->first.n - 1;
}

static void push_edge(kiln_cut *c, int from, int to, int64_t room) {
    const kiln_cut_edge e = {.to = to, .next = c->first.v[from], .room = room};
    c->first.v[from] = (int)c->edge.n;
    kiln_vec_push(c->arena, &c->edge, e);
}

void kiln_cut_add_edge(kiln_cut *c, int from, int to, int64_t price) {
    KILN_ASSERT(price >= 0 && (size_t)from < c->first.n && (size_t)to < c->first.n,
                "an edge of %lld from node %d to %d of %zu", (long long)price, from, to,
                c->first.n);
    if (price == 0)
        return;
    push_edge(c, from, to, price);
    push_edge(c, to, from, 0);
}

/* Steps from the source over edges with room; -1: out of reach. */
static bool find_levels(const kiln_cut *c, int *level, int *queue) {
    int begin = 0, end = 0;
    for (size_t i = 0; i < c->first.n; i++)
        level[i] = -1;
    level[KILN_CUT_SOURCE] = 0;
    queue[end++] = KILN_CUT_SOURCE;
    while (begin < end) {
        const int at = queue[begin++];
        for (int e = c->first.v[at]; e >= 0; e = c->edge.v[e].next) {
            const int to = c->edge.v[e].to;
            if (c->edge.v[e].room == 0 || level[to] >= 0)
                continue;
            level[to] = level[at] + 1;
            queue[end++] = to;
        }
    }
    return level[KILN_CUT_SINK] >= 0;
}

/* Lets flow what the path's narrowest edge takes; returns how much, and where in the
 * path that edge is. */
static int64_t push_flow(kiln_cut *c, const int *path, int n, int *narrowest) {
    int64_t flow = KILN_CUT_NEVER;
    for (int i = 0; i < n; i++)
        if (c->edge.v[path[i]].room < flow) {
            flow = c->edge.v[path[i]].room;
            *narrowest = i;
        }
    KILN_ASSERT(n > 0 && flow > 0, "a path of %d edges has no room", n);
    for (int i = 0; i < n; i++) {
        c->edge.v[path[i]].room -= flow;
        c->edge.v[path[i] ^ 1].room += flow;
    }
    return flow;
}

/* All flow along edges that lead one level on. `next` (by node): edges before it are
 * used up. */
static int64_t block(kiln_cut *c, int *level, int *next, int *path) {
    int64_t sum = 0;
    int n = 0, at = KILN_CUT_SOURCE;
    for (;;) {
        if (at == KILN_CUT_SINK) {
            int keep = 0;
            sum += push_flow(c, path, n, &keep);
            n = keep;
            at = c->edge.v[path[n] ^ 1].to;
            continue;
        }
        int e = next[at];
        while (e >= 0 &&
               (c->edge.v[e].room == 0 || level[c->edge.v[e].to] != level[at] + 1))
            e = c->edge.v[e].next;
        next[at] = e;
        if (e >= 0) {
            path[n++] = e;
            at = c->edge.v[e].to;
            continue;
        }
        if (n == 0)
            return sum;
        level[at] = -1; /* leads nowhere */
        at = c->edge.v[path[--n] ^ 1].to;
    }
}

int64_t kiln_cut_solve(kiln_cut *c, bool *is_source) {
    const size_t n = c->first.n;
    int *level = kiln_array(c->arena, int, n), *queue = kiln_array(c->arena, int, n);
    int *next = kiln_array(c->arena, int, n), *path = kiln_array(c->arena, int, n);
    int64_t sum = 0;
    while (find_levels(c, level, queue)) {
        for (size_t i = 0; i < n; i++)
            next[i] = c->first.v[i];
        sum += block(c, level, next, path);
    }
    for (size_t i = 0; i < n; i++)
        is_source[i] = level[i] >= 0;
    return sum;
}
