// --scale, --column-weights and --pca: the options, the threads that prepare points, and the parameters in result
// files.
#include "app/run/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "app/cli/units.h"
#include "app/run/model.h"
#include "core/error.h"
#include "core/numbers/metric.h"
#include "core/points/row_reader.h"
#include "core/runtime/threads.h"
#include "data/format/column_choice.h"
#include "data/format/table_model.h"
#include "data/io/utf8.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

constexpr std::array kScalings{Scaling::none, Scaling::zscore, Scaling::minmax, Scaling::unit};

std::optional<Scaling> scaling_of(const std::string& name) {
  const auto found = std::find_if(kScalings.begin(), kScalings.end(), [&](Scaling s) { return name == name_of(s); });
  return found == kScalings.end() ? std::nullopt : std::optional(*found);
}

void write_vector(data::ResultFile& file, const char* name, const std::vector<double>& values) {
  file.dataset(name, std::span<const double>(values));
}

/// One item of --column-weights.
struct NamedWeight {
  std::string column;
  double weight = 1.0;
};

std::vector<NamedWeight> named_weights(const CommonOptions& common) {
  std::vector<NamedWeight> weights;
  if (common.column_weights.empty()) return weights;
  for (const data::ListItem& item : data::split_list("--column-weights", common.column_weights)) {
    const std::size_t equals = item.text.rfind('=');
    if (equals == item.text.npos || equals == 0) {
      throw Error(ExitCode::usage,
                  fmt::format("--column-weights: expected COLUMN=W, as in income=2, found '{}'", quoted(item.text)));
    }
    const std::string column = item.text.substr(0, equals);
    const double weight = parse_number(item.text.substr(equals + 1), "--column-weights " + quoted(column));
    if (!(weight > 0.0)) {
      throw Error(ExitCode::usage,
                  fmt::format("--column-weights {0}: expected a number above 0, found {1}{2}", quoted(column), weight,
                              weight < 0.0 ? "" : "; leave the column out with --drop-columns " + quoted(column)));
    }
    weights.push_back({column, weight});
  }
  return weights;
}

std::vector<ColumnWeight> column_weights(const CommonOptions& common, const data::PointSource& points) {
  std::vector<ColumnWeight> weights;
  if (common.column_weights.empty()) return weights;
  // The columns of the file, with the columns of the points that are made of each.
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> made;
  std::int64_t first = 0;
  for (const data::ColumnModel& column : data::table_of(points).columns) {
    if (!column.name.empty()) names.push_back(column.name);
    std::vector<std::int64_t>& features = made.emplace_back(static_cast<std::size_t>(column.width()));
    std::iota(features.begin(), features.end(), first);
    first += column.width();
  }
  std::vector<bool> is_given(made.size());
  for (const auto& [column, weight] : named_weights(common)) {
    const auto place = static_cast<std::size_t>(
        data::choose_column("--column-weights", column, names, std::ssize(made), points.name()));
    if (is_given[place]) {
      throw Error(ExitCode::usage, fmt::format("--column-weights: expected each column once, found {} twice; remove "
                                               "one of them",
                                               data::show_column(names, static_cast<std::int64_t>(place))));
    }
    is_given[place] = true;
    weights.push_back({made[place], weight});
  }
  return weights;
}

}  // namespace

void add_preparation_options(OptionSet& set, CommonOptions& common) {
  const std::vector<std::string> names = set.names();
  const bool weighted = std::ranges::count(names, "--weight-column") > 0;
  set.choice(
      {.names = "--scale",
       .value = "HOW",
       .help = weighted ? "Prepare the points: zscore (columns of mean 0 and deviation 1), minmax (columns from 0 "
                          "to 1), unit (rows of length 1) or none. zscore and minmax cannot be combined with "
                          "weights."
                        : "Prepare the points: zscore (columns of mean 0 and deviation 1), minmax (columns from 0 "
                          "to 1), unit (rows of length 1) or none.",
       .section = Section::preparation,
       .stored = {Stored::if_changed, position::kPreparation},
       .refused = {when(
           [&common] { return common.weighted() && (common.scale == "zscore" || common.scale == "minmax"); },
           "--scale zscore and minmax cannot be combined with weights; use --scale unit, or prepare the points "
           "beforehand")}},
      {"none", "zscore", "minmax", "unit"}, common.scale);
  set.text({.names = "--column-weights",
            .value = "LIST",
            .help = "After --scale, multiply columns by weights, as in income=2,city=0.5. The indicators of a onehot "
                    "column are scaled together: its weight is that of the column, whatever the number of its texts.",
            .section = Section::preparation,
            .shown_default = "1 each",
            .stored = {Stored::if_changed, position::kPreparation},
            .refused = {when([&common] { return common.scale == "unit"; },
                             "--column-weights cannot be combined with --scale unit, which scales rows; leave one of "
                             "them out"),
                        when([&common] { return common.transpose; },
                             "--column-weights cannot be combined with --transpose; leave one of them out")}},
           common.column_weights);
  set.integer({.names = "--pca",
               .value = "D",
               .help = weighted ? "After --scale, replace the columns with D principal components. Cannot be combined "
                                  "with weights."
                                : "After --scale, replace the columns with D principal components.",
               .section = Section::preparation,
               .shown_default = "none",
               .stored = {Stored::if_changed, position::kPreparation},
               .refused = {when([&common] { return common.weighted(); },
                                "--pca cannot be combined with weights; prepare the points beforehand")}},
              {1, std::numeric_limits<std::int32_t>::max()}, common.pca);
}

bool prepares(const CommonOptions& common) {
  return common.scale != "none" || common.pca > 0 || !common.column_weights.empty();
}

PreparationRequest preparation_request(const CommonOptions& common, const data::PointSource& points) {
  return {scaling_of(common.scale).value_or(Scaling::none), common.pca, column_weights(common, points)};
}

Preparation fit(data::PointSource& source, const CommonOptions& common) {
  constexpr std::int64_t kBlockBytes = std::int64_t{16} << 20;
  const std::int64_t row_bytes = source.columns() * data::size_of(source.held_as());
  const std::int64_t block = (kBlockBytes / row_bytes / kRowsOfBlocks + 1) * kRowsOfBlocks;
  Threads threads(static_cast<int>(common.threads));
  const PreparedPasses passes{source.rows(), source.columns(), source.name(), [&](const auto& visit) {
                                for (std::int64_t first = 0; first < source.rows(); first += block) {
                                  PointsMatrix rows =
                                      data::allocate_points(source, std::min(block, source.rows() - first));
                                  std::visit([&](auto& values) { source.read(first, values.view()); }, rows);
                                  visit({rows, source.name(), {}, first});
                                }
                              }};
  return fit_preparation(passes, preparation_request(common, source), threads);
}

Preparation prepare(data::Reading& reading, const PreparationStep& step, const CommonOptions& common,
                    std::int64_t first_row) {
  Threads threads(static_cast<int>(common.threads));
  const PreparedRows rows{reading.matrix(), reading.source().name(), reading.kept_rows(), first_row};
  Preparation parameters;
  if (step.given == nullptr) {
    parameters = kith::prepare(rows, step.request, threads);
  } else {
    apply_preparation(rows, *step.given, threads);
  }
  if (takes_directions(metric_of(common))) take_directions(rows, metric_of(common));
  return parameters;
}

Preparation prepare(data::SpooledRows& rows, const PreparationStep& step, const CommonOptions& common) {
  Threads threads(static_cast<int>(common.threads));
  const std::vector<std::int64_t> none;
  const std::vector<std::int64_t>& kept =
      rows.missing() != nullptr && rows.missing()->dropped() > 0 ? rows.missing()->kept() : none;
  const auto named = [&](PointsMatrix& block, std::int64_t first) -> PreparedRows {
    if (kept.empty()) return {block, rows.name(), {}, first};
    return {block, rows.name(), std::span(kept).subspan(static_cast<std::size_t>(first))};
  };
  Preparation parameters;
  if (step.given == nullptr) {
    const PreparedPasses passes{
        rows.rows(), rows.columns(), rows.name(), [&](const auto& visit) {
          rows.for_blocks([&](PointsMatrix& block, std::int64_t first) { visit(named(block, first)); });
        }};
    parameters = fit_preparation(passes, step.request, threads);
  }
  rows.rewrite([&](PointsMatrix& block, std::int64_t first) {
    const PreparedRows part = named(block, first);
    apply_preparation(part, step.given == nullptr ? parameters : *step.given, threads);
    if (takes_directions(metric_of(common))) take_directions(part, metric_of(common));
  });
  return parameters;
}

std::int64_t preparation_bytes(const data::PointSource& points, const CommonOptions& common) {
  try {
    return common.pca == 0 ? 0 : principal_components_bytes(points.rows(), points.columns());
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}: --pca takes products of all pairs of {}; choose fewer columns with --columns",
                            points.name(), error.what()));
  }
}

std::string describe(const Preparation& parameters) {
  std::string text;
  if (parameters.scaling == Scaling::unit) text = "rows scaled to length 1";
  if (parameters.scales_columns()) {
    text = parameters.scaling == Scaling::none ? "columns weighted"
                                               : fmt::format("columns scaled by {}", name_of(parameters.scaling));
  }
  if (parameters.pca.size() == 0) return text;
  const double share = std::accumulate(parameters.pca.variance_ratio.begin(), parameters.pca.variance_ratio.end(), 0.0);
  return text + fmt::format("{}{} principal components with {:.4g} % of the variance", text.empty() ? "" : ", ",
                            parameters.pca.size(), 100.0 * share);
}

void write_preparation(data::ResultFile& file, const Preparation& parameters) {
  if (parameters.scaling != Scaling::none) file.attribute("scale", std::string(name_of(parameters.scaling)));
  if (parameters.pca.size() > 0) file.attribute("pca", parameters.pca.size());
  if (parameters.scales_columns()) {
    write_vector(file, "preparation/center", parameters.columns.center);
    write_vector(file, "preparation/scale", parameters.columns.scale);
  }
  if (parameters.pca.size() == 0) return;
  write_vector(file, "preparation/mean", parameters.pca.mean);
  file.dataset("preparation/components", parameters.pca.components.view());
  write_vector(file, "preparation/explained_variance", parameters.pca.variance);
  write_vector(file, "preparation/explained_variance_ratio", parameters.pca.variance_ratio);
}

void write_original_centroids(data::ResultFile& file, MatrixView<const double> centroids, const Preparation& parameters,
                              Metric metric) {
  if (parameters.is_none() || metric != Metric::euclidean) return;
  if (const auto original = original_units(centroids, parameters)) file.dataset("centroids_original", original->view());
}

std::optional<Preparation> read_preparation(const std::string& location) {
  if (!names_model(location) && !names_labels(location)) return std::nullopt;
  return data::read_preparation(data::StoredResult(data::parse_location(location).file));
}

std::int64_t columns_before(const Preparation& parameters) {
  return static_cast<std::int64_t>(std::max(parameters.columns.center.size(), parameters.pca.mean.size()));
}

void check_same_preparation(const char* option, const std::string& centroids, const CommonOptions& common) {
  if (!names_model(centroids)) return;
  const auto before = read_preparation(centroids);
  const std::string scale = before ? name_of(before->scaling) : "none";
  const std::int64_t components = before ? before->pca.size() : 0;
  const auto model = data::read_model(data::StoredResult(data::parse_location(centroids).file));
  const std::string weights = model ? model->option("--column-weights") : "";
  if (scale == common.scale && components == common.pca && weights == common.column_weights) return;
  const auto show = [](const std::string& s, const std::string& w, std::int64_t c) {
    return fmt::format("--scale {}{}{}", s, w.empty() ? "" : " --column-weights " + w,
                       c == 0 ? " without --pca" : fmt::format(" --pca {}", c));
  };
  throw Error(
      ExitCode::usage,
      fmt::format("{} {}: expected centroids of points prepared with {}, found {}; use the options of that run", option,
                  centroids, show(common.scale, common.column_weights, common.pca), show(scale, weights, components)));
}

}  // namespace kith::app
