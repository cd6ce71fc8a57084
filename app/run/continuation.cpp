// Decides whether a run resumes another one, and composes the command line that does.
#include "app/run/continuation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/shell_word.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

/// "cluster x.h5 --clusters 3 --transpose" as "cluster x.h5", "--clusters 3", "--transpose".
std::vector<std::string> parts_of(const std::string& command) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < command.size();) {
    const std::size_t end = std::min(command.find(" --", begin), command.size());
    parts.push_back(command.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_option(const std::string& part, const std::vector<const char*>& names) {
  const std::string name = part.substr(0, part.find_first_of(" ="));
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The parts of a stored command about its start; rest_of(): all others without the limit and the extra outputs.
std::string start_of(const std::string& command) {
  std::vector<std::string> parts = parts_of(command);
  std::erase_if(parts, [](const auto& part) {
    return !is_option(part, {"--init", "--init-labels", "--n-init", "--seed"});
  });
  return fmt::format("{}", fmt::join(parts, " "));
}
std::string rest_of(const std::string& command) {
  std::vector<std::string> parts = parts_of(command);
  std::erase_if(parts, [](const auto& part) {
    return is_option(
        part, {"--init", "--init-labels", "--n-init", "--seed", "--max-iterations", "--save-distances", "--medoids"});
  });
  return fmt::format("{}", fmt::join(parts, " "));
}

/// Whether a word is an option with its value behind it: -oFILE.
bool is_attached(const std::string& word, const std::string& option) {
  return word.size() > option.size() && word.starts_with(option) && word[option.size()] != '=';
}

std::vector<std::int64_t> whole_numbers(const std::vector<double>& values) { return {values.begin(), values.end()}; }

}  // namespace

std::optional<Continuation> find_continuation(const std::string& init, const std::string& command,
                                              const data::PointSource& points) {
  const data::Location place = data::parse_location(init);
  if (!place.dataset.empty() || !data::StoredResult::is_one(place.file)) return std::nullopt;
  const data::StoredResult result(place.file);
  const auto iterations = result.whole("iterations"), changed = result.whole("changed");
  const std::string before = result.text("command");
  const std::vector<std::int64_t> shape{points.rows(), points.columns()};
  const std::string stopped_by = result.text("stopped_by");
  // A run without iterations ended in its batches; one of several runs was not the last.
  const bool interrupted = stopped_by == "interrupted";
  const bool is_whole =
      !interrupted || (iterations > 0 && result.whole("n_init") == number_in(before, "--n-init").value_or(1));
  const bool resumes = is_whole && result.format() == "kith-clusters" &&
                       (stopped_by == "max-iterations" || interrupted) && iterations && changed &&
                       result.wholes("points_shape") == shape && rest_of(before) == rest_of(command);
  if (!resumes) return std::nullopt;
  // One after the other: GCC 12 destroys the parts of a nested list of values twice if a later one throws.
  Continuation continuation;
  continuation.file = place.file;
  continuation.stopped = {*iterations, 0, *changed, {}};
  continuation.stopped.counts = whole_numbers(result.vector("counts"));
  continuation.interrupted = interrupted;
  continuation.iterations.inertia = result.vector("iteration_inertia");
  continuation.iterations.shift = result.vector("iteration_shift");
  continuation.iterations.changed = whole_numbers(result.vector("iteration_changed"));
  if (result.whole("n_init") == 1) {
    continuation.start = {result.text("init"), static_cast<std::uint64_t>(result.whole("seed").value_or(0)),
                          start_of(before)};
  }
  return continuation;
}

void Continuation::set_limit(std::int64_t given, bool is_default) {
  const std::int64_t before = stopped.iterations;
  const bool is_same = interrupted && before < given;
  stopped.limit = is_same ? given : is_default && start ? (before / given + 1) * given : before + given;
}

std::string continuing_command(const std::vector<std::string>& words, const std::string& result) {
  const std::vector<const char*> with_value{"-o", "--output", "--init", "--init-labels", "--n-init", "--seed"};
  std::filesystem::path more(result);
  more.replace_filename(more.stem().string() + "-more" + more.extension().string());
  std::string command = fmt::format("kith cluster --init {} -o {}", shell_word(result), shell_word(more.string()));
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_option(words[i], {"-f", "--force"}) || is_attached(words[i], "-o")) continue;
    if (is_option(words[i], with_value)) {
      if (words[i].find('=') == std::string::npos) ++i;
      continue;
    }
    command += fmt::format(" {}", shell_word(words[i]));
  }
  return command;
}

}  // namespace kith::app
