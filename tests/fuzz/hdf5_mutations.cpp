// Mutates small HDF5 files where their structures are, and runs kith with each: hdf5_mutations KITH COUNT [SEED
// [FOLDER [WORD]]], with WORD only commands that contain it. Checksums of changed structures are made right again, so
// that the library goes on to what is inside. Every run must end within 10 s of processor time with an exit code of the
// table, no signal, no internal error, and within --memory. Failures stay in FOLDER with their command; the exit code
// is 1 if there is one. With a sanitizer every report is a failure, unless it is about the HDF5 library, and the limit
// of memory is not checked: a sanitizer needs several times as much.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/fuzz/hdf5_seeds.h"
#include "tests/fuzz/sanitizer_reports.h"

/// Jenkins' lookup3 in the HDF5 library, the checksum of its structures.
extern "C" std::uint32_t H5_checksum_lookup3(const void* data, std::size_t size, std::uint32_t start);

namespace {

namespace fs = std::filesystem;
using Bytes = std::string;

/// Bytes begin .. end - 1 are followed by their checksum.
struct Checked {
  std::size_t begin, end;
};

std::uint32_t stored_at(const Bytes& bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The places of structures that begin with a signature, and those of them with a checksum.
struct Anatomy {
  std::vector<std::size_t> structures;
  std::vector<Checked> checked;
};

Anatomy anatomy_of(const Bytes& bytes) {
  Anatomy anatomy;
  for (const char* signature :
       {"\x89HDF", "OHDR", "OCHK", "TREE", "SNOD", "HEAP", "GCOL", "BTHD", "BTLF", "BTIN", "FRHP",   "FHDB",    "FHIB",
        "FSHD",    "FSSE", "EAHD", "EAIB", "EASB", "EADB", "FAHD", "FADB", "SMTB", "SMLI", "MATLAB", "encoding"}) {
    for (std::size_t at = bytes.find(signature); at != bytes.npos; at = bytes.find(signature, at + 1)) {
      anatomy.structures.push_back(at);
      for (std::size_t size = 12; size < 4096 && at + size + 4 <= bytes.size(); ++size) {
        if (H5_checksum_lookup3(bytes.data() + at, size, 0) != stored_at(bytes, at + size)) continue;
        anatomy.checked.push_back({at, at + size});
        break;
      }
    }
  }
  return anatomy;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  Bytes mutate(Bytes bytes, const Anatomy& anatomy) {
    const std::size_t changes = 1 + below(3);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < changes; ++i) {
      places.push_back(place_in(bytes, anatomy));
      change(bytes, places.back());
    }
    if (below(10) == 0) return bytes;
    for (const Checked& block : anatomy.checked) {
      for (const std::size_t place : places) {
        if (place + 8 <= block.begin || place >= block.end || block.end + 4 > bytes.size()) continue;
        const std::uint32_t sum = H5_checksum_lookup3(bytes.data() + block.begin, block.end - block.begin, 0);
        std::memcpy(bytes.data() + block.end, &sum, sizeof sum);
      }
    }
    return bytes;
  }

 private:
  /// Mostly within a structure.
  std::size_t place_in(const Bytes& bytes, const Anatomy& anatomy) {
    if (below(8) == 0) return below(bytes.size());
    const std::size_t structure = anatomy.structures[below(anatomy.structures.size())];
    return std::min(bytes.size() - 1, structure + below(below(2) == 0 ? 64 : 400));
  }

  void change(Bytes& bytes, std::size_t at) {
    const auto put = [&](std::uint64_t value, std::size_t size) {
      for (std::size_t i = 0; i < size && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<char>(value >> 8 * i);
    };
    constexpr std::uint64_t kSizes[] = {0, 1, 2, 4, 8};
    const std::size_t size = kSizes[1 + below(4)];
    switch (below(8)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
        break;
      case 1:
        put(random_(), size);
        break;
      case 2:
        put(~std::uint64_t{0} - below(3), size);
        break;
      case 3:
        put(below(4), size);
        break;
      case 4:
        put(below(bytes.size()), size);
        break;
      case 5:
        put(std::uint64_t{1} << below(64), size);
        break;
      case 6:  // another part of the file
        for (std::size_t i = 0, from = below(bytes.size()), count = 1 + below(32); i < count; ++i) {
          if (at + i < bytes.size() && from + i < bytes.size()) bytes[at + i] = bytes[from + i];
        }
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] + static_cast<int>(below(5)) - 2);
    }
  }

  std::mt19937_64 random_;
};

struct Ending {
  int code = 0;        // exit code, 128 + signal, or -1 for a run that was too long
  double seconds = 0;  // of processors, so that a busy machine does not count
  long kilobytes = 0;
  std::string message;
};

constexpr double kMostSeconds = 10, kMostWaiting = 100;
constexpr long kMemory = 200'000'000;
constexpr long kProgramBytes = 60'000'000;  // of kith itself, which --memory does not count

std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Ending run(const std::string& kith, const std::vector<std::string>& words, const fs::path& folder) {
  const fs::path messages = folder / "messages";
  const auto begin = std::chrono::steady_clock::now();
  const pid_t process = fork();
  if (process == 0) {
    const int null = open("/dev/null", O_RDWR), error = open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::vector<char*> arguments{const_cast<char*>(kith.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(kith.c_str(), arguments.data());
    _exit(127);
  }
  Ending ending;
  rusage usage{};
  int status = 0;
  while (wait4(process, &status, WNOHANG, &usage) == 0) {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    if (waited.count() > kMostWaiting && ending.code == 0) {
      ending.code = -1;
      kill(process, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  for (const timeval& time : {usage.ru_utime, usage.ru_stime})  // with those of its child processes
    ending.seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  ending.kilobytes = usage.ru_maxrss;
  if (ending.code == 0) ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ending.message = read_file(messages);
  return ending;
}

std::string problem_of(const Ending& ending) {
  if (ending.code == -1 || ending.seconds > kMostSeconds) return "hangs";
  if (ending.code >= 128) return fmt::format("ended by signal {}", ending.code - 128);
  if (ending.code == 1 || ending.code == 127 || ending.message.find("internal error: ") != std::string::npos)
    return "internal error";
  if (ending.code > 6) return fmt::format("exit code {}", ending.code);
  if (!kith::testing::kSanitized && ending.kilobytes * 1024 > kMemory + kProgramBytes)
    return fmt::format("took {} kB", ending.kilobytes);
  return "";
}

/// A result of kith, and the commands that read results.
kith::testing::Hdf5Seed make_result(const std::string& kith, const fs::path& folder) {
  const std::string points = (folder / "layouts_old.h5").string() + ":contiguous", name = "result.h5";
  run(kith, {"cluster", points, "-k", "2", "-q", "-f", "-o", (folder / name).string()}, folder);
  return {name,
          {{"info", "{}", "--verify"},
           {"cluster", points, "-k", "2", "--init", "{}"},
           {"assign", points, "--centroids", "{}", "-o", "{out}"},
           {"report", "{}", "--points", points}}};
}

/// All seeds, or those with commands that contain the word.
std::vector<kith::testing::Hdf5Seed> chosen_seeds(const std::string& kith, const std::string& folder,
                                                  const std::string& word) {
  auto seeds = kith::testing::make_hdf5_seeds(folder);
  seeds.push_back(make_result(kith, folder));
  if (word.empty()) return seeds;
  for (auto& seed : seeds) {
    std::erase_if(seed.commands, [&](const auto& command) {
      return std::find(command.begin(), command.end(), word) == command.end();
    });
  }
  std::erase_if(seeds, [](const auto& seed) { return seed.commands.empty(); });
  return seeds;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: hdf5_mutations KITH COUNT [SEED [FOLDER [WORD]]]\n");
    return 2;
  }
  const std::string kith = words[1];
  const int runs = std::stoi(words[2]);
  const std::uint64_t first_seed = count > 3 ? std::stoull(words[3]) : 1;
  const fs::path folder =
      count > 4 ? fs::path(words[4]) : fs::temp_directory_path() / fmt::format("kith-mutations-{}", getpid());
  fs::create_directories(folder);
  if (kith::testing::kSanitized) kith::testing::keep_sanitizer_reports(folder);
  const auto seeds = chosen_seeds(kith, folder.string(), count > 5 ? words[5] : "");
  if (seeds.empty()) {
    std::fprintf(stderr, "hdf5_mutations: no command contains the word '%s'\n", words[5]);
    return 2;
  }
  std::vector<Bytes> files;
  std::vector<Anatomy> anatomies;
  for (const auto& seed : seeds) {
    files.push_back(read_file(folder / seed.name));
    anatomies.push_back(anatomy_of(files.back()));
  }
  std::map<int, int> codes;
  int failures = 0, deaths = 0, library_reports = 0;
  double longest = 0;
  long largest = 0;
  for (int i = 0; i < runs; ++i) {
    Mutator mutator(first_seed * 1'000'000'007 + static_cast<std::uint64_t>(i));
    const std::size_t seed = mutator.below(seeds.size());
    const auto& choices = seeds[seed].commands;
    std::vector<std::string> command = choices[mutator.below(choices.size())];
    const fs::path mutated = folder / "mutated.h5", output = folder / "output.h5";
    std::ofstream(mutated, std::ios::binary) << mutator.mutate(files[seed], anatomies[seed]);
    fs::remove(output);
    for (std::string& word : command) {
      if (word == "{out}") word = output.string();
      if (word.starts_with("{}")) word = mutated.string() + word.substr(2);
    }
    command.insert(command.end(), {"--memory", std::to_string(kMemory)});
    if (command[0] != "info" && command[0] != "report")
      command.insert(command.end(), {"--threads", "1", "--backend", "cpu"});
    const Ending ending = run(kith, command, folder);
    ++codes[ending.code];
    deaths += ending.message.find("the HDF5 library ") != std::string::npos ? 1 : 0;
    longest = std::max(longest, ending.seconds);
    largest = std::max(largest, ending.kilobytes);
    std::string problem = problem_of(ending);
    if (problem.empty() && ending.code != 0 && fs::exists(output)) problem = "failed, but left an output";
    const auto reports = kith::testing::take_sanitizer_reports(folder);
    library_reports += reports.of_hdf5;
    if (!reports.of_kith.empty()) problem += " sanitizer: " + reports.of_kith;
    if (problem.empty()) continue;
    ++failures;
    const fs::path kept = folder / fmt::format("failure-{}-{}.h5", first_seed, i);
    fs::copy_file(mutated, kept, fs::copy_options::overwrite_existing);
    fmt::print("{}: {}: {}\n  {}\n", kept.string(), problem, fmt::join(command, " "), ending.message);
    std::fflush(stdout);
  }
  fmt::print("{} mutations of {} files, seed {}: {} failures; the library died in {}; longest {:.2f} s, largest {} kB;",
             runs, seeds.size(), first_seed, failures, deaths, longest, largest);
  for (const auto& [code, times] : codes) fmt::print(" code {}: {}", code, times);
  if (kith::testing::kSanitized) fmt::print("; {} reports of sanitizers about the HDF5 library", library_reports);
  fmt::print("\n");
  return failures > 0 ? 1 : 0;
}
