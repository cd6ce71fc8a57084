// The C++ interface: points and models from files. Programs that read none need no library of a file format.
#include <kith/model.h>
#include <kith/points.h>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "data/results/stored_result.h"
#include "data/source.h"
#include "library/held_points.h"

namespace kith {

PointData PointData::from_file(const std::string& location) {
  auto held = std::make_shared<Held>();
  held->own = data::read_all(*data::open_points(location, {.keep_bytes = true}));
  held->view = view_of(std::get<PointsMatrix>(held->own));
  return of(std::move(held));
}

Model Model::from_file(const std::string& file) {
  const data::StoredResult result(file);
  if (result.format() != "kith-clusters") {
    throw Error(ExitCode::data,
                fmt::format("{}: expected a result of kith cluster, found one of format {}", file, result.format()));
  }
  auto contents = std::make_shared<Contents>();
  const Matrix<double> centroids = result.matrix("centroids");
  contents->centroids = {
      centroids.rows(), centroids.columns(), {centroids.data(), centroids.data() + centroids.size()}};
  contents->preparation = data::read_preparation(result);
  contents->metric = result.text("metric");
  contents->width = centroids.columns();
  if (contents->preparation && contents->preparation->pca.size() > 0) {
    contents->width = std::ssize(contents->preparation->pca.mean);
  }
  if (const auto table = data::read_model(result)) {
    for (const data::ColumnModel& column : table->columns) {
      contents->columns.push_back({column.name, data::kind_of(column.how), column.texts});
    }
  }
  Model model;
  model.contents_ = std::move(contents);
  return model;
}

}  // namespace kith
