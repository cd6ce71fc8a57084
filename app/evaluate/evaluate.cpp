// kith evaluate: how far labels agree with known classes of the same rows, and how well they fit the points.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/cli/layout.h"
#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "app/evaluate/counted_labels.h"
#include "app/evaluate/inner_evaluation.h"
#include "app/run/dropped_rows.h"
#include "app/run/job.h"
#include "app/run/model.h"
#include "app/run/results.h"
#include "core/agreement.h"
#include "data/labels.h"

namespace kith::app {
namespace {

constexpr std::int64_t kMostCells = std::int64_t{1} << 27;  // of a table that is written, 1 GiB
constexpr std::int64_t kMostShown = 10'000;                 // cells of a table in the report

struct EvaluateOptions {
  std::string labels;
  std::string truth;  // empty: no classes
  InnerOptions inner;
  CommonOptions common;
};

void declare(OptionSet& set, EvaluateOptions& options) {
  set.positional({.names = "LABELS",
                  .help = "A result of kith, whose metric and preparation --points take, FILE:DATASET of whole numbers "
                          "or texts, or FILE:COLUMN of a text file: a label for each row; empty or -1: none."},
                 options.labels);
  set.text({.names = "--truth", .value = "CLASSES", .help = "The known classes of the same rows, in the same forms."},
           options.truth);
  add_inner_options(set, options.inner);
  add_weight_options(set, options.common);
  add_missing_option(
      set, options.common,
      "Rows of --points with NaN, infinity or an empty field: error refuses them, drop leaves them out of the scores.");
  add_common_options(set, options.common);
}

/// A score under its two names.
struct Score {
  const char* name;   // in reports and files
  const char* shown;  // in the table
  double Agreement::*value;
};
constexpr Score kScores[] = {
    {"adjusted_rand_index", "adjusted Rand index", &Agreement::adjusted_rand_index},
    {"adjusted_mutual_information", "adjusted mutual information", &Agreement::adjusted_mutual_information},
    {"normalized_mutual_information", "normalized mutual information", &Agreement::normalized_mutual_information},
    {"homogeneity", "homogeneity", &Agreement::homogeneity},
    {"completeness", "completeness", &Agreement::completeness},
    {"v_measure", "V-measure", &Agreement::v_measure},
    {"fowlkes_mallows", "Fowlkes-Mallows", &Agreement::fowlkes_mallows},
    {"purity", "purity", &Agreement::purity},
};

/// The known classes, and the labels compared with them.
struct Compared {
  data::Labels truth;
  Contingency table;
  Agreement scores;
};

/// All that is known of the labels.
struct Evaluation {
  data::Labels labels;
  std::optional<Weighting> weighting;  // rows that do not count weigh 0
  std::optional<Compared> outer;
  std::optional<InnerScores> inner;
};

void check_lengths(const data::Labels& labels, const data::Labels& truth) {
  if (labels.codes.size() == truth.codes.size()) return;
  throw Error(ExitCode::data,
              fmt::format("--truth {}: expected {} rows, one for each label of {}, found {}; give the classes of the "
                          "rows that were clustered, and of a text file say with --header whether its first line "
                          "names the columns",
                          truth.name, labels.codes.size(), labels.name, truth.codes.size()));
}

std::int64_t size(const std::vector<std::string>& values) { return static_cast<std::int64_t>(values.size()); }

/// Rows of the table of cluster x class, a block at a time: take(first, block).
template <class Take>
void for_rows(const Contingency& table, const Take& take) {
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // cells
  const auto clusters = static_cast<std::int64_t>(table.clusters.size());
  const auto classes = static_cast<std::int64_t>(table.classes.size());
  const std::int64_t rows = std::clamp<std::int64_t>(kBlock / classes, 1, clusters);
  auto cell = table.cells.begin();
  for (std::int64_t first = 0; first < clusters; first += rows) {
    Matrix<std::int64_t> block(std::min(rows, clusters - first), classes);
    std::fill_n(block.data(), block.size(), 0);
    for (; cell != table.cells.end() && cell->cluster < first + block.rows(); ++cell) {
      block(cell->cluster - first, cell->kind) = cell->rows;
    }
    take(first, block);
  }
}

bool is_small(const Contingency& table, std::int64_t most_cells) {
  return static_cast<std::int64_t>(table.clusters.size()) <=
         most_cells / static_cast<std::int64_t>(table.classes.size());
}

EvaluationReport report_of(const Evaluation& evaluation) {
  const data::Labels& labels = evaluation.labels;
  EvaluationReport report{labels.name, "", std::ssize(labels.codes), size(labels.values), 0, {}, {}, {}};
  if (evaluation.inner) {
    report.scores = named_scores(*evaluation.inner);
    report.silhouette_per_cluster = known_silhouette(*evaluation.inner).clusters;
  }
  if (!evaluation.outer) return report;
  const auto& [truth, table, scores] = *evaluation.outer;
  report.truth = truth.name;
  report.classes = size(truth.values);
  for (const Score& score : kScores) report.scores.emplace_back(score.name, scores.*score.value);
  if (!is_small(table, kMostShown)) return report;
  for_rows(table, [&](std::int64_t, const Matrix<std::int64_t>& block) {
    for (std::int64_t c = 0; c < block.rows(); ++c) {
      report.contingency.emplace_back(block.row(c).begin(), block.row(c).end());
    }
  });
  return report;
}

constexpr std::size_t kMostLines = 100;  // clusters of a table on a terminal

/// A line for each cluster, with its rows of each class, where that fits a terminal.
std::string show_table(const data::Labels& labels, const Compared& outer, bool is_written) {
  constexpr std::size_t kMostColumns = 12;
  const auto& [truth, table, scores] = outer;
  std::string out;
  if (truth.values.size() > kMostColumns || labels.values.size() > kMostLines) {
    return out + fmt::format("\ncontingency table of {} clusters and {} classes{}\n", labels.values.size(),
                             truth.values.size(),
                             is_written || !is_small(table, kMostCells) ? "" : ": -o FILE writes it");
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

/// A line for each score, those that need no classes first; then tables of the clusters.
std::string show(const Evaluation& evaluation, bool is_written) {
  std::string out = evaluation.inner ? show_scores(*evaluation.inner) : "";
  if (evaluation.outer) {
    for (const Score& score : kScores) {
      out += fmt::format("{:<30} {}\n", score.shown, evaluation.outer->scores.*score.value);
    }
  }
  const data::Labels& labels = evaluation.labels;
  if (evaluation.inner && labels.values.size() <= kMostLines) {
    out += "\n";
    out += show_clusters(*evaluation.inner, labels.values);
  }
  return evaluation.outer ? out + show_table(labels, *evaluation.outer, is_written) : out;
}

/// Scores, names and table of known classes.
void write_outer(data::ResultFile& file, const data::Labels& labels, const Compared& outer, Progress& progress) {
  const auto& [truth, table, scores] = outer;
  file.attribute("truth", stored_name(truth.name));
  for (const Score& score : kScores) file.attribute(score.name, scores.*score.value);
  write_names(file, "classes", truth.values);
  if (is_small(table, kMostCells)) {
    file.create_matrix<std::int64_t>("contingency", size(labels.values), size(truth.values));
    for_rows(table, [&file](std::int64_t begin, const Matrix<std::int64_t>& block) {
      file.write_rows<std::int64_t>("contingency", begin, block.view());
    });
  } else {
    progress.warning(
        fmt::format("the contingency table of {} clusters and {} classes is not written: more than {} "
                    "cells",
                    labels.values.size(), truth.values.size(), kMostCells));
  }
}

void write(const EvaluateOptions& options, const Evaluation& evaluation, const data::OutputOptions& output,
           Progress& progress) {
  data::ResultFile file(options.common.output, output);
  const data::Labels& labels = evaluation.labels;
  const std::string name = stored_name(labels.name);
  std::string command = "evaluate " + name;
  if (evaluation.outer) command += fmt::format(" --truth {}", stored_name(evaluation.outer->truth.name));
  if (evaluation.inner) command += stored_inner(options.inner, options.common);
  write_origin(file, "kith-evaluation", command + stored_input(options.common) + stored_weights(options.common));
  file.attribute("labels", name);
  file.attribute("rows", static_cast<std::int64_t>(labels.codes.size()));
  if (!stored_weights(options.common).empty()) write_weighting(file, evaluation.weighting);
  write_names(file, "clusters", labels.values);
  if (evaluation.inner) write_inner(file, *evaluation.inner, options.inner);
  if (evaluation.outer) write_outer(file, labels, *evaluation.outer, progress);
  file.finish();
}

/// Warns of options that would do something if there were points, or silhouettes of all pairs of rows.
void warn_of_points(const OptionSet& set, const InnerOptions& inner, Invocation& invocation) {
  if (!inner.points.empty()) {
    const char* const simplified = "--silhouette is simplified";
    if (inner.silhouette != "exact") invocation.warn_without_effect(set, "--sample", simplified);
    if (inner.sample == 0) invocation.warn_without_effect(set, "--seed", "nothing is drawn without --sample");
    if (invocation.common.output.empty()) {
      invocation.warn_without_effect(set, "--save-silhouette", "there is no --output");
    }
    return;
  }
  for (const char* option :
       {"--silhouette", "--sample",   "--save-silhouette", "--backend",   "--device",       "--device-memory",
        "--screen",     "--threads",  "--block-rows",      "--memory",    "--precision",    "--metric",
        "--seed",       "--columns",  "--drop-columns",    "--id-column", "--label-column", "--weight-column",
        "--nan",        "--transpose"}) {
    invocation.warn_without_effect(set, option, "there are no --points");
  }
}

/// Labels and classes are columns of their own: the choice of columns is that of the points.
data::ReadOptions label_options(const CommonOptions& common) {
  const data::ReadOptions all = read_options(common);
  data::ReadOptions options;
  options.delimiter = all.delimiter;
  options.header = all.header;
  return options;
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
                    "kith evaluate labels.npy --truth classes.npy --json"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  if (options.labels.empty()) set.refuse_missing("LABELS, the file with the labels,");
  if (options.truth.empty() && options.inner.points.empty()) set.refuse_missing("--truth or --points");
  if (!options.inner.points.empty()) refuse_metrics_without_means(options.common);
  Invocation invocation("evaluate", options.common);
  const std::string& target = options.common.output;
  const data::OutputOptions output =
      output_options(options.common, {options.labels, options.truth, options.inner.points});
  if (!target.empty()) data::check_output(target, output);
  if (!options.inner.points.empty()) take_metric({{"LABELS", options.labels, "labels"}}, set, options.common);
  warn_of_points(set, options.inner, invocation);
  if (options.inner.points.empty() && target.empty()) {
    invocation.warn_without_effect(set, "--force", "there is no --output");
  }

  invocation.progress.phase("read", 0);
  Evaluation evaluation{
      data::read_labels(options.labels, label_options(options.common), data::Unlabelled::minus_one), {}, {}, {}};
  data::Labels& labels = evaluation.labels;
  std::int64_t file_bytes = labels.file_bytes;
  std::optional<data::Labels> truth;
  if (!options.truth.empty()) {
    truth = data::read_labels(options.truth, label_options(options.common));
    file_bytes += truth->file_bytes;
    check_lengths(labels, *truth);
  }
  std::optional<LabelledPoints> points;
  if (!options.inner.points.empty()) points = open_labelled_points(options.inner, labels, invocation);
  invocation.warn_of_text_options(set, {options.labels, options.truth, options.inner.points});
  std::optional<Weighting>& weighting = evaluation.weighting;
  weighting = points ? read_weighting(options.common, *points->source)
                     : read_weighting(options.common, std::ssize(labels.codes), labels.name);
  if (weighting) invocation.report.weights = describe(*weighting);
  leave_out_unlabelled(labels, weighting, invocation.progress);
  keep_counted(labels, weighting);
  if (truth) {
    invocation.progress.phase("compare", 0);
    keep_counted(*truth, weighting);
    Contingency table = contingency_of(labels, *truth, weighting);
    const Agreement scores = agreement(table);
    evaluation.outer = {std::move(*truth), std::move(table), scores};
  }
  invocation.report.phase("read").bytes += file_bytes;
  if (points) evaluation.inner = inner_scores(*points, labels, weighting, options.inner, set, invocation);
  invocation.report.evaluation = report_of(evaluation);
  if (!options.common.json) print_out(show(evaluation, !target.empty()));
  if (!target.empty()) {
    invocation.progress.phase("write", 0);
    write(options, evaluation, output, invocation.progress);
    invocation.wrote(target);
  }
  invocation.close(target.empty() ? "" : fmt::format("kith info {}", shell_word(target)));
  return 0;
}

}  // namespace kith::app
