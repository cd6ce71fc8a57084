// kith evaluate: how far labels agree with known classes of the same rows.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.h"
#include "app/invocation.h"
#include "app/results.h"
#include "app/terminal.h"
#include "core/agreement.h"
#include "data/labels.h"

namespace kith::app {
namespace {

constexpr std::int64_t kMostCells = std::int64_t{1} << 27;  // of a table that is written, 1 GiB
constexpr std::int64_t kMostShown = 10'000;                 // cells of a table in the report

struct EvaluateOptions {
  std::string labels;
  std::string truth;
  CommonOptions common;
};

void declare(OptionSet& set, EvaluateOptions& options) {
  set.positional({.names = "LABELS",
                  .help = "A result of kith, FILE:DATASET of whole numbers or texts, or FILE:COLUMN of a text file: a "
                          "label for each row."},
                 options.labels);
  set.text({.names = "--truth", .value = "CLASSES", .help = "The known classes of the same rows, in the same forms."},
           options.truth);
  set.begin_common();
  add_output_options(set, options.common);
  add_text_options(set, options.common);
  add_talk_options(set, options.common);
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

EvaluationReport report_of(const data::Labels& labels, const data::Labels& truth, const Contingency& table,
                           const Agreement& scores) {
  EvaluationReport report{labels.name, truth.name, table.rows, size(labels.values), size(truth.values), {}, {}};
  for (const Score& score : kScores) report.scores.emplace_back(score.name, scores.*score.value);
  if (!is_small(table, kMostShown)) return report;
  for_rows(table, [&](std::int64_t, const Matrix<std::int64_t>& block) {
    for (std::int64_t c = 0; c < block.rows(); ++c) {
      report.contingency.emplace_back(block.row(c).begin(), block.row(c).end());
    }
  });
  return report;
}

/// A line for each score; then a line for each cluster, with its rows of each class, where that fits a terminal.
std::string show(const data::Labels& labels, const data::Labels& truth, const Contingency& table,
                 const Agreement& scores, bool is_written) {
  constexpr std::size_t kMostColumns = 12, kMostLines = 100;
  std::string out;
  for (const Score& score : kScores) out += fmt::format("{:<30} {}\n", score.shown, scores.*score.value);
  if (truth.values.size() > kMostColumns || labels.values.size() > kMostLines) {
    return out + fmt::format("\ncontingency table of {} clusters and {} classes{}\n", labels.values.size(),
                             truth.values.size(),
                             is_written || !is_small(table, kMostCells) ? "" : ": -o FILE writes it");
  }
  std::size_t first = std::string("cluster").size(), width = std::to_string(table.rows).size();
  for (const std::string& value : labels.values) first = std::max(first, visible(value).size());
  for (const std::string& value : truth.values) width = std::max(width, visible(value).size());
  out += fmt::format("\n{:>{}}", "cluster", first);
  for (const std::string& value : truth.values) out += fmt::format("  {:>{}}", visible(value), width);
  out += "\n";
  for_rows(table, [&](std::int64_t begin, const Matrix<std::int64_t>& block) {
    for (std::int64_t c = 0; c < block.rows(); ++c) {
      out += fmt::format("{:>{}}", visible(labels.values[begin + c]), first);
      for (const std::int64_t rows : block.row(c)) out += fmt::format("  {:>{}}", rows, width);
      out += "\n";
    }
  });
  return out;
}

void write(const EvaluateOptions& options, const data::Labels& labels, const data::Labels& truth,
           const Contingency& table, const Agreement& scores, const data::OutputOptions& output, Progress& progress) {
  data::ResultFile file(options.common.output, output);
  const std::string first = stored_name(labels.name), second = stored_name(truth.name);
  write_origin(file, "kith-evaluation",
               fmt::format("evaluate {} --truth {}{}", first, second, stored_input(options.common)));
  file.attribute("labels", first);
  file.attribute("truth", second);
  file.attribute("rows", table.rows);
  for (const Score& score : kScores) file.attribute(score.name, scores.*score.value);
  write_names(file, "clusters", labels.values);
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
  file.finish();
}

}  // namespace

int run_evaluate(const Arguments& arguments) {
  EvaluateOptions options;
  OptionSet set({.command = "evaluate",
                 .summary = "how far labels agree with known classes of the same rows.",
                 .usage = "LABELS --truth CLASSES [options]",
                 .examples = {"kith evaluate clusters.h5 --truth points.h5:/labels",
                              "kith evaluate clusters.h5 --truth iris.csv:species -o scores.h5",
                              "kith evaluate labels.npy --truth classes.npy --json"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  if (options.labels.empty()) set.refuse_missing("LABELS, the file with the labels,");
  if (options.truth.empty()) set.refuse_missing("--truth");
  Invocation invocation("evaluate", options.common);
  const std::string& target = options.common.output;
  const data::OutputOptions output = output_options(options.common, {options.labels, options.truth});
  if (!target.empty()) data::check_output(target, output);
  if (target.empty()) invocation.warn_without_effect(set, "--force", "there is no --output");

  invocation.progress.phase("read", 0);
  const data::Labels labels = data::read_labels(options.labels, read_options(options.common));
  const data::Labels truth = data::read_labels(options.truth, read_options(options.common));
  invocation.report.phase("read").bytes = labels.file_bytes + truth.file_bytes;
  check_lengths(labels, truth);
  invocation.progress.phase("compare", 0);
  const Contingency table = contingency(labels.codes, truth.codes);
  const Agreement scores = agreement(table);
  invocation.report.evaluation = report_of(labels, truth, table, scores);
  if (!options.common.json) print_out(show(labels, truth, table, scores, !target.empty()));
  if (!target.empty()) {
    invocation.progress.phase("write", 0);
    write(options, labels, truth, table, scores, output, invocation.progress);
    invocation.wrote(target);
  }
  invocation.close(target.empty() ? "" : fmt::format("kith info {}", target));
  return 0;
}

}  // namespace kith::app
