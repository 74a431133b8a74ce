// What kiln.hpp promises, held by a package of one input x, f32[1,12], and one output b, f32[1,20]:
// wrapper FOLDER INPUT.f32 SHAPES; SHAPES is a package for data f32[1,3,8,8] and f32[4,3,8,8]. Prints what does not hold; exits with 1 where anything did not.
#include <kiln/kiln.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

static int failures;

static void hold(bool is_so, const char *what) {
    if (is_so)
        return;
    std::printf("%s\n", what);
    failures++;
}

// Does it throw a kiln::error whose text has this in it?
template <class F> static void refuse(F &&f, const std::string &text) {
    try {
        f();
        std::printf("nothing was thrown; wanted: %s\n", text.c_str());
    } catch (const kiln::error &e) {
        if (std::string(e.what()).find(text) != std::string::npos)
            return;
        std::printf("'%s' does not say '%s'\n", e.what(), text.c_str());
    }
    failures++;
}

// One type for each dtype of the runtime, and no other.
static void check_types() {
    using kiln::detail::holds;
    const char *const all[] = {"f32", "f16", "bf16", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64",
                               "bool", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "f4e2m1", "i4",
                               "u4", "i2", "u2"};
    for (const std::string d : all) {
        const int n = holds<float>(d) + holds<double>(d) + holds<kiln::float16>(d) + holds<kiln::bfloat16>(d) +
                      holds<std::int8_t>(d) + holds<std::uint8_t>(d) + holds<std::int16_t>(d) +
                      holds<std::uint16_t>(d) + holds<std::int32_t>(d) + holds<std::uint32_t>(d) +
                      holds<std::int64_t>(d) + holds<std::uint64_t>(d) + holds<bool>(d);
        hold(n == 1, ("not one type for " + d).c_str());
    }
    hold(holds<const float>("f32") && !holds<float>("i32") && !holds<std::uint16_t>("f16"), "a type for another");
    hold(kiln::bfloat16{0xC020}.to_float() == -2.5f, "bf16 is read wrong");
}

static std::vector<float> run(kiln::session &s, const std::vector<float> &x) {
    s.set("x", x);
    s.run();
    const auto b = s.output<float>("b");
    return {b.begin(), b.end()};
}

static void check_ports(const kiln::model &m) {
    hold(m.name() == "small" && !m.profile().empty(), "names");
    hold(m.inputs().size() == 1 && m.outputs().size() == 1, "numbers of ports");
    const kiln::port &x = m.inputs()[0];
    hold(x.name == "x" && x.dtype == "f32" && x.shape == std::vector<std::int64_t>{1, 12}, "the input");
    hold(x.bytes == 48 && x.elements() == 12 && m.output("b") == 0, "sizes");
}

static void check_refusals(const kiln::model &m, const std::vector<float> &x) {
    refuse([] { kiln::model("/nowhere"); }, "'/nowhere/plan.bin': No such file or directory");
    refuse([] { kiln::model(kiln_model_files{}); }, "the plan in memory is none");
    refuse([&] { (void)m.input("y"); }, "'small' has no input 'y'; it has 'x'");
    refuse([&] { kiln::session(m).run(); }, "an input was never set");
    refuse([&] { kiln::session(m).set("x", std::vector<double>(12)); }, "input 'x' has elements of f32");
    refuse([&] { kiln::session(m).set("x", std::vector<float>(11)); }, "input 'x' has 12 elements, 11 are given");
    refuse([&] { kiln::session(m).set(1, x); }, "there is no input 1: there are 1");
    refuse([&] { (void)kiln::session(m).output<std::int32_t>("b"); }, "output 'b' has elements of f32");
    refuse([&] { kiln::session(m).bind_input("x", kiln::view<const float>(x.data() + 1, 12)); }, "64-byte aligned");
}

// A session keeps its model; what is moved from may go.
static void check_lifetimes(const std::string &folder, const std::vector<float> &x, const std::vector<float> &want) {
    auto m = std::make_unique<kiln::model>(folder);
    kiln::session first(*m, 2);
    m.reset();
    kiln::session second(std::move(first));
    hold(run(second, x) == want, "a session without its model");
    second.profile(true);
    second.run();
    const auto steps = second.steps();
    hold(!steps.empty() && steps[0].runs == 1, "steps");
}

static void check_binding(const kiln::model &m, const std::vector<float> &x, const std::vector<float> &want) {
    struct alignas(64) {
        std::array<float, 12> x;
    } in;
    struct alignas(64) {
        std::array<float, 20> b;
    } out{};
    std::copy(x.begin(), x.end(), in.x.begin());
    kiln::session s(m);
    s.bind_input("x", kiln::view<const float>(in.x.data(), 12));
    s.bind_output("b", kiln::view<float>(out.b.data(), 20));
    s.run();
    hold(std::equal(want.begin(), want.end(), out.b.begin()), "bound memory");
    hold(s.output<float>(0).data() == out.b.data(), "a bound output is the caller's memory");
    s.unbind_output("b");
    s.unbind_input("x");
    hold(run(s, x) == want, "memory of its own again");
}

static void check_threads(const kiln::model &m, const std::vector<float> &x, const std::vector<float> &want) {
    std::vector<std::thread> threads;
    std::array<bool, 4> good{};
    for (std::size_t t = 0; t < good.size(); t++)
        threads.emplace_back([&, t] {
            kiln::session s(m);
            good[t] = true;
            for (int i = 0; i < 50; i++)
                good[t] = good[t] && run(s, x) == want;
        });
    for (std::thread &t : threads)
        t.join();
    for (const bool g : good)
        hold(g, "sessions of one model in several threads");
}

static void check_shapes(const std::string &folder) {
    std::vector<float> four(4 * 192);
    for (std::size_t i = 0; i < four.size(); i++)
        four[i] = static_cast<float>(i % 192) / 192;
    const std::vector<float> one(four.begin(), four.begin() + 192);
    kiln::session s = [&] { return kiln::session(kiln::model(folder), 2); }();
    hold(s.of().variants() == 2 && s.of().inputs()[0].shape[0] == 1, "the first shape");
    s.set("data", one);
    s.run();
    const auto scores = s.output<float>("scores");
    const std::vector<float> want(scores.begin(), scores.end());
    s.set_shapes({{4, 3, 8, 8}});
    hold(s.of().inputs()[0].shape[0] == 4, "the second shape");
    s.set("data", four);
    s.run();
    const auto all = s.output<float>("scores");
    hold(all.size() == 40, "outputs of the second shape");
    for (std::size_t i = 0; i < all.size(); i++)
        hold(std::abs(all[i] - want[i % 10]) < 1e-4f, "the same of each of four");
    refuse([&] { s.set_shapes({{2, 3, 8, 8}}); }, "there are: data 1x3x8x8; data 4x3x8x8");
    refuse([&] { s.set("data", one); }, "has 768 elements, 192 are given");
    kiln::session alone = [&] { return kiln::session(kiln::model(folder).variant(1)); }();
    alone.set("data", four);
    alone.run();
    refuse([&] { (void)kiln::model(folder).variant(2); }, "there is no variant 2: there are 2");
}

int main(int argc, char **argv) try {
    if (argc != 4)
        throw kiln::error("usage: wrapper FOLDER INPUT.f32 SHAPES");
    std::vector<float> x(12);
    std::ifstream(argv[2], std::ios::binary).read(reinterpret_cast<char *>(x.data()), 48);
    const kiln::model m(argv[1]);
    kiln::session s(m);
    const std::vector<float> want = run(s, x);
    check_types();
    check_ports(m);
    check_refusals(m, x);
    check_lifetimes(argv[1], x, want);
    check_binding(m, x, want);
    check_threads(m, x, want);
    check_shapes(argv[3]);
    return failures > 0;
} catch (const std::exception &e) {
    std::printf("%s\n", e.what());
    return 1;
}
