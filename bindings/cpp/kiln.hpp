/* kiln's runtime for C++17: the functions of kiln.h as types that own what they open.
 * Header only; link what kiln-runtime.pc says.
 *
 *     const kiln::model model("resnet18");
 *     kiln::session session(model, 2);
 *     session.set("data", pixels);                      // std::vector<float>, copied
 *     session.run();
 *     for (float score : session.output<float>("scores"))
 *         use(score);
 *
 * Lifetimes. A model is a handle: copies of it are the same open package, which is
 * closed with the last of them. A session keeps its model open. A view of an output is
 * valid until the session's next run, bind or end; bound memory is the caller's and
 * must stay until it is bound anew, unbound, or the session is gone.
 *
 * Threads. A model may be used by any number of threads at once. A session is used by
 * one thread at a time; for several at once open several sessions of one model.
 *
 * Errors are thrown as kiln::error with the runtime's own text. Where what() speaks of
 * a type, T is asked for that the port has not: nothing is converted on the way.
 */
#ifndef KILN_BINDINGS_CPP_KILN_HPP
#define KILN_BINDINGS_CPP_KILN_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/kiln.h"

namespace kiln {

class error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/* ---- elements ------------------------------------------------------------------- */

/* IEEE 754 binary16, and the upper half of a binary32, as their bits. */
struct float16 {
    std::uint16_t bits;
};
struct bfloat16 {
    std::uint16_t bits;
    /* Exact. */
    float to_float() const noexcept {
        const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
        float out;
        std::memcpy(&out, &wide, sizeof out);
        return out;
    }
};

namespace detail {

/* Is T what elements of this type are in memory? Types of 8 bits and less have a byte
 * for each element. */
template <class T> bool holds(const std::string &dtype) {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, float>)
        return dtype == "f32";
    else if constexpr (std::is_same_v<U, double>)
        return dtype == "f64";
    else if constexpr (std::is_same_v<U, float16>)
        return dtype == "f16";
    else if constexpr (std::is_same_v<U, bfloat16>)
        return dtype == "bf16";
    else if constexpr (std::is_same_v<U, bool>)
        return dtype == "bool";
    else if constexpr (std::is_same_v<U, std::int8_t>)
        return dtype == "i8" || dtype == "i4" || dtype == "i2";
    else if constexpr (std::is_same_v<U, std::uint8_t>)
        return dtype == "u8" || dtype == "u4" || dtype == "u2" ||
               dtype.compare(0, 2, "f8") == 0 || dtype.compare(0, 2, "f4") == 0;
    else if constexpr (std::is_integral_v<U>)
        return dtype ==
               (std::is_signed_v<U> ? "i" : "u") + std::to_string(8 * sizeof(U));
    else
        return false;
}

inline std::string text_of(const std::string &name) { return "'" + name + "'"; }

} // namespace detail

/* Elements in memory that somebody else owns; std::span of C++20. */
template <class T> class view {
  public:
    view() = default;
    view(T *data, std::size_t size) : data_(data), size_(size) {}
    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size_; }
    T &operator[](std::size_t i) const { return data_[i]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* An input or output. */
struct port {
    std::string name;
    std::string dtype; /* "f32", "i64", "bf16", "i4": kiln_port_info */
    std::vector<std::int64_t> shape;
    std::size_t bytes = 0; /* row-major */

    std::size_t elements() const noexcept {
        std::size_t n = 1;
        for (const std::int64_t d : shape)
            n *= static_cast<std::size_t>(d);
        return n;
    }
};

/* ---- models --------------------------------------------------------------------- */

class model {
  public:
    /* An unpacked package. */
    explicit model(const std::string &folder) {
        char text[KILN_ERROR_TEXT] = "";
        take(kiln_model_open(folder.c_str(), nullptr, text), text);
    }
    /* Its files in memory; the parameters must outlive the model and its copies. */
    explicit model(const kiln_model_files &files) {
        char text[KILN_ERROR_TEXT] = "";
        take(kiln_model_open_memory(&files, nullptr, text), text);
    }

    /* A package may be for several shapes: each is a model by itself, of the same open
     * package; 0 is this one. */
    int variants() const { return kiln_model_n_variants(get()); }
    model variant(int i) const {
        const kiln_model *m = kiln_model_variant(get(), i);
        if (m == nullptr)
            throw error("there is no variant " + std::to_string(i) + ": there are " +
                        std::to_string(variants()));
        return model(m, it_);
    }

    std::string name() const { return kiln_model_name(get()); }
    std::string profile() const { return kiln_model_profile(get()); }
    const std::vector<port> &inputs() const noexcept { return it_->inputs; }
    const std::vector<port> &outputs() const noexcept { return it_->outputs; }

    /* The index of a port; throws where there is none of that name. */
    std::size_t input(const std::string &name) const {
        return find(inputs(), name, "input");
    }
    std::size_t output(const std::string &name) const {
        return find(outputs(), name, "output");
    }
    /* For functions of kiln.h that this header does not wrap. */
    const kiln_model *get() const noexcept { return it_->model; }

  private:
    struct opened {
        std::unique_ptr<kiln_model, decltype(&kiln_model_close)> handle{
            nullptr, kiln_model_close};
        std::shared_ptr<const opened> whole; /* of a variant: who closes it */
        const kiln_model *model = nullptr;
        std::vector<port> inputs, outputs;
    };
    std::shared_ptr<const opened> it_;

    model(const kiln_model *m, std::shared_ptr<const opened> whole) {
        auto o = std::make_shared<opened>();
        o->whole = std::move(whole);
        describe(*o, m);
        it_ = std::move(o);
    }

    static void describe(opened &o, const kiln_model *m) {
        o.model = m;
        o.inputs = ports(m, kiln_model_input);
        o.outputs = ports(m, kiln_model_output);
    }

    static std::vector<port>
    ports(const kiln_model *m, int (*at)(const kiln_model *, int, kiln_port_info *)) {
        std::vector<port> out;
        kiln_port_info p;
        for (int i = 0; at(m, i, &p) == 0; i++)
            out.push_back({p.name, p.dtype, {p.dim, p.dim + p.rank}, p.bytes});
        return out;
    }

    void take(kiln_model *m, const char *text) {
        if (m == nullptr)
            throw error(text);
        auto o = std::make_shared<opened>();
        o->handle.reset(m);
        describe(*o, m);
        it_ = std::move(o);
    }

    std::size_t find(const std::vector<port> &in, const std::string &name,
                     const char *what) const {
        std::string all;
        for (std::size_t i = 0; i < in.size(); i++) {
            if (in[i].name == name)
                return i;
            all += (i > 0 ? ", " : "") + detail::text_of(in[i].name);
        }
        throw error(detail::text_of(this->name()) + " has no " + what + " " +
                    detail::text_of(name) + "; it has " + (all.empty() ? "none" : all));
    }
};

/* ---- sessions ------------------------------------------------------------------- */

/* Where time went: kiln_session_profile. */
struct step {
    std::string name, op;
    std::uint64_t nanoseconds, runs;
};

class session {
  public:
    explicit session(model m, int threads = 1)
        : whole_(std::move(m)), model_(whole_), handle_(nullptr, kiln_session_close) {
        char text[KILN_ERROR_TEXT] = "";
        kiln_session_options o{};
        o.n_threads = threads;
        handle_.reset(kiln_session_open(model_.get(), &o, text));
        if (handle_ == nullptr)
            throw error(text);
    }

    /* The variant that it is of now. */
    const model &of() const noexcept { return model_; }

    /* From now on inputs have these shapes, in their order: one of the package's. Throws
     * what there is where it is none, and stays as it was. */
    void set_shapes(const std::vector<std::vector<std::int64_t>> &shapes) {
        std::vector<kiln_shape> all(shapes.size());
        for (std::size_t i = 0; i < shapes.size(); i++) {
            if (shapes[i].size() > KILN_PORT_MAX_RANK)
                throw error("a shape of " + std::to_string(shapes[i].size()) +
                            " dimensions");
            all[i].rank = static_cast<int>(shapes[i].size());
            for (std::size_t k = 0; k < shapes[i].size(); k++)
                all[i].dim[k] = shapes[i][k];
        }
        held(kiln_session_set_shapes(get(), all.data(), static_cast<int>(all.size())));
        for (int i = 0; i < whole_.variants(); i++)
            if (kiln_model_variant(whole_.get(), i) == kiln_session_model(get()))
                model_ = whole_.variant(i);
    }

    /* Copies n elements, which must be the whole input. */
    template <class T> void set(std::size_t i, const T *data, std::size_t n) {
        check<T>(at(model_.inputs(), i, "input"), n, "input");
        held(kiln_session_set_input(get(), static_cast<int>(i), data));
    }
    template <class T> void set(const std::string &name, const T *data, std::size_t n) {
        set(model_.input(name), data, n);
    }
    /* Of anything contiguous: std::vector, std::array, view. */
    template <class C> void set(std::size_t i, const C &elements) {
        set(i, elements.data(), elements.size());
    }
    template <class C> void set(const std::string &name, const C &elements) {
        set(model_.input(name), elements);
    }

    /* Uses the caller's memory, 64-byte aligned, instead of copying. */
    template <class T> void bind_input(const std::string &name, view<T> memory) {
        const std::size_t i = model_.input(name);
        check<T>(model_.inputs()[i], memory.size(), "input");
        held(kiln_session_bind_input(get(), static_cast<int>(i), memory.data()));
    }
    template <class T> void bind_output(const std::string &name, view<T> memory) {
        static_assert(!std::is_const_v<T>, "outputs are written");
        const std::size_t i = model_.output(name);
        check<T>(model_.outputs()[i], memory.size(), "output");
        held(kiln_session_bind_output(get(), static_cast<int>(i), memory.data()));
    }
    void unbind_input(const std::string &name) {
        held(kiln_session_bind_input(get(), static_cast<int>(model_.input(name)),
                                     nullptr));
    }
    void unbind_output(const std::string &name) {
        held(kiln_session_bind_output(get(), static_cast<int>(model_.output(name)),
                                      nullptr));
    }

    void run() { held(kiln_session_run(get())); }

    template <class T> view<const T> output(std::size_t i) const {
        const port &p = at(model_.outputs(), i, "output");
        check<T>(p, p.elements(), "output");
        return {static_cast<const T *>(kiln_session_output(get(), static_cast<int>(i))),
                p.elements()};
    }
    template <class T> view<const T> output(const std::string &name) const {
        return output<T>(model_.output(name));
    }

    /* Bytes that the session allocated. */
    std::size_t bytes() const { return kiln_session_bytes(get()); }
    void profile(bool is_on) { kiln_session_profile(get(), is_on ? 1 : 0); }
    std::vector<step> steps() const {
        std::vector<step> out;
        kiln_step_info s;
        for (int i = 0; kiln_session_step(get(), i, &s) == 0; i++)
            out.push_back({s.name, s.op, s.nanoseconds, s.runs});
        return out;
    }
    kiln_session *get() const noexcept { return handle_.get(); }

  private:
    model whole_; /* these outlive the handle: members go in reverse */
    model model_;
    std::unique_ptr<kiln_session, decltype(&kiln_session_close)> handle_;

    void held(int status) const {
        if (status != 0)
            throw error(kiln_session_error(get()));
    }

    static const port &at(const std::vector<port> &in, std::size_t i,
                          const char *what) {
        if (i >= in.size())
            throw error("there is no " + std::string(what) + " " + std::to_string(i) +
                        ": there are " + std::to_string(in.size()));
        return in[i];
    }

    template <class T>
    static void check(const port &p, std::size_t n, const char *what) {
        if (!detail::holds<T>(p.dtype))
            throw error(std::string(what) + " " + detail::text_of(p.name) +
                        " has elements of " + p.dtype + ", another type is given");
        if (n != p.elements())
            throw error(std::string(what) + " " + detail::text_of(p.name) + " has " +
                        std::to_string(p.elements()) + " elements, " +
                        std::to_string(n) + " are given");
    }
};

} // namespace kiln

#endif
