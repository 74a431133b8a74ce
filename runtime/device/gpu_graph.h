/* Runs that repeat themselves: the second time a queue is told the same launches, with
 * the same operands, they are made a graph of the driver's for each stretch that nobody
 * waits in and that no copy parts, and from then on one call tells the whole stretch.
 *
 * The first run counts them, the second notes them; at its end graphs are made. Then each
 * launch that is as it was is put off until the last of its stretch has come. One that is
 * not, or somebody who waits in between, has those that were put off told one by one,
 * and the rest of the run as ever. After a few runs that differed there are no graphs
 * any more. Launches that were put off share one ticket.
 *
 * Source: CUDA Driver API reference, "Graph Management" and "Stream Management" (capture
 * of a stream); PyTorch replays networks so (torch.cuda.CUDAGraph). */
#ifndef KILN_RUNTIME_DEVICE_GPU_GRAPH_H
#define KILN_RUNTIME_DEVICE_GPU_GRAPH_H

#include "runtime/device/device_gpu.h"

/* Has its driver graphs, and nobody does without them? */
int kiln_gpu_graphs_are_here(const kiln_gpu_queue *q);
/* For a queue; NULL: none, for want of memory or since its driver has no graphs. */
kiln_gpu_graphs *kiln_gpu_graphs_open(kiln_gpu_queue *q);
void kiln_gpu_graphs_close(kiln_gpu_queue *q);
/* True: it is put off, or told as the last of a graph, and this is its ticket. */
int kiln_gpu_graphs_replay(kiln_gpu_queue *q, const kiln_device_launch *l,
                           uint64_t *ticket);
/* It was told by itself. */
void kiln_gpu_graphs_note(kiln_gpu_queue *q, const kiln_device_launch *l);
/* What was put off must be on its way: somebody waits, or something else follows. Outside
 * of the driver's enter and leave, which all else is called between. */
void kiln_gpu_graphs_cut(kiln_gpu_queue *q);

/* gpu_queue.c: the next ticket; what was told of it is told, with the driver's answer;
 * the launches of a kernel, without either. */
uint64_t kiln_gpu_queue_begin_ticket(kiln_gpu_queue *q, uint32_t tag);
void kiln_gpu_queue_end_ticket(kiln_gpu_queue *q, uint64_t ticket, int code);
int kiln_gpu_queue_tell(kiln_gpu_queue *q, const kiln_gpu_handle *h,
                        void *const *operand);
/* The ticket's tag, of what fails. */
void kiln_gpu_queue_set_tag(kiln_gpu_queue *q, uint64_t ticket, uint32_t tag);

#endif
