// Points from memory or from files, and the matrices of results.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kith {

/// An owned row-major matrix: element (i, j) is values[i * columns + j].
template <class T>
struct OwnedMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<T> values;

  const T& operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  std::span<const T> row(std::int64_t i) const {
    return std::span(values).subspan(static_cast<std::size_t>(i * columns), static_cast<std::size_t>(columns));
  }
};

/// n points of d columns. Copies of the object share the values. Any thread may read them.
class PointData {
 public:
  /// Borrows n x `columns` values, row after row, which must outlive the object and must not change. name: of the
  /// points, for messages. Throws Error(usage) unless the number of values is a multiple of `columns`, and Error(data)
  /// naming row and column of the first NaN or infinity.
  PointData(std::span<const float> values, std::int64_t columns, const std::string& name = "points");
  PointData(std::span<const double> values, std::int64_t columns, const std::string& name = "points");
  PointData(std::span<const std::uint8_t> values, std::int64_t columns, const std::string& name = "points");
  PointData(std::span<const std::int8_t> values, std::int64_t columns, const std::string& name = "points");

  /// Takes over n x `columns` values. Errors as above.
  PointData(std::vector<float>&& values, std::int64_t columns, const std::string& name = "points");
  PointData(std::vector<double>&& values, std::int64_t columns, const std::string& name = "points");

  /// Borrows n x `columns` values in the memory of a GPU, as above; work that was queued there before has ended on
  /// return. A device opened as "cuda" on that GPU computes with them where they are, unless the metric compares other
  /// values (cosine, correlation, haversine), or rows are read in another order (--batch, weights): then, and on other
  /// devices, they are copied to the host. Throws Error(device) if there is no CUDA.
  static PointData on_gpu(const float* values, std::int64_t rows, std::int64_t columns,
                          const std::string& name = "points");
  static PointData on_gpu(const double* values, std::int64_t rows, std::int64_t columns,
                          const std::string& name = "points");
  static PointData on_gpu(const std::uint8_t* values, std::int64_t rows, std::int64_t columns,
                          const std::string& name = "points");
  static PointData on_gpu(const std::int8_t* values, std::int64_t rows, std::int64_t columns,
                          const std::string& name = "points");

  /// Reads FILE or FILE:DATASET, in any format that `kith devices` lists. HDF5 files are read by a child process, a
  /// copy of this one: read the first before starting threads. Throws Error(data) with the place and the remedy.
  static PointData from_file(const std::string& location);

  std::int64_t rows() const;
  std::int64_t columns() const;

  struct Held;  // defined by the library
  const Held& held() const { return *held_; }
  static PointData of(std::shared_ptr<const Held> held);

 private:
  PointData() = default;
  std::shared_ptr<const Held> held_;
};

/// Latitude or longitude, for the metric "haversine": how a column of a table may be named, and which columns are.
struct PlaceColumns {
  std::string angle;                  // "latitude"
  std::vector<std::string> known;     // "lat", "latitude", ...
  std::vector<std::int64_t> columns;  // from 0; a table of places has one
};
/// Latitude, then longitude, as the command line finds them: by whole names, else by their last words.
std::vector<PlaceColumns> place_columns(const std::vector<std::string>& names);

}  // namespace kith
