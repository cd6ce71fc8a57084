// The table of commands, and how the first word of the command line chooses one.
#include "app/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/run/processes.h"
#include "app/version.h"
#include "core/error.h"
#include "data/hdf5/hdf5_child.h"

namespace kith::app {
namespace {

constexpr Command kCommands[] = {
    {"cluster", "k-means: labels, centroids, counts and inertia", run_cluster},
    {"sweep", "k-means for many numbers of clusters, and which number fits best", run_sweep},
    {"dbscan", "clusters of any shape by density, and noise", run_dbscan},
    {"assign", "the nearest given centroid of every point", run_assign},
    {"knn", "the exact k nearest neighbours of every query", run_knn},
    {"distances", "the matrix of all distances", run_distances},
    {"evaluate", "how well labels agree with known classes and fit the points", run_evaluate},
    {"report", "a page with pictures of a result", run_report},
    {"image", "fewer colours in a picture, regions and edges", run_image},
    {"info", "what is in a file: datasets, shapes, types, statistics", run_info},
    {"table", "a table of results: one row each, as CSV", run_table},
    {"devices", "the processors and GPUs that kith can use here; what is missing, and why", run_devices},
    {"generate", "synthetic points: noise, blobs, outliers and other kinds", run_generate},
    {"plan", "memory, passes and time of a command, before it runs", run_plan},
    {"resume", "continues an interrupted run from its checkpoint", run_resume},
    {"man", "the manual page of a command, or of kith", run_man},
    {"completion", "completion scripts for bash, zsh and fish", run_completion},
    {"bench", "the limits of this machine, and how close kith comes to them", run_bench},
};
constexpr std::string_view kDivided[] = {"cluster", "sweep", "assign", "knn"};
static_assert(std::ranges::equal(kCommands, kCommandNames, {},
                                 [](const Command& c) { return std::string_view(c.name); }));

/// kith without a word: what it is for, two commands to begin with, and where to read on. It fits 60 columns.
constexpr const char* kFirstLines =
    "kith: clusters and exact nearest neighbours of a file's rows\n"
    "  kith cluster points.csv -k 5 -o labels.csv\n"
    "  kith knn points.csv -k 10 -o nearest.csv\n"
    "  kith info points.csv; kith --help lists all commands\n";

std::string short_help(HelpForm form) {
  HelpPage page{
      "kith: exact k-means and nearest neighbours, from files to files. Results are the same bytes on every "
      "processor and GPU, with any number of threads.",
      {"kith cluster points.h5:/train -k 50 -o clusters.h5",
       "kith cluster customers.csv -k 3 --prepare auto -o clusters.h5",
       "kith assign new.h5:/train --centroids clusters.h5 -o labels.h5",
       "kith knn points.h5:/train --queries points.h5:/test -k 10 -o neighbors.h5"},
      "kith COMMAND [arguments]",
      {{"Commands", {}}},
      "kith COMMAND --help explains a command; kith --version prints the version, with --verbose how this kith was "
      "built."};
  for (const Command& command : commands()) page.groups[0].lines.push_back({command.name, command.summary});
  return in_form(form, page);
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

int run_program(const Arguments& given) {
  const Arguments words = planned(given);
  data::prepare_hdf5_children(words);
  if (words.empty()) {
    print_out(kFirstLines);
    return 0;
  }
  const std::string& first = words.front();
  if (first == "--version" || first == "-V") {
    const bool verbose = words.size() == 2 && (words[1] == "--verbose" || words[1] == "-v");
    print_out(verbose ? version_page() : "kith " KITH_VERSION "\n");
    return 0;
  }
  const bool wants_help = first == "help";
  if (const auto form = asked_help(first); form || (wants_help && words.size() == 1)) {
    print_out(short_help(form.value_or(HelpForm::text)));
    return 0;
  }
  const std::string name = wants_help ? words[1] : first;
  const Arguments rest = wants_help ? Arguments{"--help"} : Arguments(words.begin() + 1, words.end());
  const auto table = commands();
  const auto command = std::find_if(table.begin(), table.end(), [&](const Command& c) { return name == c.name; });
  if (command != table.end()) {
    const bool helps = rest.size() == 1 && asked_help(rest[0]);
    if (!processes().is_alone() && !helps && std::ranges::find(kDivided, name) == std::end(kDivided)) {
      throw Error(ExitCode::usage, fmt::format("{}: expected a command that several processes can divide ({}), found "
                                               "{} processes; run it in one",
                                               name, fmt::join(kDivided, ", "), processes().size()));
    }
    return command->run(rest);
  }
  if (name.size() > 1 && name.front() == '-') {
    throw Error(ExitCode::usage,
                fmt::format("expected a command before {}: kith COMMAND {} ...; see kith --help", name, name));
  }
  const std::vector<std::string> known = command_names();
  const std::string similar = known_name(name, known);
  throw Error(ExitCode::usage, fmt::format("unknown command '{}'; {}; see kith --help", name,
                                           similar.empty() ? fmt::format("expected {}", fmt::join(known, ", "))
                                                           : fmt::format("the nearest is '{}'", similar)));
}

}  // namespace kith::app
