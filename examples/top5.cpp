// The five largest of a network's first output: top5 FOLDER INPUT.f32
#include <kiln/kiln.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>

int main(int argc, char **argv) try {
    if (argc != 3)
        throw kiln::error("usage: top5 FOLDER INPUT.f32");
    kiln::session session(kiln::model{argv[1]});
    std::vector<float> data(session.of().inputs().at(0).elements());
    const auto bytes = static_cast<std::streamsize>(data.size() * sizeof(float));
    std::ifstream file(argv[2], std::ios::binary);
    if (!file.read(reinterpret_cast<char *>(data.data()), bytes) || file.get() != EOF)
        throw kiln::error(std::string("'") + argv[2] + "' must have " + std::to_string(bytes) + " bytes");
    session.set(0, data);
    session.run();
    const auto score = session.output<float>(0);
    std::vector<std::size_t> order(score.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
    for (std::size_t i = 0; i < order.size() && i < 5; i++)
        std::printf("%zu %.5f\n", order[i], static_cast<double>(score[order[i]]));
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
