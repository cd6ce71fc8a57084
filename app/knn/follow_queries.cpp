// kith knn --follow: queries are lines of standard input, searched in a base that is held once.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "app/knn/knn.h"
#include "app/run/follow.h"
#include "app/run/model.h"
#include "app/run/points_run.h"
#include "app/run/preparation.h"
#include "core/numbers/distance.h"
#include "data/format/table_model.h"

namespace kith::app {
namespace {

struct AnswerForm {
  const KnnOptions& options;
  const RowIds& ids;
  std::span<const std::int64_t> kept_rows;  // of the base in its file; empty: all
};

/// "neighbour distance neighbour distance ...", nearest first, between tabs.
template <class T>
void append_list(const NeighborLists& lists, std::int64_t i, const AnswerForm& form, std::string& line) {
  const auto& [options, ids, kept_rows] = form;
  const auto k = static_cast<std::size_t>(options.neighbors);
  Matrix<double> squared(1, options.neighbors);
  std::fill_n(squared.data(), k, std::numeric_limits<double>::quiet_NaN());
  if (i >= 0) std::copy_n(lists.distance.row(i).data(), k, squared.data());
  const Matrix<T> distances = convert_distances<T>(std::as_const(squared).view(), options.unit(), 0);
  for (std::int64_t j = 0; j < options.neighbors; ++j) {
    std::int64_t row = i < 0 ? -1 : lists.index(i, j);
    if (row >= 0 && !kept_rows.empty()) row = kept_rows[static_cast<std::size_t>(row)];
    line += fmt::format("{}{}\t{}", j == 0 ? "" : "\t", ids.base_row(row, '\t'), distances(0, j));
  }
}

}  // namespace

int follow_queries(KnnOptions& options, PointsRun& run) {
  if (options.neighbors == 0) run.set.refuse_missing("-k, the number of neighbours,");
  take_file_metric({options.base}, run.set, options.common);
  // Prepared values are rounded to the class of the run, and lines of text are float64.
  CommonOptions& common = options.common;
  if (prepares(common) && !takes_directions(options.metric()) && common.precision == "auto") common.precision = "f64";
  open_points(run, options.base);
  data::PointSource& base = *run.source;
  check_neighbors(options, base, base.rows());
  const bool named = !common.id_column.empty() || !common.ids.empty();
  const RowIds ids = named ? RowIds(base, nullptr, true, {}) : RowIds();
  constexpr std::int64_t kManyQueries = std::int64_t{1} << 16;  // for the choice of a backend
  Needs needs{.writes_result = false};
  needs.bytes = row_state_bytes(base) + follow_bytes(options.neighbors, base.columns(), common);
  needs.all_rows = "--follow searches them again and again";
  needs.only_searches = measure_of(options.metric()) != Measure::inner_product;
  needs.work = {preparing(), {.phase = "search", .operation = Operation::search, .size = kManyQueries}};
  needs.is_all_work = false;
  if (!begin(run, std::move(needs))) return 0;
  hold_points(run);
  advise(run);
  check_neighbors(options, base, run.held.points->rows());
  const ExpectedColumns expected{.names = base.column_names(), .model = base.table(), .are_queries = true};
  FollowRequest request{.points = *run.held.points,
                        .search = {.neighbors = options.neighbors, .measure = measure_of(options.metric())},
                        .read = input_options(common, nullptr, expected),
                        .of = base.name(),
                        .columns = base.columns(),
                        .names = expected.names,
                        .preparation = &run.held.preparation,
                        .answer = {}};
  // These are about the table of the base: a line has the columns that were chosen there.
  request.read.columns = request.read.drop_columns = request.read.label_column = request.read.weight_column = "";
  const AnswerForm form{options, ids, run.held.values->kept_rows()};
  request.answer = [&](const NeighborLists& lists, std::int64_t i, std::string& line) {
    const bool is_narrow = common.precision == "f32" || compares_bits(common);
    is_narrow ? append_list<float>(lists, i, form, line) : append_list<double>(lists, i, form, line);
  };
  follow(std::move(request), run);
  end_computation(run);
  return finish(run, "");
}

}  // namespace kith::app
