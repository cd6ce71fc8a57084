// Opens starts by name, from centroids and from labels.
#include "app/run/start.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "app/cli/common_options.h"
#include "app/cli/words.h"
#include "app/run/model.h"
#include "core/kmeans/result.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

/// Every row that counts needs a label.
[[noreturn]] void refuse_unlabelled(const data::Labels& labels, std::int64_t row) {
  throw Error(ExitCode::data,
              fmt::format("{}: row {} (counted from 1): expected the label of a cluster, found none or -1; give these "
                          "rows a label, or the weight 0",
                          labels.name, row + 1));
}

/// Labels of clusters. Rows without a label, such as DBSCAN's noise and dropped rows, have the code -1.
data::Labels read_start_labels(const std::string& location, const CommonOptions& common,
                               const data::PointSource* points) {
  const std::string of = points != nullptr ? points->location() : "";
  data::Labels labels = data::read_labels(location, read_options(common), data::Unlabelled::keep, of);
  say_matched(labels, of);
  for (auto& values = labels.values;;) {
    if (values.empty()) refuse_unlabelled(labels, 0);
    const auto none = std::find(values.begin(), values.end(), data::kNoLabel);
    if (none == values.end()) return labels;
    const auto code = static_cast<std::int32_t>(none - values.begin());
    for (std::int32_t& label : labels.codes) label = label == code ? -1 : label - (label > code ? 1 : 0);
    values.erase(none);
  }
}

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

const std::vector<std::string>& start_rules() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, init] : kStartRules) all.emplace_back(name);
    return all;
  }();
  return names;
}

bool is_start_rule(const std::string& init) {
  return std::find(start_rules().begin(), start_rules().end(), init) != start_rules().end();
}

std::string name_of_start(Init init) {
  return std::ranges::find_if(kStartRules, [&](const auto& rule) { return rule.second == init; })->first;
}

std::string default_start(const data::PointSource& points, std::int64_t clusters, Report& report) {
  const Init init = default_init(points.rows(), points.columns(), clusters);
  const std::string name = name_of_start(init);
  report.decisions.push_back(
      {.subject = "seeding",
       .method = name,
       .reason = fmt::format("{} rows x {} columns x {} clusters; k-means++ passes over all rows for each cluster",
                             points.rows(), points.columns(), clusters)});
  return name;
}

void add_limit_options(OptionSet& set, const std::vector<Reason>& no_effect, std::int64_t& max_iterations,
                       double& tolerance) {
  set.integer({.names = "--max-iterations",
               .value = "N",
               .help = "Maximum number of iterations per run.",
               .stored = {Stored::always, position::kLimits},
               .no_effect = no_effect},
              {1, std::numeric_limits<std::int32_t>::max()}, max_iterations);
  set.number({.names = "--tolerance",
              .value = "T",
              .help = "Stop when the sum of the centroids' squared shifts is at most T x mean column variance; 0: only "
                      "when no label changes.",
              .stored = {Stored::always, position::kLimits},
              .no_effect = no_effect,
              .refused = {[&tolerance]() -> std::string {
                return tolerance >= 0.0 ? "" : fmt::format("--tolerance: expected 0 or more, found {}", tolerance);
              }}},
             tolerance);
}

std::int64_t Start::clusters() const {
  if (labels) return std::ssize(labels->values);
  return given ? given->rows() : 0;
}

Start open_start(const std::string& init, const std::string& init_labels, const CommonOptions& common,
                 const data::PointSource* points) {
  Start start;
  if (!init_labels.empty()) {
    start.labels = read_start_labels(init_labels, common, points);
    start.stored = stored_name(init_labels);
    return start;
  }
  for (const auto& [name, rule] : kStartRules) {
    if (init != name) continue;
    start.init = rule;
    start.stored = name;
    return start;
  }
  const std::string file = data::parse_location(init).file;
  if (!data::file_exists(file)) {
    throw Error(ExitCode::usage, fmt::format("--init: expected {} or an existing FILE[:DATASET], found '{}', which is "
                                             "neither a rule nor an existing file{}",
                                             fmt::join(start_rules(), ", "), init, suggestion(init, start_rules())));
  }
  start.stored = stored_name(init);
  start.given = points != nullptr ? open_centroids_for(*points, {"--init", init}, common)
                                  : data::open_centroids(init, header_of(common));
  return start;
}

void check_labels(const Start& start, std::int64_t clusters, const data::PointSource& points) {
  if (std::ssize(start.labels->codes) != points.rows()) {
    throw Error(
        ExitCode::usage,
        fmt::format("--init-labels {}: expected {} labels, one for each row of {}, found {}; give every row a label",
                    start.labels->name, points.rows(), points.name(), start.labels->codes.size()));
  }
  if (start.clusters() != clusters) {
    throw Error(ExitCode::usage, fmt::format("--init-labels {}: expected {} different labels, for -k, found {}; "
                                             "leave out -k",
                                             start.labels->name, clusters, start.clusters()));
  }
}

Matrix<double> centroid_values(data::PointSource* source, Metric metric) {
  if (source == nullptr) return {};
  auto centroids = std::get<Matrix<double>>(data::read_all(*source));
  if (takes_directions(metric)) normalize_centroids(centroids.view(), source->name());
  return centroids;
}

Matrix<double> label_centroids(const Start& start, const HeldPoints& held, Metric metric) {
  std::vector<std::int32_t> labels;
  for (const std::int64_t row : held.row_numbers()) {
    labels.push_back(start.labels->codes[static_cast<std::size_t>(row)]);
    if (labels.back() < 0) refuse_unlabelled(*start.labels, row);
  }
  std::vector<char> counted(start.labels->values.size(), 0);
  for (const std::int32_t label : labels) counted[static_cast<std::size_t>(label)] = 1;
  if (const auto none = std::find(counted.begin(), counted.end(), 0); none != counted.end()) {
    throw Error(
        ExitCode::data,
        fmt::format("--init-labels {}: expected rows of every label, found all rows of the label {} ignored "
                    "(dropped by --nan, or of weight 0); give its rows other labels",
                    start.labels->name, start.labels->values[static_cast<std::size_t>(none - counted.begin())]));
  }
  Matrix<double> centroids = means_of_labels(*held.points, held.plan, labels, start.clusters());
  if (takes_directions(metric)) normalize_centroids(centroids.view(), start.labels->name);
  return centroids;
}

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
