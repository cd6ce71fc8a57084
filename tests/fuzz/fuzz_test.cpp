// Every fuzz target with its seeds and a fixed sequence of mutations of them, for builds without libFuzzer.
// Variables of the environment choose target, number and seed of the mutations (tests/fuzz/README.md).
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"
#include "tests/support/catch.h"
#include "tests/support/skipped.h"

namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

long peak_kilobytes() {
  rusage usage{};
  REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
  return usage.ru_maxrss;
}

/// The quoted words of a dictionary of libFuzzer, with \xNN and \\.
std::vector<std::string> words_of(const fs::path& dictionary) {
  std::vector<std::string> words;
  std::ifstream stream(dictionary);
  for (std::string line; std::getline(stream, line);) {
    const auto first = line.find('"'), last = line.rfind('"');
    if (line.starts_with('#') || first == last) continue;
    std::string word;
    for (std::size_t i = first + 1; i < last; ++i) {
      const bool is_byte = line[i] == '\\' && line[i + 1] == 'x';
      if (line[i] == '\\' && !is_byte) ++i;
      word += is_byte ? static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16)) : line[i];
      if (is_byte) i += 3;
    }
    words.push_back(word);
  }
  return words;
}

/// One change: a byte, a number, a word, a part that is removed, repeated, or taken from another seed.
void mutate(std::string& bytes, const std::vector<std::string>& seeds, const std::vector<std::string>& words,
            std::mt19937& random) {
  constexpr char kBytes[] = {'\0', '\1', '\x7f', '\xff', '\x80', '\n', '"', ',', '#', ' ', '-', '9'};
  const auto below = [&random](std::size_t end) { return end == 0 ? 0 : random() % end; };
  const std::size_t at = below(bytes.size() + 1), count = below(std::min<std::size_t>(bytes.size() - at, 16) + 1);
  switch (below(7)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(random());
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = kBytes[below(std::size(kBytes))];
      break;
    case 2:
      bytes.erase(at, count);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, count));
      break;
    case 4:
      if (!words.empty()) bytes.insert(at, words[below(words.size())]);
      break;
    case 5: {
      const std::string& other = seeds[below(seeds.size())];
      bytes = bytes.substr(0, at) + other.substr(std::min(at, other.size()));
      break;
    }
    default:
      for (std::size_t i = at; i < std::min(at + 4, bytes.size()); ++i) bytes[i] = kBytes[below(5)];
  }
}

}  // namespace

TEST_CASE("no input of a reader ends in anything but a result or a refusal") {
  kith::fuzz::prepare();
  const int mutations = std::stoi(environment("KITH_MUTATIONS", "1500"));
  const std::string chosen = environment("KITH_FUZZ_TARGET", ""), kept = environment("KITH_FUZZ_INPUT", "");
  const auto first_seed = static_cast<std::mt19937::result_type>(std::stoul(environment("KITH_FUZZ_SEED", "1")));
  constexpr std::size_t kMaxBytes = 4096;
  constexpr unsigned kMostSeconds = 10;  // for one input; then SIGALRM ends the test
  const fs::path folder = environment("KITH_FUZZ_FOLDER", KITH_SOURCE_DIR "/tests/fuzz");
  int targets = 0;
  for (const kith::fuzz::Target& target : kith::fuzz::targets()) {
    if (!chosen.empty() && chosen != target.name) continue;
    ++targets;
    INFO(target.name);
    std::vector<std::string> seeds;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder / "seeds" / target.name)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) seeds.push_back(bytes_of(file));
    REQUIRE(!seeds.empty());
    const std::vector<std::string> words = words_of(folder / (std::string(target.name) + ".dict"));
    REQUIRE(!words.empty());
    for (const std::string& seed : seeds) target.run(seed);
    std::mt19937 random(first_seed);
    std::chrono::duration<double> slowest{};
    for (int i = 0; i < mutations; ++i) {
      std::string bytes = seeds[random() % seeds.size()];
      for (unsigned changes = 1 + random() % 4; changes > 0; --changes) mutate(bytes, seeds, words, random);
      bytes.resize(std::min(bytes.size(), kMaxBytes));
      INFO("mutation " << i);
      if (!kept.empty()) std::ofstream(kept, std::ios::binary) << bytes;
      const auto begin = std::chrono::steady_clock::now();
      alarm(kMostSeconds);
      CHECK_NOTHROW(target.run(bytes));
      alarm(0);
      slowest = std::max<std::chrono::duration<double>>(slowest, std::chrono::steady_clock::now() - begin);
    }
    fmt::print("{}: {} mutations, seed {}; longest {:.2f} s, largest {} kB\n", target.name, mutations, first_seed,
               slowest.count(), peak_kilobytes());
  }
  REQUIRE(targets > 0);
  if (!kith::testing::is_sanitized()) CHECK(peak_kilobytes() * 1024 < 2 * kith::fuzz::kMemory);
}
