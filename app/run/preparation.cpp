// --scale and --pca: the options, the threads that prepare points, and the parameters in result files.
#include "app/run/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "app/run/model.h"
#include "core/error.h"
#include "core/numbers/metric.h"
#include "core/points/row_reader.h"
#include "core/runtime/threads.h"
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

bool scales_columns(const Preparation& parameters) { return !parameters.columns.center.empty(); }

/// All stored parameters of a preparation, not yet checked.
Preparation stored_parameters(const data::StoredResult& result, const std::string& scale, std::int64_t components) {
  Preparation parameters;
  const auto scaling = scaling_of(scale.empty() ? "none" : scale);
  if (!scaling) {
    throw Error(ExitCode::data, fmt::format("{}: its points were prepared with --scale {}, which this version of kith "
                                            "does not support; use the version that wrote it, {}",
                                            result.file(), scale, result.text("kith_version")));
  }
  parameters.scaling = *scaling;
  if (parameters.scaling == Scaling::zscore || parameters.scaling == Scaling::minmax) {
    parameters.columns = {result.vector("preparation/center"), result.vector("preparation/scale")};
  }
  if (components > 0) {
    parameters.pca = {result.vector("preparation/mean"), result.matrix("preparation/components"),
                      result.vector("preparation/explained_variance"),
                      result.vector("preparation/explained_variance_ratio")};
  }
  return parameters;
}

void check(const Preparation& parameters, std::int64_t components, const std::string& file) {
  const auto& [center, scale] = parameters.columns;
  const PrincipalComponents& pca = parameters.pca;
  const bool fits = center.size() == scale.size() && std::find(scale.begin(), scale.end(), 0.0) == scale.end() &&
                    pca.size() == components && std::ssize(pca.mean) == pca.components.columns() &&
                    (center.empty() || pca.mean.empty() || center.size() == pca.mean.size());
  if (fits) return;
  throw Error(ExitCode::data, fmt::format("{}: damaged: the datasets in /preparation do not match; compute the result "
                                          "again",
                                          file));
}

}  // namespace

void add_preparation_options(OptionSet& set, CommonOptions& common) {
  const std::vector<std::string> names = set.names();
  const bool weighted = std::find(names.begin(), names.end(), "--weights") != names.end();
  set.choice(
      {.names = "--scale",
       .value = "HOW",
       .help = weighted ? "Prepare the points: zscore (columns of mean 0 and deviation 1), minmax (columns from 0 "
                          "to 1), unit (rows of length 1) or none. zscore and minmax cannot be combined with "
                          "weights."
                        : "Prepare the points: zscore (columns of mean 0 and deviation 1), minmax (columns from 0 "
                          "to 1), unit (rows of length 1) or none.",
       .section = Section::preparation,
       .stored = Stored::if_changed,
       .position = position::kPreparation,
       .refused = {when(
           [&common] { return common.weighted() && (common.scale == "zscore" || common.scale == "minmax"); },
           "--scale zscore and minmax cannot be combined with weights; use --scale unit, or prepare the points "
           "beforehand")}},
      {"none", "zscore", "minmax", "unit"}, common.scale);
  set.integer({.names = "--pca",
               .value = "D",
               .help = weighted ? "After --scale, replace the columns with D principal components. Cannot be combined "
                                  "with weights."
                                : "After --scale, replace the columns with D principal components.",
               .section = Section::preparation,
               .shown_default = "none",
               .stored = Stored::if_changed,
               .position = position::kPreparation,
               .refused = {when([&common] { return common.weighted(); },
                                "--pca cannot be combined with weights; prepare the points beforehand")}},
              {1, std::numeric_limits<std::int32_t>::max()}, common.pca);
}

PreparationRequest preparation_request(const CommonOptions& common) {
  return {scaling_of(common.scale).value_or(Scaling::none), common.pca};
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
  return fit_preparation(passes, preparation_request(common), threads);
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
  if (metric_of(common) == Metric::cosine) take_directions(rows);
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
    if (metric_of(common) == Metric::cosine) take_directions(part);
  });
  return parameters;
}

std::int64_t preparation_bytes(const data::PointSource& points, const CommonOptions& common) {
  return common.pca == 0 ? 0 : principal_components_bytes(points.rows(), points.columns());
}

std::string describe(const Preparation& parameters) {
  std::string text;
  if (parameters.scaling == Scaling::unit) text = "rows scaled to length 1";
  if (scales_columns(parameters)) text = fmt::format("columns scaled by {}", name_of(parameters.scaling));
  if (parameters.pca.size() == 0) return text;
  const double share = std::accumulate(parameters.pca.variance_ratio.begin(), parameters.pca.variance_ratio.end(), 0.0);
  return text + fmt::format("{}{} principal components with {:.4g} % of the variance", text.empty() ? "" : ", ",
                            parameters.pca.size(), 100.0 * share);
}

void write_preparation(data::ResultFile& file, const Preparation& parameters) {
  if (parameters.scaling != Scaling::none) file.attribute("scale", std::string(name_of(parameters.scaling)));
  if (parameters.pca.size() > 0) file.attribute("pca", parameters.pca.size());
  if (scales_columns(parameters)) {
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
  const data::StoredResult result(data::parse_location(location).file);
  const std::string scale = result.text("scale");
  const std::int64_t components = result.whole("pca").value_or(0);
  if (scale.empty() && components == 0) return std::nullopt;
  Preparation parameters = stored_parameters(result, scale, components);
  check(parameters, components, result.file());
  return parameters;
}

std::int64_t columns_before(const Preparation& parameters) {
  return static_cast<std::int64_t>(std::max(parameters.columns.center.size(), parameters.pca.mean.size()));
}

void check_same_preparation(const std::string& init, const CommonOptions& common) {
  if (!names_model(init)) return;
  const PreparationRequest request = preparation_request(common);
  const auto before = read_preparation(init);
  const Scaling scaling = before ? before->scaling : Scaling::none;
  const std::int64_t components = before ? before->pca.size() : 0;
  if (scaling == request.scaling && components == request.components) return;
  const auto show = [](Scaling s, std::int64_t c) {
    return fmt::format("--scale {}{}", name_of(s), c == 0 ? " without --pca" : fmt::format(" --pca {}", c));
  };
  throw Error(ExitCode::usage,
              fmt::format("--init {}: expected centroids of points prepared with {}, found {}; use the options of that "
                          "run",
                          init, show(request.scaling, request.components), show(scaling, components)));
}

}  // namespace kith::app
