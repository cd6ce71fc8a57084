// kith evaluate: how far labels agree with known classes of the same rows, and how well they fit the points.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/cli/layout.h"
#include "app/cli/shell_word.h"
#include "app/cli/terminal.h"
#include "app/cli/text_options.h"
#include "app/commands.h"
#include "app/evaluate/counted_labels.h"
#include "app/evaluate/internal_evaluation.h"
#include "app/run/dropped_rows.h"
#include "app/run/model.h"
#include "app/run/points_job.h"
#include "app/run/results.h"
#include "core/scores/agreement.h"
#include "data/labels.h"

namespace kith::app {
namespace {

constexpr std::int64_t kMostCells = std::int64_t{1} << 27;  // of a stored table, 1 GiB
constexpr std::int64_t kMostShown = 10'000;                 // cells of a table in the report

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
                          "label.",
                  .required = "the file with the labels",
                  .input = Input::table,
                  .stored = Stored::always},
                 options.labels);
  set.text({.names = "--truth",
            .value = "CLASSES",
            .help = "The known classes of the same rows, in the same forms.",
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
  set["--metric"].position = position::kPrecision + 1;
  set["--seed"].stored = Stored::if_used;
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
  if (!is_small(table, kMostShown)) return report;
  for_rows(table, [&](std::int64_t, const Matrix<std::int64_t>& block) {
    for (std::int64_t c = 0; c < block.rows(); ++c) {
      report.contingency.emplace_back(block.row(c).begin(), block.row(c).end());
    }
  });
  return report;
}

constexpr std::size_t kMostLines = 100;  // clusters of a table on a terminal

/// A line for each cluster with its rows of each class, if that fits a terminal.
std::string show_table(const data::Labels& labels, const Compared& external, bool is_written) {
  constexpr std::size_t kMostColumns = 12;
  const auto& [truth, table, scores] = external;
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

/// A line for each score, those of the points first; then tables of the clusters.
std::string show(const Evaluation& evaluation, bool is_written) {
  std::string out = evaluation.internal ? show_scores(*evaluation.internal) : "";
  if (evaluation.external) {
    for (const Score& score : scores_for(ScoreUse::classes)) {
      out += fmt::format("{:<30} {}\n", score.shown, evaluation.external->scores.*score.value);
    }
  }
  const data::Labels& labels = evaluation.labels;
  if (evaluation.internal && labels.values.size() <= kMostLines) {
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

class EvaluateJob final : public PointsJob {
 public:
  EvaluateJob(OptionSet& set, EvaluateOptions& options) : PointsJob(set, options.common), options_(options) {}

 private:
  void open() override;
  std::int64_t bytes() const override {
    const std::int64_t codes = 4 * (std::ssize(result_.labels.codes) + (truth_ ? std::ssize(truth_->codes) : 0));
    return codes + internal_score_bytes(options_.internal.silhouette, {.rows = source->rows(),
                                                                       .columns = source->columns(),
                                                                       .clusters = std::ssize(result_.labels.values),
                                                                       .sample = options_.internal.sample,
                                                                       .is_weighted = common.weighted()});
  }
  std::string needs_memory() const override { return silhouette_needs_memory(options_.internal.silhouette); }
  std::vector<Work> work() const override;
  void compute() override;
  void show() override { print(app::show(result_, !target.empty())); }
  void write() override;
  std::string stored_command() const override;
  std::string next() const override { return target.empty() ? "" : fmt::format("kith info {}", shell_word(target)); }

  EvaluateOptions& options_;
  std::optional<data::Labels> truth_;
  Evaluation result_;
};

void EvaluateJob::open() {
  const std::string& points = options_.internal.points;
  if (options_.truth.empty() && points.empty()) set.refuse_missing("--truth or --points");
  if (!points.empty()) take_metric({{"LABELS", options_.labels, "labels"}}, {points}, set, common);
  progress.phase("read", 0);
  data::Labels& labels = result_.labels;
  labels = data::read_labels(options_.labels, text_form(common), data::Unlabelled::keep);
  std::int64_t file_bytes = labels.file_bytes;
  if (!options_.truth.empty()) {
    truth_ = data::read_labels(options_.truth, text_form(common), data::Unlabelled::keep);
    file_bytes += truth_->file_bytes;
    check_lengths(labels, *truth_);
  }
  if (points.empty()) {
    weighting = read_weighting(common, std::ssize(labels.codes), labels.name);
    if (weighting) report.weights = describe(*weighting);
  } else {
    given = read_preparation(labels.name);
    common.indexed = indexed_columns_of(labels.name, given ? columns_before(*given) : 0);
    open_points(points);
    options_.internal.silhouette = silhouette_kind(options_.internal, source->rows());
    check_labelled_points(*source, labels, progress);
    read_weights();
  }
  ignore_unlabelled(labels, data::kNoLabel, weighting, progress);
  if (truth_) ignore_unlabelled(*truth_, nullptr, weighting, progress);
  keep_counted(labels, weighting);
  report.phase("read").bytes += file_bytes;
}

/// Nothing with exact silhouettes. Sums and distances to the means take a pass each, simplified silhouettes another.
std::vector<Work> EvaluateJob::work() const {
  const std::string& silhouette = options_.internal.silhouette;
  if (silhouette == "exact") return {};
  std::vector<Work> work{preparing(),
                         {.phase = "score", .operation = Operation::assign, .times = 2, .size = 1, .passes = 2}};
  if (silhouette == "simplified") work.push_back(simplified_silhouettes(std::ssize(result_.labels.values)));
  return work;
}

void EvaluateJob::compute() {
  if (truth_) {
    progress.phase("compare", 0);
    keep_counted(*truth_, weighting);
    Contingency table = contingency_of(result_.labels, *truth_, weighting);
    const Scores scores{agreement(table)};
    result_.external = {std::move(*truth_), std::move(table), scores};
  }
  if (source != nullptr) result_.internal = internal_scores(held, result_.labels, options_.internal, *this);
  report.evaluation = report_of(result_);
}

std::string EvaluateJob::stored_command() const {
  OptionSet::Replacements words{{"LABELS", stored_name(result_.labels.name)}};
  if (truth_) words["--truth"] = "--truth " + stored_name(truth_->name);
  if (result_.external) words["--truth"] = "--truth " + stored_name(result_.external->truth.name);
  return set.stored_command(words);
}

void EvaluateJob::write() {
  data::ResultFile file(target, output);
  const data::Labels& labels = result_.labels;
  write_origin(file, "kith-evaluation", stored_command());
  file.attribute("labels", stored_name(labels.name));
  file.attribute("rows", static_cast<std::int64_t>(labels.codes.size()));
  if (common.weighted()) write_weighting(file, weighting);
  write_names(file, "clusters", labels.values);
  if (result_.internal) write_internal(file, *result_.internal, options_.internal);
  if (result_.external) write_outer(file, labels, *result_.external, progress);
  file.finish();
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
  return set.parse(arguments) ? EvaluateJob(set, options).run() : 0;
}

}  // namespace kith::app
