// The weights of rows: their options, and their reading.
#include "app/run/weighting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/run/model.h"
#include "app/run/results.h"
#include "core/error.h"
#include "data/labels.h"

namespace kith::app {
namespace {

Weighting checked(data::RowNumbers read, std::int64_t rows, const std::string& name) {
  if (std::ssize(read.values) != rows) {
    throw Error(ExitCode::usage, fmt::format("{}: expected {} weights, one for each row of {}, found {}; give every "
                                             "row a weight, 0 for rows to ignore",
                                             read.name, rows, name, read.values.size()));
  }
  const double total = checked_weights(read.values, read.name).total;
  const auto absent = std::count(read.values.begin(), read.values.end(), 0.0);
  return {std::move(read.name), std::move(read.values), total, absent};
}

}  // namespace

void add_weight_options(OptionSet& set, CommonOptions& common) {
  set.text({.names = "--weights",
            .value = "FILE[:DATASET]",
            .help = "Weights of the rows, 0 or more: a vector, or FILE:COLUMN of a text file. A weight of w has the "
                    "same effect as repeating the row w times; rows of weight 0 only get a label.",
            .section = Section::points,
            .shown_default = "1 for every row",
            .input = Input::table,
            .stored = {Stored::if_changed, position::kWeights},
            .excludes = {"--weight-column"}},
           common.weights);
  set.text({.names = "--weight-column",
            .value = "NAME",
            .help = "Column of the points' text file with the weights. It is not part of the points.",
            .section = Section::text,
            .stored = {Stored::if_changed, position::kWeights}},
           common.weight_column);
}

std::optional<Weighting> read_weighting(const CommonOptions& common, const data::PointSource& points) {
  if (common.weight_column.empty()) return read_weighting(common, points.rows(), points.name());
  return checked(data::weights_of(points, common.weight_column, read_options(common)), points.rows(), points.name());
}

std::optional<Weighting> read_weighting(const CommonOptions& common, std::int64_t rows, const std::string& name) {
  if (common.weights.empty()) return std::nullopt;
  data::RowNumbers read = data::read_weights(common.weights, read_options(common), name);
  say_matched(read, name);
  return checked(std::move(read), rows, name);
}

WeightReport describe(const Weighting& weighting) { return {weighting.name, weighting.total, weighting.absent}; }

void write_weighting(data::ResultFile& file, const std::optional<Weighting>& weighting) {
  if (!weighting) return;
  file.attribute("weights", stored_name(weighting->name));
  file.attribute("total_weight", weighting->total);
}

std::int64_t weighting_bytes(const std::optional<Weighting>& weighting, const data::PointSource& points) {
  if (!weighting) return 0;
  const std::int64_t copies = weighting->absent > 0 ? points.columns() * data::size_of(points.held_as()) : 0;
  return checked_product(points.rows(), 32 + copies, "weighted rows");
}

}  // namespace kith::app
