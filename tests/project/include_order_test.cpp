// Modules include only what lies below them: the order of docs/architecture.md, as a table.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace {

namespace fs = std::filesystem;

struct Module {
  std::string name;
  std::vector<std::string> paths;     // prefixes of its files; the longest prefix of all modules decides
  std::vector<std::string> includes;  // modules that it may include, and with them all that those may include
};

const std::vector<Module> kModules{
    {"core", {"core/"}, {}},
    {"data/io", {"data/io/"}, {"core"}},
    {"data/picture", {"data/picture/"}, {"data/io"}},
    {"pictures", {"pictures/"}, {"data/picture"}},
    {"data/format", {"data/format/"}, {"data/io"}},  // the interface that every format implements
    {"data/hdf5", {"data/hdf5/"}, {"data/format"}},
    {"data/text", {"data/text/"}, {"data/format"}},
    {"data/arrays", {"data/arrays/"}, {"data/format"}},
    {"data/arrow", {"data/arrow/"}, {"data/format"}},
    {"data/results", {"data/results/"}, {"data/hdf5", "data/arrow"}},
    {"data", {"data/"}, {"data/results", "data/text", "data/arrays", "data/arrow", "data/picture"}},

    // The operations of a backend are declared beside its folders, which define them.
    {"kernels interface", {"kernels/backends.h"}, {"core"}},
    {"kernels/cpu/instructions", {"kernels/cpu/instructions/"}, {"core"}},
    {"kernels/cpu/runtime", {"kernels/cpu/runtime/"}, {"kernels/cpu/instructions"}},
    {"kernels/cpu/choice", {"kernels/cpu/choice/"}, {"kernels/cpu/runtime"}},
    {"kernels/cpu/operations", {"kernels/cpu/points.h"}, {"kernels/cpu/choice"}},
    {"kernels/cpu/assign", {"kernels/cpu/assign/"}, {"kernels/cpu/operations"}},
    {"kernels/cpu/search", {"kernels/cpu/search/"}, {"kernels/cpu/operations"}},
    {"kernels/cpu/seeding", {"kernels/cpu/seeding/"}, {"kernels/cpu/operations"}},
    {"kernels/cpu/statistics", {"kernels/cpu/statistics/"}, {"kernels/cpu/operations"}},
    {"kernels/cpu/picture", {"kernels/cpu/picture/"}, {"kernels/cpu/runtime"}},
    {"kernels/cpu",
     {"kernels/cpu/"},
     {"kernels interface", "kernels/cpu/picture", "kernels/cpu/assign", "kernels/cpu/search", "kernels/cpu/seeding",
      "kernels/cpu/statistics"}},
    {"kernels/cuda/device", {"kernels/cuda/device/"}, {"core"}},
    // Rows are held with what is known for the choice of a search.
    {"kernels/cuda search choice", {"kernels/cuda/choice/search.h"}, {"core"}},
    {"kernels/cuda/runtime",
     {"kernels/cuda/runtime/"},
     {"kernels/cuda/device", "kernels/cpu/runtime", "kernels/cuda search choice"}},
    {"kernels/cuda/choice", {"kernels/cuda/choice/"}, {"kernels/cuda/runtime"}},
    {"kernels/cuda/screen", {"kernels/cuda/screen/"}, {"kernels/cuda/choice"}},
    {"kernels/cuda/operations", {"kernels/cuda/operations.h"}, {"kernels/cuda/screen"}},
    {"kernels/cuda/assign", {"kernels/cuda/assign/"}, {"kernels/cuda/operations"}},
    {"kernels/cuda/search", {"kernels/cuda/search/"}, {"kernels/cuda/screen"}},
    {"kernels/cuda/seeding", {"kernels/cuda/seeding/"}, {"kernels/cuda/operations"}},
    {"kernels/cuda/statistics", {"kernels/cuda/statistics/"}, {"kernels/cuda/operations"}},
    {"kernels/cuda",
     {"kernels/cuda/"},
     {"kernels interface", "kernels/cuda/assign", "kernels/cuda/search", "kernels/cuda/seeding",
      "kernels/cuda/statistics"}},
    {"kernels", {"kernels/"}, {"kernels/cpu", "kernels/cuda"}},

    // The entry points of the commands are declared beside their folders, which define them.
    {"commands", {"app/commands.h"}, {}},
    {"version", {"app/version.h"}, {}},
    {"app/cli", {"app/cli/"}, {"data", "kernels"}},
    {"app/plan", {"app/plan/"}, {"app/cli"}},
    {"app/run", {"app/run/"}, {"app/plan"}},
    {"app/cluster", {"app/cluster/"}, {"app/run", "commands"}},
    {"app/knn", {"app/knn/"}, {"app/run", "commands"}},
    {"app/evaluate", {"app/evaluate/"}, {"app/knn"}},  // it compares lists of neighbours as knn --truth does
    {"app/report", {"app/report/"}, {"app/evaluate", "pictures"}},
    {"app/synthetic", {"app/synthetic/"}, {"app/cli"}},
    {"app", {"app/"}, {"app/cluster", "app/knn", "app/evaluate", "app/report", "app/synthetic", "version"}},
    {"bench/measurement", {"bench/measurement.h"}, {"core"}},
    {"bench/ladders/cpu", {"bench/ladders/cpu/"}, {"bench/measurement", "kernels/cpu"}},
    {"bench/ladders/cuda", {"bench/ladders/cuda/"}, {"bench/ladders/cpu", "kernels/cuda"}},
    {"bench", {"bench/"}, {"bench/measurement", "app"}},

    {"library", {"library/"}, {"data", "kernels"}},
    {"samples", {"samples/"}, {"data"}},
    {"tests/support", {"tests/support/"}, {"bench"}},
    {"tests", {"tests/"}, {"tests/support"}},
};

const Module* find_module(const std::string& path) {
  const Module* found = nullptr;
  std::size_t longest = 0;
  for (const Module& module : kModules) {
    for (const std::string& prefix : module.paths) {
      if (!path.starts_with(prefix) || prefix.size() < longest) continue;
      found = &module;
      longest = prefix.size();
    }
  }
  return found;
}

/// Names of the modules that each module may include, itself among them. A module's row stands below those that it
/// names, so there is no cycle.
std::map<std::string, std::set<std::string>> closure() {
  std::map<std::string, std::set<std::string>> all;
  for (const Module& module : kModules) {
    std::set<std::string> reached{module.name};
    for (const std::string& name : module.includes) reached.insert(all.at(name).begin(), all.at(name).end());
    all[module.name] = reached;
  }
  return all;
}

/// The paths of lines `#include "path"`.
std::vector<std::string> includes_of(std::istream& text) {
  const std::string directive = "#include \"";
  std::vector<std::string> paths;
  for (std::string line; std::getline(text, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || line.compare(begin, directive.size(), directive) != 0) continue;
    const std::size_t first = begin + directive.size();
    paths.push_back(line.substr(first, line.find('"', first) - first));
  }
  return paths;
}

/// What is wrong with an include, or an empty text.
std::string fault_of(const std::string& file, const std::string& included) {
  static const auto allowed = closure();
  const Module *from = find_module(file), *to = find_module(included);
  if (from == nullptr || to == nullptr) return file + " includes " + included + ", which is in no module of the table";
  if (allowed.at(from->name).contains(to->name)) return "";
  return file + " includes " + included + ": " + from->name + " may not include " + to->name;
}

}  // namespace

TEST_CASE("every include is of a module below, or of the same") {
  const fs::path root = KITH_SOURCE_DIR;
  const std::set<std::string> endings{".h", ".cpp", ".cu", ".cuh", ".inc"};
  std::vector<std::string> faults;
  int files = 0;
  for (const char* top : {"app", "bench", "core", "data", "kernels", "library", "pictures", "samples", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || !endings.contains(entry.path().extension().string())) continue;
      const std::string file = fs::relative(entry.path(), root).generic_string();
      ++files;
      std::ifstream text(entry.path());
      for (const std::string& included : includes_of(text)) {
        if (const std::string fault = fault_of(file, included); !fault.empty()) faults.push_back(fault);
      }
    }
  }
  CHECK(files > 400);
  std::sort(faults.begin(), faults.end());
  for (const std::string& fault : faults) FAIL_CHECK(fault);
}

TEST_CASE("an include upwards, sideways or of an unknown folder is a fault") {
  CHECK(fault_of("app/run/job.cpp", "app/cli/terminal.h").empty());
  CHECK(fault_of("app/info.cpp", "app/knn/knn.h").empty());
  CHECK(fault_of("kernels/cuda/assign/a.cu", "core/points/matrix.h").empty());
  CHECK(fault_of("core/kmeans/kmeans.cpp", "app/run/report.h") ==
        "core/kmeans/kmeans.cpp includes app/run/report.h: core may not include app/run");
  CHECK(!fault_of("app/run/job.cpp", "app/cluster/explain.h").empty());
  CHECK(!fault_of("app/knn/knn.cpp", "app/cluster/explain.h").empty());
  CHECK(fault_of("app/evaluate/list_evaluation.cpp", "app/knn/truth.h").empty());
  CHECK(!fault_of("app/knn/knn.cpp", "app/evaluate/list_evaluation.h").empty());
  CHECK(!fault_of("kernels/cpu/assign/a.cpp", "kernels/cuda/operations.h").empty());
  CHECK(!fault_of("tests/core/a.cpp", "extras/a.h").empty());
}
