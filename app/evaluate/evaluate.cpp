// kith evaluate: how far labels agree with known classes of the same rows, and how well they fit the points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "app/cli/common_options.h"
#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "app/evaluate/internal_evaluation.h"
#include "app/evaluate/list_evaluation.h"
#include "app/run/dropped_rows.h"
#include "app/run/model.h"
#include "app/run/points_run.h"
#include "app/run/profile.h"
#include "app/run/progress.h"
#include "app/run/results.h"
#include "app/run/weighting.h"
#include "core/scores/agreement.h"
#include "data/labels.h"

namespace kith::app {
namespace {

bool counts(const std::optional<Weighting>& weighting, std::size_t row) {
  return !weighting || weighting->of_rows[row] > 0.0;
}

/// Sets the weights of rows without a label to 0 and warns of their number; creates the weights if need be. `none`: the
/// label that stands for none in labels of clusters, where dropped rows and DBSCAN's noise have -1; null: of classes,
/// any label is one. Throws Error(data) if no row remains.
void ignore_unlabelled(const data::Labels& labels, const char* none, std::optional<Weighting>& weighting,
                       Progress& progress) {
  std::vector<char> is_none;  // usually one value; a category may have the same name
  for (const std::string& value : labels.values) is_none.push_back(none != nullptr && value == none ? 1 : 0);
  const auto is_unlabelled = [&](std::int32_t code) {
    return code < 0 || is_none[static_cast<std::size_t>(code)] != 0;
  };
  const auto rows = std::count_if(labels.codes.begin(), labels.codes.end(), is_unlabelled);
  if (rows == 0) return;
  if (rows == std::ssize(labels.codes)) {
    throw Error(ExitCode::data, fmt::format("{}: expected labels, found only {}, in {} rows; give {}", labels.name,
                                            none != nullptr ? "-1, which means none" : "rows without one", rows,
                                            none != nullptr ? "the labels of clusters" : "the classes of these rows"));
  }
  if (!weighting) {
    weighting = Weighting{labels.name, std::vector<double>(labels.codes.size(), 1.0),
                          static_cast<double>(labels.codes.size()), 0};
  }
  for (std::size_t i = 0; i < labels.codes.size(); ++i) {
    if (!is_unlabelled(labels.codes[i]) || !counts(weighting, i)) continue;
    weighting->total -= weighting->of_rows[i];
    weighting->of_rows[i] = 0.0;
    ++weighting->absent;
  }
  if (weighting->absent == std::ssize(labels.codes)) {
    throw Error(ExitCode::data, fmt::format("{}: expected rows with a label, a class and a weight, found none; give "
                                            "the labels and classes of the same rows",
                                            labels.name));
  }
  progress.warning(fmt::format("{}: {} of {} rows have no label{}; the scores ignore them", labels.name, rows,
                               labels.codes.size(), none != nullptr ? ", or -1 (dropped rows, noise of DBSCAN)" : ""));
}

/// Removes labels without rows that count. Rows that do not count have the code -1.
void keep_counted(data::Labels& labels, const std::optional<Weighting>& weighting) {
  for (std::size_t i = 0; i < labels.codes.size(); ++i) {
    if (!counts(weighting, i)) labels.codes[i] = -1;
  }
  drop_unused_values(labels);
}

/// The table of the rows that count; a row of weight w counts as w rows. Throws Error(usage) for weights that are not
/// whole numbers, and if there are too many rows to count pairs.
Contingency contingency_of(const data::Labels& labels, const data::Labels& truth,
                           const std::optional<Weighting>& weighting) {
  if (!weighting) return contingency(labels.codes, truth.codes);
  std::vector<std::int32_t> clusters, classes;
  std::vector<std::int64_t> copies;
  double total = 0.0;
  for (std::size_t i = 0; i < labels.codes.size(); ++i) {
    const double weight = weighting->of_rows[i];
    if (weight == 0.0) continue;
    total += weight;
    if (weight != std::rint(weight) || total > static_cast<double>(kMaxContingencyRows)) {
      throw Error(
          ExitCode::usage,
          fmt::format("--truth: expected whole weights with a sum of at most {}, found {} in row {} (counted from "
                      "1) of {}; leave out the weights, or --truth",
                      kMaxContingencyRows, weight, i + 1, weighting->name));
    }
    clusters.push_back(labels.codes[i]);
    classes.push_back(truth.codes[i]);
    copies.push_back(static_cast<std::int64_t>(weight));
  }
  return contingency(clusters, classes, copies);
}

constexpr std::int64_t kMostTableCells = std::int64_t{1} << 27;  // of a stored table, 1 GiB
constexpr std::int64_t kMostShownCells = 10'000;                 // cells of a table in the report

struct EvaluateOptions {
  std::string labels;
  std::string truth;  // empty: no classes
  InternalOptions internal;
  CommonOptions common;
};

/// Options that describe points, besides those of backends, have no effect without points.
constexpr const char* kPointOptions[] = {
    "--silhouette",    "--sample",   "--save-silhouette", "--backend",    "--device",       "--devices",
    "--device-memory", "--screen",   "--threads",         "--block-rows", "--precision",    "--metric",
    "--seed",          "--columns",  "--drop-columns",    "--id-column",  "--label-column", "--weight-column",
    "--nan",           "--transpose"};

void declare(OptionSet& set, EvaluateOptions& options) {
  set.positional({.names = "LABELS",
                  .help = "A label for each row: a result of kith, whose metric and preparation --points use, "
                          "FILE:DATASET of whole numbers or text, or FILE:COLUMN of a text file. Empty or -1: no "
                          "label. Or lists of neighbours (FILE: its /neighbors), to compare with those of --truth.",
                  .required = "the file with the labels",
                  .input = Input::table,
                  .stored = Stored::always},
                 options.labels);
  set.text({.names = "--truth",
            .value = "CLASSES",
            .help = "The known classes of the same rows, in the same forms; or the true lists of neighbours.",
            .input = Input::table,
            .stored = Stored::if_changed},
           options.truth);
  add_internal_options(set, options.internal, options.common);
  add_weight_options(set, options.common);
  add_missing_options(
      set, options.common, true,
      "NaN, infinity and missing values of --points: error stops; drop ignores their rows in the scores; "
      "mean and median replace them with the mean or median of their column.");
  add_common_options(set, options.common);
  set["--memory"].help =
      "Maximum memory of the run, as in 4GB or 512MiB. Points that do not fit are read again in each pass, from their "
      "file or from --scratch; exact silhouettes need them all in memory.";
  set["--metric"].refused = {
      [&options] { return options.internal.points.empty() ? "" : metric_without_means(options.common); }};
  set["--metric"].stored.position = position::kPrecision + 1;
  set["--seed"].stored.when = Stored::if_used;
  set["--seed"].no_effect = {
      when([&options] { return options.internal.silhouette != "exact" || options.internal.sample == 0; },
           "nothing is random without --sample")};
  const Reason no_points = when([&options] { return options.internal.points.empty(); }, "there are no --points");
  for (const char* name : kPointOptions) {
    std::vector<Reason>& reasons = set[name].no_effect;
    reasons.insert(reasons.begin(), no_points);
  }
}

/// Known classes, and how the labels agree with them.
struct Compared {
  data::Labels truth;
  Contingency table;
  Scores scores;
};

struct Evaluation {
  data::Labels labels;
  std::optional<Compared> external;
  std::optional<InternalScores> internal;
};

void check_lengths(const data::Labels& labels, const data::Labels& truth) {
  if (labels.codes.size() == truth.codes.size()) return;
  throw Error(ExitCode::data,
              fmt::format("--truth {}: expected {} rows, one for each label of {}, found {}; give the classes of the "
                          "clustered rows; for a text file, --header says whether its first line names the columns",
                          truth.name, labels.codes.size(), labels.name, truth.codes.size()));
}

std::int64_t size(const std::vector<std::string>& values) { return static_cast<std::int64_t>(values.size()); }

/// Calls visit(first, block) for blocks of rows of the table of cluster x class.
template <class Visit>
void for_rows(const Contingency& table, const Visit& visit) {
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // cells
  const auto clusters = static_cast<std::int64_t>(table.clusters.size());
  const auto classes = static_cast<std::int64_t>(table.classes.size());
  const std::int64_t rows = std::clamp<std::int64_t>(kBlock / classes, 1, clusters);
  auto cell = table.cells.begin();
  for (std::int64_t first = 0; first < clusters; first += rows) {
    Matrix<std::int64_t> block(std::min(rows, clusters - first), classes);
    std::fill_n(block.data(), block.size(), 0);
    for (; cell != table.cells.end() && cell->cluster < first + block.rows(); ++cell) {
      block(cell->cluster - first, cell->class_label) = cell->rows;
    }
    visit(first, block);
  }
}

bool is_small(const Contingency& table, std::int64_t most_cells) {
  return static_cast<std::int64_t>(table.clusters.size()) <=
         most_cells / static_cast<std::int64_t>(table.classes.size());
}

EvaluationReport report_of(const Evaluation& evaluation) {
  const data::Labels& labels = evaluation.labels;
  EvaluationReport report{labels.name, "", std::ssize(labels.codes), size(labels.values), 0, {}, {}, {}};
  if (evaluation.internal) {
    for (const Score& score : scores_of(*evaluation.internal)) {
      report.scores.emplace_back(score.name, evaluation.internal->values.*score.value);
    }
    if (const Silhouette* silhouette = requested_silhouette(*evaluation.internal)) {
      report.silhouette_per_cluster = silhouette->clusters;
    }
  }
  if (!evaluation.external) return report;
  const auto& [truth, table, scores] = *evaluation.external;
  report.truth = truth.name;
  report.classes = size(truth.values);
  for (const Score& score : scores_for(ScoreUse::classes)) report.scores.emplace_back(score.name, scores.*score.value);
  if (!is_small(table, kMostShownCells)) return report;
  for_rows(table, [&](std::int64_t, const Matrix<std::int64_t>& block) {
    for (std::int64_t c = 0; c < block.rows(); ++c) {
      report.contingency.emplace_back(block.row(c).begin(), block.row(c).end());
    }
  });
  return report;
}

constexpr std::size_t kMostListedClusters = 100;  // clusters of a table on a terminal

/// A line for each cluster with its rows of each class, if that fits a terminal.
std::string show_table(const data::Labels& labels, const Compared& external, bool is_written) {
  constexpr std::size_t kMostColumns = 12;
  const auto& [truth, table, scores] = external;
  std::string out;
  if (truth.values.size() > kMostColumns || labels.values.size() > kMostListedClusters) {
    return out + fmt::format("\ncontingency table of {} clusters and {} classes{}\n", labels.values.size(),
                             truth.values.size(),
                             is_written || !is_small(table, kMostTableCells) ? "" : ": -o FILE writes it");
  }
  TextTable shown{std::vector<Align>(truth.values.size() + 1, Align::right), {{"cluster"}}};
  for (const std::string& value : truth.values) shown.rows[0].push_back(visible(value));
  for_rows(table, [&](std::int64_t begin, const Matrix<std::int64_t>& block) {
    for (std::int64_t c = 0; c < block.rows(); ++c) {
      shown.rows.push_back({visible(labels.values[begin + c])});
      for (const std::int64_t rows : block.row(c)) shown.rows.back().push_back(std::to_string(rows));
    }
  });
  return "\n" + lay_out(shown, text_width(Stream::output));
}

/// A line for each score, those of the points first; then tables of the clusters.
std::string show(const Evaluation& evaluation, bool is_written) {
  std::string out = evaluation.internal ? show_scores(*evaluation.internal) : "";
  if (evaluation.external) {
    for (const Score& score : scores_for(ScoreUse::classes)) {
      out += fmt::format("{:<30} {}\n", score.shown, shown_number(evaluation.external->scores.*score.value));
    }
  }
  const data::Labels& labels = evaluation.labels;
  if (evaluation.internal && labels.values.size() <= kMostListedClusters) {
    out += "\n";
    out += show_clusters(*evaluation.internal, labels.values);
  }
  return evaluation.external ? out + show_table(labels, *evaluation.external, is_written) : out;
}

/// Scores, names and table of known classes.
void write_outer(data::ResultFile& file, const data::Labels& labels, const Compared& external, Progress& progress) {
  const auto& [truth, table, scores] = external;
  file.attribute("truth", stored_name(truth.name));
  for (const Score& score : scores_for(ScoreUse::classes)) file.attribute(score.name, scores.*score.value);
  write_names(file, "classes", truth.values);
  if (is_small(table, kMostTableCells)) {
    file.create_matrix<std::int64_t>("contingency", size(labels.values), size(truth.values));
    for_rows(table, [&file](std::int64_t begin, const Matrix<std::int64_t>& block) {
      file.write_rows<std::int64_t>("contingency", begin, block.view());
    });
  } else {
    progress.warning(
        fmt::format("the contingency table of {} clusters and {} classes is not written: more than {} "
                    "cells",
                    labels.values.size(), truth.values.size(), kMostTableCells));
  }
}

/// What is compared.
struct LabelInputs {
  data::Labels labels;
  std::optional<data::Labels> truth;
};

/// Reads labels, classes and weights, and opens the points.
LabelInputs open_inputs(EvaluateOptions& options, PointsRun& run) {
  const std::string& points = options.internal.points;
  if (options.truth.empty() && points.empty()) run.set.refuse_missing("--truth or --points");
  if (!points.empty()) take_metric({{"LABELS", options.labels, "labels"}}, {points}, run.set, options.common);
  run.progress.phase("read", 0);
  const auto form = text_form(run.common);
  LabelInputs inputs{data::read_labels(options.labels, form, data::Unlabelled::keep, points), {}};
  say_matched(inputs.labels, points);
  data::Labels& labels = inputs.labels;
  std::int64_t file_bytes = labels.file_bytes;
  if (!options.truth.empty()) {
    const std::string& of = points.empty() ? options.labels : points;
    inputs.truth = data::read_labels(options.truth, form, data::Unlabelled::keep, of);
    say_matched(*inputs.truth, of);
    file_bytes += inputs.truth->file_bytes;
    check_lengths(labels, *inputs.truth);
  }
  if (points.empty()) {
    run.weighting = read_weighting(run.common, std::ssize(labels.codes), labels.name);
    if (run.weighting) run.report.weights = describe(*run.weighting);
  } else {
    run.given = read_preparation(labels.name);
    ExpectedColumns expected{.indexed = indexed_columns_of(labels.name, run.given ? columns_before(*run.given) : 0),
                             .model = table_model(options.labels),
                             .keep_unknown = true};
    if (expected.model) {
      take_table_options(*expected.model, options.labels, run.set, options.common);
      const bool has_dropped = run.set.source("--nan") == Source::none && !expected.model->option("--nan").empty();
      if (has_dropped) options.common.nan = "drop";  // such rows have no label
      expected.keep_unknown = options.common.nan == "drop";
    }
    open_points(run, points, expected);
    options.internal.silhouette = silhouette_kind(options.internal, run.source->rows());
    check_labelled_points(*run.source, labels, run.progress);
    read_weights(run);
  }
  ignore_unlabelled(labels, data::kNoLabel, run.weighting, run.progress);
  if (inputs.truth) ignore_unlabelled(*inputs.truth, nullptr, run.weighting, run.progress);
  keep_counted(labels, run.weighting);
  run.report.phase("read").bytes += file_bytes;
  return inputs;
}

/// Sums and distances to the means take a pass each, silhouettes another.
std::vector<Work> work_of(const InternalOptions& options, const data::Labels& labels, const data::PointSource& points) {
  std::vector<Work> work{preparing(),
                         {.phase = "score", .operation = Operation::assign, .times = 2, .size = 1, .passes = 2}};
  if (options.silhouette == "simplified") work.push_back(simplified_silhouettes(std::ssize(labels.values)));
  if (options.silhouette == "exact") work.push_back(exact_silhouettes(points, options.sample));
  return work;
}

Needs needs_of(const EvaluateOptions& options, const LabelInputs& inputs, const PointsRun& run) {
  const data::Labels& labels = inputs.labels;
  OptionSet::Replacements words{{"LABELS", stored_name(labels.name)}};
  if (inputs.truth) words["--truth"] = "--truth " + stored_name(inputs.truth->name);
  Needs needs{.stored_command = run.set.stored_command(words), .writes_result = !run.target.empty()};
  if (run.source == nullptr) return needs;
  const std::string& silhouette = options.internal.silhouette;
  needs.bytes = 4 * (std::ssize(labels.codes) + (inputs.truth ? std::ssize(inputs.truth->codes) : 0)) +
                internal_score_bytes(silhouette, {.rows = run.source->rows(),
                                                  .columns = run.source->columns(),
                                                  .clusters = std::ssize(labels.values),
                                                  .sample = options.internal.sample,
                                                  .is_weighted = run.common.weighted()});
  needs.all_rows = silhouette_needs_memory(silhouette);
  needs.work = work_of(options.internal, labels, *run.source);
  needs.is_all_work = silhouette != "exact";
  return needs;
}

Evaluation evaluate(const EvaluateOptions& options, LabelInputs inputs, PointsRun& run) {
  Evaluation result{std::move(inputs.labels), {}, {}};
  if (inputs.truth) {
    run.progress.phase("compare", 0);
    keep_counted(*inputs.truth, run.weighting);
    Contingency table = contingency_of(result.labels, *inputs.truth, run.weighting);
    const Scores scores{agreement(table)};
    result.external = {std::move(*inputs.truth), std::move(table), scores};
  }
  if (run.source != nullptr) result.internal = internal_scores(run.held, result.labels, options.internal, run);
  run.report.evaluation = report_of(result);
  return result;
}

void write(const Evaluation& result, const EvaluateOptions& options, PointsRun& run) {
  data::ResultFile file(run.target, run.output);
  const data::Labels& labels = result.labels;
  write_origin(file, "kith-evaluation", run.needs.stored_command);
  file.attribute("labels", stored_name(labels.name));
  file.attribute("rows", static_cast<std::int64_t>(labels.codes.size()));
  if (run.common.weighted()) write_weighting(file, run.weighting);
  write_names(file, "clusters", labels.values);
  if (result.internal) write_internal(file, *result.internal, options.internal);
  if (result.external) write_outer(file, labels, *result.external, run.progress);
  file.finish();
}

/// The command where LABELS are lists of neighbours.
int evaluate_lists(const EvaluateOptions& options, PointsRun& run) {
  if (options.truth.empty()) {
    throw Error(ExitCode::usage, fmt::format("{}: expected --truth with the true lists of neighbours; kith knn BASE "
                                             "--queries QUERIES --truth {} finds them and compares",
                                             options.labels, options.labels));
  }
  if (!names_lists(options.truth)) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected labels, one for each row, as --truth {} has, found a matrix; name the "
                            "vector that holds them, or, if its rows are lists of neighbours, give "
                            "--truth FILE:/neighbors of a result of kith knn",
                            options.labels, options.truth));
  }
  if (!options.internal.points.empty() || !run.target.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("{} cannot be combined with lists of neighbours, whose comparison is printed; leave it out "
                            "(--json-file FILE keeps the numbers)",
                            run.target.empty() ? "--points" : "--output"));
  }
  if (!begin(run, {.stored_command = run.set.stored_command({}), .writes_result = false})) return 0;
  run.progress.phase("compare", 0);
  const std::string verdict = compare_lists(options.labels, options.truth, run);
  end_computation(run);
  run.print(verdict);
  return finish(run, "");
}

}  // namespace

int run_evaluate(const Arguments& arguments) {
  EvaluateOptions options;
  OptionSet set(
      {.command = "evaluate",
       .summary = "how far labels agree with known classes of the same rows, and how well they fit the points.",
       .usage = "LABELS [--truth CLASSES] [--points POINTS] [options]",
       .examples = {"kith evaluate clusters.h5 --truth points.h5:/labels",
                    "kith evaluate clusters.h5 --points points.h5:/train --save-silhouette -o scores.h5",
                    "kith evaluate clusters.h5 --truth iris.csv:species -o scores.h5",
                    "kith evaluate labels.npy --truth classes.npy --json",
                    "kith evaluate theirs.hdf5 --truth neighbors.h5:/neighbors    # recall, without a search"},
       .first = {"--truth", "--points", "--columns", "-o"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  PointsRun run(set, options.common, {".h5"});
  check_outputs(run);
  if (names_lists(options.labels)) return evaluate_lists(options, run);
  LabelInputs inputs = open_inputs(options, run);
  if (!begin(run, needs_of(options, inputs, run))) return 0;
  if (run.source != nullptr) hold_points(run);
  const Evaluation result = evaluate(options, std::move(inputs), run);
  end_computation(run);
  run.print(show(result, !run.target.empty()));
  if (begin_write(run)) write(result, options, run);
  return finish(run, run.target.empty() ? "" : fmt::format("kith info {}", shell_word(run.target)));
}

}  // namespace kith::app
