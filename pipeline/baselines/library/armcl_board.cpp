/* The Arm Compute Library's side of kiln-armcl: one operator with what is behind it, by
 * its NEON functions, in a program of its own for AArch64 that stands on nothing of
 * kiln's. C++, as the library has no other interface.
 *
 * As its documentation has it: channels last, what follows at once fused by
 * ActivationLayerInfo, each function validated before it is configured, weights made
 * ready by prepare(), its own scheduler with as many threads as are compared. Fast math,
 * which gives up accuracy, is off. */
#include "pipeline/baselines/library/armcl_call.h"

#include <arm_compute/core/Version.h>
#include <arm_compute/runtime/NEON/functions/NEActivationLayer.h>
#include <arm_compute/runtime/NEON/functions/NEArithmeticAddition.h>
#include <arm_compute/runtime/NEON/functions/NEConvolutionLayer.h>
#include <arm_compute/runtime/NEON/functions/NEDepthwiseConvolutionLayer.h>
#include <arm_compute/runtime/NEON/functions/NEGEMM.h>
#include <arm_compute/runtime/Scheduler.h>
#include <arm_compute/runtime/Tensor.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace acl = arm_compute;

namespace {

int answers; /* standard output, before it was taken from what the library prints */

bool read_all(void *to, size_t n) {
    for (char *p = static_cast<char *>(to); n > 0;) {
        const ssize_t got = read(STDIN_FILENO, p, n);
        if (got <= 0)
            return false;
        p += got;
        n -= static_cast<size_t>(got);
    }
    return true;
}

bool write_all(const void *from, size_t n) {
    for (const char *p = static_cast<const char *>(from); n > 0;) {
        const ssize_t put = write(answers, p, n);
        if (put <= 0)
            return false;
        p += put;
        n -= static_cast<size_t>(put);
    }
    return true;
}

/* ---- tensors --------------------------------------------------------------------- */

void require(const acl::Status &st) {
    if (!st)
        throw std::runtime_error(st.error_description());
}

/* The library may leave gaps between rows, for kernels that read beyond the end. */
template <typename F> void each_row(acl::Tensor &t, F do_row) {
    const acl::TensorShape &s = t.info()->tensor_shape();
    const size_t bytes = s[0] * sizeof(float);
    for (size_t n = 0; n < s[3]; n++)
        for (size_t z = 0; z < s[2]; z++)
            for (size_t y = 0; y < s[1]; y++)
                if (!do_row(t.ptr_to_element(acl::Coordinates(0, y, z, n)), bytes))
                    throw std::runtime_error("the pipe is broken");
}

void fill(acl::Tensor &t) {
    each_row(t, [](void *row, size_t n) { return read_all(row, n); });
}

void send(acl::Tensor &t) {
    each_row(t, [](const void *row, size_t n) { return write_all(row, n); });
}

acl::TensorInfo info_of(const int32_t dim[KILN_ARMCL_RANK], bool is_image) {
    acl::TensorShape shape;
    for (int i = KILN_ARMCL_RANK; i-- > 0;) {
        if (dim[i] < 1 || dim[i] > KILN_ARMCL_MAX_DIM)
            throw std::runtime_error("a dimension of no tensor");
        if (dim[i] != 1 || i == 0)
            shape.set(static_cast<size_t>(i), static_cast<size_t>(dim[i]));
    }
    acl::TensorInfo info(shape, 1, acl::DataType::F32);
    if (is_image)
        info.set_data_layout(acl::DataLayout::NHWC);
    return info;
}

acl::ActivationLayerInfo activation_of(const kiln_armcl_tail &t) {
    using F = acl::ActivationLayerInfo::ActivationFunction;
    switch (static_cast<kiln_armcl_tail_kind>(t.kind)) {
    case KILN_ARMCL_RELU:
        return {F::RELU};
    case KILN_ARMCL_CLIP: /* upper bound first */
        return {F::LU_BOUNDED_RELU, t.beta, t.alpha};
    case KILN_ARMCL_LEAKY_RELU:
        return {F::LEAKY_RELU, t.alpha};
    case KILN_ARMCL_ELU:
        return {F::ELU, t.alpha};
    case KILN_ARMCL_SIGMOID:
        return {F::LOGISTIC};
    case KILN_ARMCL_TANH:
        return {F::TANH, 1, 1};
    case KILN_ARMCL_HARD_SWISH:
        return {F::HARD_SWISH};
    case KILN_ARMCL_ADD:
        break;
    }
    throw std::runtime_error("no such activation");
}

/* ---- an operator ----------------------------------------------------------------- */

struct op {
    kiln_armcl_call call;
    acl::Tensor x, w, bias, y, sum[KILN_ARMCL_MAX_TAILS];
    std::vector<std::unique_ptr<acl::IFunction>> step;
    std::string chose;

    acl::ITensor *bias_or_none() { return call.has_bias != 0 ? &bias : nullptr; }
};

/* Right behind the anchor: it takes one activation. */
int fused(const op &o, acl::ActivationLayerInfo &act) {
    if (o.call.n_tails == 0 || o.call.tail[0].kind == KILN_ARMCL_ADD)
        return 0;
    act = activation_of(o.call.tail[0]);
    return 1;
}

template <typename T> T *add_step(op &o) {
    T *f = new T();
    o.step.emplace_back(f);
    return f;
}

const char *name_of(acl::ConvolutionMethod m) {
    switch (m) {
    case acl::ConvolutionMethod::GEMM:
        return "NEConvolutionLayer: GEMM";
    case acl::ConvolutionMethod::DIRECT:
        return "NEConvolutionLayer: direct";
    case acl::ConvolutionMethod::WINOGRAD:
        return "NEConvolutionLayer: Winograd";
    case acl::ConvolutionMethod::FFT:
        return "NEConvolutionLayer: FFT";
    default:
        return "NEConvolutionLayer";
    }
}

acl::PadStrideInfo windows_of(const kiln_armcl_call &c) {
    const auto u = [](int32_t v) { return static_cast<unsigned>(v); };
    return acl::PadStrideInfo(u(c.stride[0]), u(c.stride[1]), u(c.pad[0]), u(c.pad[1]),
                              u(c.pad[2]), u(c.pad[3]),
                              acl::DimensionRoundingType::FLOOR);
}

void add_conv(op &o, const acl::ActivationLayerInfo &act) {
    const acl::PadStrideInfo windows = windows_of(o.call);
    const acl::Size2D dilation(static_cast<size_t>(o.call.dilation[0]),
                               static_cast<size_t>(o.call.dilation[1]));
    const acl::ITensorInfo *b = o.call.has_bias != 0 ? o.bias.info() : nullptr;
    require(acl::NEConvolutionLayer::validate(o.x.info(), o.w.info(), b, o.y.info(),
                                              windows, acl::WeightsInfo(), dilation,
                                              act));
    o.chose = name_of(acl::NEConvolutionLayer::get_convolution_method(
        o.x.info(), o.w.info(), o.y.info(), windows, acl::WeightsInfo(), dilation,
        act));
    add_step<acl::NEConvolutionLayer>(o)->configure(
        &o.x, &o.w, o.bias_or_none(), &o.y, windows, acl::WeightsInfo(), dilation, act);
}

void add_depthwise(op &o, const acl::ActivationLayerInfo &act) {
    const acl::PadStrideInfo windows = windows_of(o.call);
    const unsigned m = static_cast<unsigned>(o.call.multiplier);
    const acl::Size2D dilation(static_cast<size_t>(o.call.dilation[0]),
                               static_cast<size_t>(o.call.dilation[1]));
    const acl::ITensorInfo *b = o.call.has_bias != 0 ? o.bias.info() : nullptr;
    require(acl::NEDepthwiseConvolutionLayer::validate(
        o.x.info(), o.w.info(), b, o.y.info(), windows, m, act, dilation));
    o.chose = "NEDepthwiseConvolutionLayer";
    add_step<acl::NEDepthwiseConvolutionLayer>(o)->configure(
        &o.x, &o.w, o.bias_or_none(), &o.y, windows, m, act, dilation);
}

void add_product(op &o, const acl::ActivationLayerInfo &act) {
    acl::GEMMInfo how(false, false, true);
    how.set_activation_info(act);
    const acl::ITensorInfo *b = o.call.has_bias != 0 ? o.bias.info() : nullptr;
    require(acl::NEGEMM::validate(o.x.info(), o.w.info(), b, o.y.info(), 1,
                                  o.call.has_bias != 0 ? 1 : 0, how));
    o.chose = "NEGEMM";
    add_step<acl::NEGEMM>(o)->configure(&o.x, &o.w, o.bias_or_none(), &o.y, 1,
                                        o.call.has_bias != 0 ? 1 : 0, how);
}

void add_tail(op &o, int i) {
    if (o.call.tail[i].kind == KILN_ARMCL_ADD) {
        require(acl::NEArithmeticAddition::validate(
            o.y.info(), o.sum[i].info(), o.y.info(), acl::ConvertPolicy::SATURATE));
        add_step<acl::NEArithmeticAddition>(o)->configure(&o.y, &o.sum[i], &o.y,
                                                          acl::ConvertPolicy::SATURATE);
        return;
    }
    const acl::ActivationLayerInfo act = activation_of(o.call.tail[i]);
    require(acl::NEActivationLayer::validate(o.y.info(), nullptr, act));
    add_step<acl::NEActivationLayer>(o)->configure(&o.y, nullptr, act);
}

void configure(op &o) {
    const kiln_armcl_call &c = o.call;
    const bool is_image = c.kind != KILN_ARMCL_PRODUCT;
    const int32_t n_bias[KILN_ARMCL_RANK] = {c.y[0], 1, 1, 1};
    acl::ActivationLayerInfo act;
    if (c.threads < 1 || c.n_tails < 0 || c.n_tails > KILN_ARMCL_MAX_TAILS)
        throw std::runtime_error("no call");
    acl::Scheduler::get().set_num_threads(static_cast<unsigned>(c.threads));
    o.x.allocator()->init(info_of(c.x, is_image));
    o.w.allocator()->init(info_of(c.w, is_image));
    o.y.allocator()->init(info_of(c.y, is_image));
    o.bias.allocator()->init(info_of(n_bias, false));
    for (int i = 0; i < c.n_tails; i++)
        o.sum[i].allocator()->init(info_of(c.y, is_image));
    int i = fused(o, act);
    switch (static_cast<kiln_armcl_kind>(c.kind)) {
    case KILN_ARMCL_CONV:
        add_conv(o, act);
        break;
    case KILN_ARMCL_DEPTHWISE:
        add_depthwise(o, act);
        break;
    case KILN_ARMCL_PRODUCT:
        add_product(o, act);
        break;
    }
    for (; i < c.n_tails; i++)
        add_tail(o, i);
}

/* Memory comes after everything is configured: kernels ask for gaps. */
void load(op &o) {
    const kiln_armcl_call &c = o.call;
    o.x.allocator()->allocate();
    o.w.allocator()->allocate();
    o.y.allocator()->allocate();
    fill(o.x);
    fill(o.w);
    if (c.has_bias != 0) {
        o.bias.allocator()->allocate();
        fill(o.bias);
    }
    for (int i = 0; i < c.n_tails; i++)
        if (c.tail[i].kind == KILN_ARMCL_ADD) {
            o.sum[i].allocator()->allocate();
            fill(o.sum[i]);
        }
    for (const auto &f : o.step)
        f->prepare();
}

int64_t now_ns() {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

bool run(op &o) {
    const int64_t begin = now_ns();
    for (const auto &f : o.step)
        f->run();
    const int64_t ns = now_ns() - begin;
    return write_all(&ns, sizeof ns);
}

/* ---- the program ----------------------------------------------------------------- */

/* "arm_compute_version=v20.08 Build options: ..." */
int print_version() {
    const std::string all = acl::build_information();
    const size_t v = all.find("=v");
    const size_t begin = v == std::string::npos ? 0 : v + 2;
    printf("%s\n", all.substr(begin, all.find(' ', begin) - begin).c_str());
    return 0;
}

bool answer(bool is_ready, const char *text) {
    kiln_armcl_answer a = {};
    a.is_ready = is_ready;
    (void)snprintf(a.text, sizeof a.text, "%s", text);
    return write_all(&a, sizeof a);
}

int serve() {
    op o;
    int32_t request;
    answers = dup(STDOUT_FILENO);
    if (answers < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
        !read_all(&o.call, sizeof o.call))
        return 1;
    try {
        configure(o);
    } catch (const std::exception &e) {
        (void)answer(false, e.what());
        return 0;
    }
    if (!answer(true, o.chose.c_str()))
        return 1;
    load(o);
    bool is_well = true;
    while (is_well && read_all(&request, sizeof request)) {
        if (request == KILN_ARMCL_RUN)
            is_well = run(o);
        else if (request == KILN_ARMCL_READ)
            send(o.y);
        else
            is_well = false;
    }
    return is_well ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    return argc == 2 && strcmp(argv[1], "--version") == 0 ? print_version() : serve();
}
