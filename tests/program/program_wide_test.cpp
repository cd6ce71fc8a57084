// Few points with very many columns: memory in proportion to the columns keeps --memory, and the plan knows it.
#include <fmt/format.h>

#include <fstream>

#include "tests/support/program.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

constexpr std::int64_t kMegabyte = 1'000'000;
const Words kMachine{"--backend", "cpu", "--threads", "2", "-q", "--json"};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Values from 0 to 8, as float64 in a NumPy file.
void write_wide(const std::string& file, std::int64_t rows, std::int64_t columns) {
  std::string head = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  head.resize(117, ' ');
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  std::uint32_t seed = 1;
  for (double& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<double>(seed >> 8) * 0x1p-21;
  }
  std::ofstream out(file, std::ios::binary);
  out << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << head << '\n';
  out.write(reinterpret_cast<const char*>(values.data()), std::ssize(values) * 8);
}

/// What the program itself takes.
std::int64_t program_bytes() {
  static const std::int64_t bytes =
      done(Words{"cluster", kDigits, "-k", "2", "--max-iterations", "1"} + kMachine).peak_bytes;
  return bytes;
}

/// The command runs within each of these limits, but for a tenth and 8 MB, or refuses it; the last one suffices.
void keeps_memory(const Words& command, const Words& limits) {
  for (const std::string& limit : limits) {
    const Outcome outcome = run_kith(command + kMachine + Words{"--memory", limit + "MB"});
    INFO(nlohmann::json(command).dump() << " --memory " << limit << "MB: " << outcome.code << ", peak "
                                        << outcome.peak_bytes << ", the program " << program_bytes() << "\n"
                                        << outcome.err);
    CHECK((outcome.code == 6 || outcome.code == 0));
    if (outcome.code == 6) CHECK(outcome.says("--memory"));
    if (limit == limits.back()) CHECK(outcome.code == 0);
    if (!is_sanitized())
      CHECK(outcome.peak_bytes - program_bytes() < std::stol(limit) * kMegabyte * 11 / 10 + 8 * kMegabyte);
  }
}

/// The run takes no more than its plan, but for a fifth, and --memory of the plan suffices.
void keeps_plan(const Words& command) {
  const std::int64_t planned = done(Words{"plan"} + command + kMachine).json()["plan"]["memory"]["host"];
  const Outcome outcome = run_kith(command + kMachine + Words{"--memory", std::to_string(planned)});
  INFO(nlohmann::json(command).dump() << ": planned " << planned << ", peak " << outcome.peak_bytes << "\n"
                                      << outcome.err);
  CHECK(outcome.code == 0);
  if (!is_sanitized()) CHECK(outcome.peak_bytes < planned * 12 / 10);
}

}  // namespace

TEST_CASE("few points of very many columns keep --memory and the plan") {
  const Scratch folder;
  const std::string few = folder / "few.npy", more = folder / "more.npy", many = folder / "many.npy";
  write_wide(few, 3, 150'000);    // 12 MB
  write_wide(more, 10, 200'000);  // 16 MB
  write_wide(many, 150, 20'000);  // 24 MB: rows that fill panels
  const std::string centroids = folder / "c.h5", labels = folder / "l.csv";
  done(Words{"cluster", few, "-k", "2", "-o", centroids} + kMachine);
  write_bytes(labels, "label\n0\n1\n1\n");
  for (const Words& command : {Words{"cluster", few, "-k", "2"},
                               {"cluster", few, "-k", "2", "--init", "random"},
                               {"cluster", more, "-k", "4"},
                               {"cluster", few, "-k", "2", "--scale", "zscore"},
                               {"cluster", many, "-k", "20"},
                               {"knn", few, "-k", "2"},
                               {"knn", more, "-k", "2"},
                               {"knn", more, "-k", "2", "--metric", "manhattan"},
                               {"assign", few, "--centroids", centroids},
                               {"evaluate", labels, "--points", few},
                               {"distances", few, few}}) {
    keeps_plan(command);
    keeps_memory(command, {"8", "30", "120"});
  }
}

TEST_CASE("small files that claim very many columns keep --memory") {
  const Scratch folder;
  const std::string svm = folder / "x.svm", market = folder / "x.mtx";
  write_bytes(svm, "1 200000:1\n2 5:1 200000:1\n1 200000:2\n");
  write_bytes(market, "%%MatrixMarket matrix coordinate real general\n3 200000 3\n1 7 1\n2 7 2\n3 200000 9\n");
  for (const std::string& file : {svm, market}) {
    keeps_memory({"cluster", file, "-k", "2"}, {"8", "80"});
    keeps_plan({"cluster", file, "-k", "2"});
  }
  write_bytes(svm, "1 100000000:1\n1 100000000:1\n1 100000000:1\n");
  refuses(6, {"cluster", svm, "-k", "2", "--memory", "950MB"},
          {"x.svm: the sparse matrix of 3 x 100000000", "larger --memory"});
}

// Whole numbers, so that columns of zeros change no distance.
TEST_CASE("few long rows, which are compared without screens, have the labels and lists of shorter ones") {
  const Scratch folder;
  for (const auto& [name, zeros] : {std::pair("short.csv", 0), {"long.csv", 1000}}) {
    std::string text;
    std::uint32_t seed = 1;
    for (int i = 0; i < 40; ++i) {
      for (int j = 0; j < 8000; ++j) {
        seed = seed * 1664525U + 1013904223U;
        text += std::to_string((seed >> 24) + static_cast<unsigned>(i % 5 * 40)) + ",";
      }
      for (int j = 0; j < zeros; ++j) text += "0,";
      text.back() = '\n';
    }
    write_bytes(folder / name, text);
  }
  for (const Words& command : {Words{"cluster", "-k", "5"},
                               {"cluster", "-k", "7", "--init", "random"},
                               {"knn", "-k", "39"},
                               {"knn", "-k", "3", "--metric", "inner-product"},
                               {"knn", "--radius", "9400"}}) {
    Words written;
    for (const std::string name : {"short", "long"}) {
      Words words{command.front(), folder / (name + ".csv")};
      words.insert(words.end(), command.begin() + 1, command.end());
      done(words + kMachine + Words{"-o", folder / (name + ".out.csv"), "-f"});
      written.push_back(bytes_of(folder / (name + ".out.csv")));
    }
    INFO(nlohmann::json(command).dump());
    CHECK(written[0].size() > 80);
    CHECK(written[0] == written[1]);
  }
}
