// Searches the centroids like any other points, with the rows as queries.
#include "app/cluster/centroid_distances.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/run/dropped_rows.h"
#include "core/neighbors/neighbors.h"

namespace kith::app {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{64} << 20;  // of distances as float64 at a time

std::int64_t usual_block(std::int64_t centroids, std::int64_t columns) {
  return std::max<std::int64_t>(1, kBlockBytes / (8 * std::max(centroids, columns)));
}

/// Squared distances of rows from `first` on, as they are stored.
template <class T>
void write_rows(data::ResultFile& file, const char* name, std::int64_t first, MatrixView<const double> squared,
                const data::Reading& reading) {
  const Matrix<T> roots = convert_distances<T>(squared, Unit::root, first);
  const Matrix<T> all = in_file_rows<T>(roots.view(), first, std::numeric_limits<T>::quiet_NaN(), reading);
  file.write_rows<T>(name, first_file_row(first, reading), all.view());
}

template <class T>
void write_top(data::ResultFile& file, std::int64_t top, const HeldPoints& held, const Points& centroids, Job& job) {
  const data::Reading& reading = *held.values;
  file.create_matrix<std::int32_t>("nearest_centroids", reading.source().rows(), top);
  file.create_matrix<T>("nearest_distances", reading.source().rows(), top);
  nearest_neighbors(
      centroids, reading.values(), {.neighbors = top, .block_queries = job.common.block_rows},
      [&](std::int64_t first, const NeighborLists& lists) {
        Matrix<std::int32_t> index(lists.index.rows(), lists.index.columns());
        std::copy(lists.index.data(), lists.index.data() + lists.index.size(), index.data());
        const auto all = in_file_rows<std::int32_t>(index.view(), first, -1, reading);
        file.write_rows<std::int32_t>("nearest_centroids", first_file_row(first, reading), all.view());
        write_rows<T>(file, "nearest_distances", first, lists.distance.view(), reading);
      },
      job.progress);
}

template <class T>
void write_all(data::ResultFile& file, const HeldPoints& held, const Points& centroids, Job& job) {
  const data::Reading& reading = *held.values;
  const PointsView values = reading.values();
  const std::int64_t rows = rows_of(values), columns = columns_of(values), chosen = job.common.block_rows;
  file.create_matrix<T>("all_distances", reading.source().rows(), centroids.rows());
  const std::int64_t block =
      std::clamp<std::int64_t>(chosen > 0 ? chosen : usual_block(centroids.rows(), columns), 1, rows);
  Matrix<double> queries(block, columns), out(block, centroids.rows());
  for (std::int64_t first = 0; first < rows; first += block) {
    const std::int64_t here = std::min(block, rows - first);
    std::visit(
        [&](const auto& view) {
          const auto part = view.middle(first, here);
          std::copy(part.data, part.data + part.size(), queries.data());
        },
        values);
    centroids.all_distances({queries.view().middle(0, here)}, out.view().middle(0, here));
    write_rows<T>(file, "all_distances", first, out.view().middle(0, here), reading);
  }
}

}  // namespace

void add_centroid_distance_options(OptionSet& set, CentroidDistanceOptions& options,
                                   const std::vector<Reason>& unwritten) {
  set.integer({.names = "--top",
               .value = "M",
               .help = "Also write the M nearest centroids of every point and their distances.",
               .shown_default = "none",
               .stored = Stored::if_changed,
               .position = position::kExtra,
               .no_effect = unwritten},
              {1, std::numeric_limits<std::int32_t>::max()}, options.top);
  set.flag({.names = "--all-distances",
            .help = "Also write every point's distance to every centroid.",
            .stored = Stored::if_changed,
            .position = position::kExtra,
            .no_effect = unwritten},
           options.all);
}

void check(const CentroidDistanceOptions& options, std::int64_t centroids, const std::string& name) {
  if (options.top <= centroids) return;
  throw Error(ExitCode::usage, fmt::format("--top {}: {} has {} centroids; expected at most {}", options.top, name,
                                           centroids, centroids));
}

std::int64_t centroid_distance_bytes(const CentroidDistanceOptions& options, const data::PointSource& points,
                                     MatrixView<const double> centroids, const CommonOptions& common) {
  const std::int64_t k = centroids.rows, columns = centroids.columns, chosen = common.block_rows;
  std::int64_t bytes = 0;
  if (options.top > 0) {
    const std::int64_t searched = bytes_per_query(options.top, columns);
    bytes = block_bytes({points.rows(), searched + 24 * options.top, chosen, kQueryBlockBytes / searched});
  }
  if (options.all) {  // distances, twice more as written, and the rows as float64
    const std::int64_t of_row = 24 * k + 8 * columns;
    bytes = std::max(bytes, block_bytes({points.rows(), of_row, chosen, usual_block(k, columns)}));
  }
  return bytes;
}

void write_centroid_distances(data::ResultFile& file, const CentroidDistanceOptions& options, const HeldPoints& held,
                              MatrixView<const double> centroids, Job& job) {
  if (options.is_none()) return;
  const data::PointSource& source = held.values->source();
  const bool narrow = source.value_class() == ValueClass::f32;
  const std::int64_t size = narrow ? sizeof(float) : sizeof(double);
  std::int64_t of_row = 0;
  if (options.top > 0) of_row += options.top * (size + static_cast<std::int64_t>(sizeof(std::int32_t)));
  if (options.all) of_row += centroids.rows * size;
  const std::int64_t bytes = checked_product(source.rows(), of_row, "distances");
  Terminal::instance().say(fmt::format("distances to centroids: {} in {}", show_bytes(bytes), job.common.output));
  const auto points = held.backend->hold({centroids, 0});
  points->prepare(make_plan(*points));
  if (options.top > 0) {
    narrow ? write_top<float>(file, options.top, held, *points, job)
           : write_top<double>(file, options.top, held, *points, job);
  }
  if (options.all) {
    narrow ? write_all<float>(file, held, *points, job) : write_all<double>(file, held, *points, job);
  }
}

}  // namespace kith::app
