/* kiln-armnn-aarch64: a TensorFlow Lite file by Arm NN on Arm's processors (its backend CpuAcc, which
 * is the Arm Compute Library's NEON), C++ as that library has no other interface. For AArch64: on
 * another machine an emulator runs it, and its outputs alone count.
 *
 *     kiln-armnn-aarch64 --version                  prints the library's version
 *     kiln-armnn-aarch64 MODEL THREADS [--in NAME FILE]... [--out NAME FILE]...
 *
 * FILEs are .npy. Requests are lines of JSON, as kiln-bridge has them (bridge.py): "load", for which
 * all was said, and "run" with "runs". What Arm NN cannot run on CpuAcc, its reference backend may:
 * then the answer's "implementation" says so. */
#include <arm_compute/runtime/Scheduler.h>
#include <armnn/ArmNN.hpp>
#include <armnn/Version.hpp>
#include <armnnTfLiteParser/ITfLiteParser.hpp>

#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Place {
    std::string name, file;
};

struct Job {
    std::string model;
    unsigned threads = 1;
    std::vector<Place> in, out;
};

/* ---- .npy ------------------------------------------------------------------------ */

std::vector<char> read_file(const std::string &path) {
    std::ifstream f(path, std::ios::binary);
    if (!f)
        throw std::runtime_error("'" + path + "' cannot be read");
    return {std::istreambuf_iterator<char>(f), std::istreambuf_iterator<char>()};
}

/* The elements alone, which must be so many bytes. */
std::vector<char> read_npy(const Place &p, size_t bytes) {
    const std::vector<char> f = read_file(p.file);
    if (f.size() < 10 || std::memcmp(f.data(), "\x93NUMPY\x01", 7) != 0)
        throw std::runtime_error("'" + p.file + "' is no .npy file of version 1");
    const size_t head = 10 + (unsigned char)f[8] + 256 * (size_t)(unsigned char)f[9];
    if (f.size() < head || f.size() - head != bytes)
        throw std::runtime_error("input '" + p.name + "' has another size than Arm NN's");
    return {f.begin() + (std::ptrdiff_t)head, f.end()};
}

const char *dtype_of(armnn::DataType t) {
    switch (t) {
    case armnn::DataType::Float32:
        return "<f4";
    case armnn::DataType::QAsymmU8:
        return "|u1";
    case armnn::DataType::QAsymmS8:
    case armnn::DataType::QSymmS8:
        return "|i1";
    case armnn::DataType::Signed32:
        return "<i4";
    case armnn::DataType::Boolean:
        return "|b1";
    default:
        throw std::runtime_error("an output has a type that is not read");
    }
}

void write_npy(const Place &p, const armnn::TensorInfo &info, const std::vector<char> &data) {
    std::string head = std::string("{'descr': '") + dtype_of(info.GetDataType()) +
                       "', 'fortran_order': False, 'shape': (";
    const unsigned rank = info.GetNumDimensions();
    for (unsigned i = 0; i < rank; i++)
        head += (i > 0 ? ", " : "") + std::to_string(info.GetShape()[i]);
    head += rank == 1 ? ",), }" : "), }";
    while ((10 + head.size() + 1) % 64 != 0)
        head += ' ';
    head += '\n';
    std::ofstream f(p.file, std::ios::binary);
    f.write("\x93NUMPY\x01\x00", 8);
    f.put((char)(head.size() & 255)).put((char)(head.size() >> 8));
    f << head;
    f.write(data.data(), (std::streamsize)data.size());
    if (!f.flush())
        throw std::runtime_error("'" + p.file + "' cannot be written");
}

/* ---- the network ----------------------------------------------------------------- */

class Network {
  public:
    explicit Network(const Job &job) : job_(job), runtime_(make_runtime()) {
        const auto parser = armnnTfLiteParser::ITfLiteParser::Create();
        const armnn::INetworkPtr net = parser->CreateNetworkFromBinaryFile(job.model.c_str());
        if (!net)
            throw std::runtime_error("Arm NN does not read the file");
        optimise(*net);
        bind(*parser, job.in, parser->GetSubgraphInputTensorNames(0), true);
        bind(*parser, job.out, parser->GetSubgraphOutputTensorNames(0), false);
    }

    void run() {
        if (runtime_->EnqueueWorkload(id_, in_, out_) != armnn::Status::Success)
            throw std::runtime_error("Arm NN failed to run the network");
    }

    void write() const {
        for (size_t i = 0; i < job_.out.size(); i++)
            write_npy(job_.out[i], out_[i].second.GetInfo(), out_data_[i]);
    }

    const char *implementation() const { return chosen_; }

  private:
    static armnn::IRuntimePtr make_runtime() {
        armnn::IRuntime::CreationOptions o;
        o.m_DynamicBackendsPath = KILN_ARMNN_BACKENDS;
        return armnn::IRuntime::Create(o);
    }

    /* By the backend that is compared with; with the slow one behind it where that refuses. */
    void optimise(const armnn::INetwork &net) {
        std::vector<std::string> said;
        const armnn::OptimizerOptions o;
        arm_compute::Scheduler::get().set_num_threads(job_.threads); /* of all networks */
        for (int more = 0; more < 2; more++) {
            std::vector<armnn::BackendId> on = {armnn::Compute::CpuAcc};
            if (more == 1)
                on.push_back(armnn::Compute::CpuRef);
            said.clear();
            try {
                armnn::IOptimizedNetworkPtr made = armnn::Optimize(
                    net, on, runtime_->GetDeviceSpec(), o,
                    armnn::Optional<std::vector<std::string> &>(said));
                std::string why;
                if (made && runtime_->LoadNetwork(id_, std::move(made), why) == armnn::Status::Success) {
                    chosen_ = more == 0 ? "CpuAcc" : "CpuAcc, and CpuRef for what that has not";
                    return;
                }
                said.push_back(why);
            } catch (const armnn::Exception &e) {
                said.push_back(e.what());
            }
        }
        throw std::runtime_error(said.empty() ? "Arm NN cannot run the network" : said.back());
    }

    /* By their names, else by their order. */
    void bind(armnnTfLiteParser::ITfLiteParser &parser, const std::vector<Place> &asked,
              const std::vector<std::string> &own, bool is_in) {
        if (is_in && asked.size() != own.size())
            throw std::runtime_error("Arm NN's network has " + std::to_string(own.size()) +
                                     " inputs, " + std::to_string(asked.size()) + " are given");
        auto &data = is_in ? in_data_ : out_data_;
        data.resize(asked.size());
        for (size_t i = 0; i < asked.size(); i++) {
            std::string name = asked[i].name;
            bool is_known = false;
            for (const auto &n : own)
                is_known = is_known || n == name;
            if (!is_known && asked.size() == own.size())
                name = own[i];
            const auto at = is_in ? parser.GetNetworkInputBindingInfo(0, name)
                                  : parser.GetNetworkOutputBindingInfo(0, name);
            if (is_in) {
                data[i] = read_npy(asked[i], at.second.GetNumBytes());
                in_.push_back({at.first, armnn::ConstTensor(at.second, data[i].data())});
            } else {
                data[i].resize(at.second.GetNumBytes());
                out_.push_back({at.first, armnn::Tensor(at.second, data[i].data())});
            }
        }
    }

    Job job_;
    armnn::IRuntimePtr runtime_;
    armnn::NetworkId id_ = 0;
    armnn::InputTensors in_;
    armnn::OutputTensors out_;
    std::vector<std::vector<char>> in_data_, out_data_;
    const char *chosen_ = "";
};

/* ---- requests -------------------------------------------------------------------- */

long long now_ns(clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

long preempted() {
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_nivcsw;
}

/* What a string of JSON cannot hold becomes a blank. */
std::string printable(std::string text) {
    for (char &c : text)
        if ((unsigned char)c < ' ' || (unsigned char)c > '~' || c == '"' || c == '\\')
            c = ' ';
    return text;
}

std::string answer(const Job &job, Network *&net, const std::string &line) {
    const char *runs = std::strstr(line.c_str(), "\"runs\":");
    if (runs == nullptr) {
        net = new Network(job);
        net->run();
        net->write();
        return std::string("{\"implementation\": \"") + net->implementation() + "\"}";
    }
    if (net == nullptr)
        throw std::runtime_error("nothing was loaded");
    const long long n = std::strtoll(runs + 7, nullptr, 10);
    net->run();
    const long before = preempted();
    const long long wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (long long i = 0; i < n; i++)
        net->run();
    return "{\"wall_ns\": " + std::to_string(now_ns(CLOCK_MONOTONIC) - wall) +
           ", \"cpu_ns\": " + std::to_string(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) +
           ", \"preempted\": " + std::to_string(preempted() - before) + "}";
}

int serve(const Job &job) {
    Network *net = nullptr; /* ends with the process */
    for (std::string line; std::getline(std::cin, line);) {
        std::string said;
        try {
            said = answer(job, net, line);
        } catch (const std::exception &e) {
            said = "{\"problem\": \"" + printable(e.what()) + "\"}";
        }
        std::printf("%s\n", said.c_str());
        std::fflush(stdout);
    }
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    Job job;
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::printf("%d.%d\n", ARMNN_MAJOR_VERSION, ARMNN_MINOR_VERSION);
        return 0;
    }
    bool is_good = argc >= 3 && (argc - 3) % 3 == 0;
    for (int i = 3; is_good && i < argc; i += 3) {
        const bool is_in = std::strcmp(argv[i], "--in") == 0;
        is_good = is_in || std::strcmp(argv[i], "--out") == 0;
        (is_in ? job.in : job.out).push_back({argv[i + 1], argv[i + 2]});
    }
    if (!is_good) {
        std::fprintf(stderr, "usage: kiln-armnn-aarch64 --version | MODEL THREADS [--in NAME FILE]... "
                             "[--out NAME FILE]...\n");
        return 2;
    }
    job.model = argv[1];
    job.threads = (unsigned)std::strtoul(argv[2], nullptr, 10);
    return serve(job);
}
