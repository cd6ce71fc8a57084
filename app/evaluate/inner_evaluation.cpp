// What the points say of labels: the options of inner scores, their computation, and how they are shown and stored.
#include "app/evaluate/inner_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/run/memory.h"
#include "app/run/model.h"
#include "app/run/preparation.h"
#include "app/run/results.h"
#include "core/seeding.h"
#include "data/results/stored_result.h"
#include "data/source.h"

namespace kith::app {
namespace {

constexpr std::uint64_t kSampleStream = std::uint64_t{1} << 62;  // beside those of the runs of k-means

/// Host bytes beside the points: distances, silhouettes and labels of each row, and a block of sums.
std::int64_t score_bytes(std::int64_t rows, std::int64_t clusters, std::int64_t columns) {
  constexpr std::int64_t kPerRow = 64, kPerValue = 40, kBlocks = std::int64_t{1} << 28;
  return checked_product(rows, kPerRow, "rows") + kBlocks +
         checked_product(checked_product(clusters, columns, "centroids"), kPerValue, "centroids");
}

/// Labels of a result may be held against other columns than they were made of, but hardly on purpose.
void warn_of_columns(const std::string& labels, const data::PointSource& points, Progress& progress) {
  if (!names_labels(labels)) return;
  const data::StoredResult result(data::parse_location(labels).file);
  const std::vector<std::int64_t> shape = result.wholes("points_shape");
  const std::vector<std::string> before = result.lines("columns"), now = points.column_names();
  std::string difference;
  if (shape.size() == 2 && shape[1] != points.columns()) {
    difference = fmt::format("expected {} columns, found {}", shape[1], points.columns());
  } else if (before.size() == now.size() && before != now) {
    const auto [was, is] = std::mismatch(before.begin(), before.end(), now.begin());
    difference =
        fmt::format("expected '{}' as column {} (counted from 1), found '{}'", *was, was - before.begin() + 1, *is);
  }
  if (difference.empty()) return;
  progress.warning(fmt::format("--points {}: {}; {} was made of other columns, which --columns chooses", points.name(),
                               difference, result.file()));
}

}  // namespace

const Silhouette& known_silhouette(const InnerScores& scores) {
  return scores.exact ? *scores.exact : scores.simplified;
}

void add_inner_options(OptionSet& set, InnerOptions& options) {
  set.text({.names = "--points",
            .value = "POINTS",
            .help = "The points that were labelled, FILE[:DATASET]: scores of how well the labels fit them."},
           options.points);
  set.choice({.names = "--silhouette",
              .value = "HOW",
              .help = "exact: of all pairs of rows; simplified: by distances to centroids, which is always told."},
             {"exact", "simplified"}, options.silhouette);
  set.integer({.names = "--sample",
               .value = "N",
               .help = "Exact silhouettes of N rows drawn at random, each against all rows.",
               .shown_default = "all rows"},
              {1, std::numeric_limits<std::int64_t>::max()}, options.sample);
  set.flag({.names = "--save-silhouette", .help = "Also write the silhouette of every row."}, options.save_silhouette);
}

std::vector<std::int64_t> sampled_rows(std::int64_t rows, std::int64_t sample, std::int64_t seed) {
  if (sample == 0 || sample >= rows) return {};
  std::vector<std::int64_t> drawn = random_rows(rows, sample, {static_cast<std::uint64_t>(seed), kSampleStream});
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

LabelledPoints open_labelled_points(const InnerOptions& options, const data::Labels& labels, Invocation& invocation) {
  // Of a result the points are prepared as they were for it.
  LabelledPoints points{nullptr, read_preparation(labels.name)};
  points.source = open_input(options.points, invocation, points.preparation ? &*points.preparation : nullptr);
  invocation.report.points = describe(*points.source);
  warn_of_columns(labels.name, *points.source, invocation.progress);
  if (points.source->rows() == std::ssize(labels.codes)) return points;
  throw Error(ExitCode::data,
              fmt::format("--points {}: expected {} rows, one for each label of {}, found {}; give the "
                          "points that were labelled, with the same options of columns and header",
                          points.source->name(), labels.codes.size(), labels.name, points.source->rows()));
}

InnerScores inner_scores(const LabelledPoints& points, const data::Labels& labels,
                         const std::optional<Weighting>& weighting, const InnerOptions& options, const OptionSet& set,
                         Invocation& invocation) {
  data::PointSource& source = *points.source;
  const std::int64_t clusters = std::ssize(labels.values);
  require_memory(points_bytes(source) + score_bytes(source.rows(), clusters, source.columns()) +
                     weighting_bytes(weighting, source),
                 source.name(), invocation.common.memory);
  HeldPoints held = hold_points(
      source, invocation, [&] { invocation.warn_without_effect(set); }, weighting,
      points.preparation ? &*points.preparation : nullptr);
  InnerScores scores;
  scores.rows = source.rows();
  scores.numbers = held.row_numbers();
  std::vector<std::int32_t> codes;
  for (const std::int64_t row : scores.numbers) codes.push_back(labels.codes[static_cast<std::size_t>(row)]);

  invocation.progress.phase("score", 0);
  const LabelledClusters found = labelled_clusters(*held.points, held.plan, codes, clusters);
  if (!found.comparable()) {
    throw Error(ExitCode::data,
                fmt::format("{}: expected 2 to n - 1 clusters with rows, which scores of labels and points compare, "
                            "found {} rows in {}; give labels of several clusters, or known classes with --truth",
                            labels.name, found.rows, found.filled()));
  }
  scores.counts = found.counts;
  if (held.plan.weights.given()) scores.weights = found.weights;
  scores.calinski_harabasz = calinski_harabasz(found);
  scores.davies_bouldin = davies_bouldin(found);
  SilhouetteRequest request{codes, scores.counts, {}, held.plan.weights, found.on_mean};
  scores.simplified = simplified_silhouette(*held.points, found.means.view(), request);
  if (options.silhouette == "exact") {
    scores.scored = sampled_rows(std::ssize(codes), options.sample, invocation.common.seed);
    request.scored = scores.scored;
    scores.exact = exact_silhouette(*held.points, held.plan, request, invocation.progress);
  }
  note_device_memory(held, invocation);
  return scores;
}

std::vector<std::pair<std::string, double>> named_scores(const InnerScores& scores) {
  std::vector<std::pair<std::string, double>> named;
  if (scores.exact) named.emplace_back("silhouette", scores.exact->mean);
  named.emplace_back("simplified_silhouette", scores.simplified.mean);
  named.emplace_back("calinski_harabasz", scores.calinski_harabasz);
  named.emplace_back("davies_bouldin", scores.davies_bouldin);
  return named;
}

std::string show_scores(const InnerScores& scores) {
  std::string out;
  const auto line = [&out](const char* name, double value, const std::string& note) {
    out += fmt::format("{:<30} {}{}\n", name, value, note);
  };
  if (scores.exact) {
    line("silhouette", scores.exact->mean,
         scores.scored.empty() ? "" : fmt::format(" ({} of {} rows)", scores.scored.size(), scores.numbers.size()));
  }
  line("simplified silhouette", scores.simplified.mean, "");
  line("Calinski-Harabasz", scores.calinski_harabasz, "");
  line("Davies-Bouldin", scores.davies_bouldin, "");
  return out;
}

std::string show_clusters(const InnerScores& scores, const std::vector<std::string>& names) {
  TextTable table{{Align::right, Align::right}, {{"cluster", "rows"}}};
  for (std::size_t c = 0; c < names.size(); ++c)
    table.rows.push_back({visible(names[c]), std::to_string(scores.counts[c])});
  const auto add = [&table](const char* head, const std::vector<double>& values) {
    table.columns.push_back(Align::right);
    table.rows[0].emplace_back(head);
    for (std::size_t c = 0; c + 1 < table.rows.size(); ++c) table.rows[c + 1].push_back(fmt::format("{}", values[c]));
  };
  if (!scores.weights.empty()) add("weight", scores.weights);
  add("silhouette", known_silhouette(scores).clusters);
  return lay_out(table, text_width(Stream::output));
}

std::string stored_inner(const InnerOptions& options, const CommonOptions& common) {
  std::string command = fmt::format(" --points {} --silhouette {}", stored_name(options.points), options.silhouette);
  if (options.silhouette == "exact" && options.sample > 0) {
    command += fmt::format(" --sample {} --seed {}", options.sample, common.seed);
  }
  command += fmt::format(" --precision {}{}", common.precision, stored_metric(common));
  return command + (options.save_silhouette ? " --save-silhouette" : "");
}

void write_inner(data::ResultFile& file, const InnerScores& scores, const InnerOptions& options) {
  file.attribute("points", stored_name(options.points));
  for (const auto& [name, value] : named_scores(scores)) file.attribute(name, value);
  const Silhouette& silhouette = known_silhouette(scores);
  file.dataset("counts", std::span<const std::int64_t>(scores.counts));
  if (!scores.weights.empty()) file.dataset("weights", std::span<const double>(scores.weights));
  file.dataset("silhouette_per_cluster", std::span<const double>(silhouette.clusters));
  if (!options.save_silhouette) return;
  if (scores.scored.empty()) {
    std::vector<double> rows(static_cast<std::size_t>(scores.rows), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < silhouette.rows.size(); ++i) rows[scores.numbers[i]] = silhouette.rows[i];
    file.dataset("silhouette", std::span<const double>(rows));
    return;
  }
  std::vector<std::int64_t> scored;
  for (const std::int64_t place : scores.scored) scored.push_back(scores.numbers[place]);
  file.dataset("silhouette", std::span<const double>(silhouette.rows));
  file.dataset("silhouette_rows", std::span<const std::int64_t>(scored));
}

}  // namespace kith::app
