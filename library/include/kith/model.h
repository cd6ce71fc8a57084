// A result of `kith cluster` as a model that gives other points their labels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <kith/cluster.h>
#include <kith/device.h>
#include <kith/points.h>
#include <kith/run.h>

namespace kith {

/// A column of the points that a model was made of.
struct ModelColumn {
  std::string name;  // "city"; empty: the points had no names
  /// "number", "date" (days since 1970), "time" (hours), "yesno" (1 and 0), "ordinal" or "onehot".
  std::string kind;
  std::vector<std::string> texts;  // of ordinal and onehot: the values 0, 1, ..., or a column of 0 and 1 for each
};

/// Centroids, and all that was done to the points before they were clustered. Copies share the contents. Any thread may
/// use it.
class Model {
 public:
  /// Opens a result of `kith cluster`, an HDF5 file (as PointData::from_file() does). Throws Error(data) if it is none.
  static Model from_file(const std::string& file);
  /// Centroids (k, d) of points without a preparation. Throws as assign() in kith/cluster.h.
  static Model of(OwnedMatrix<double> centroids, const std::string& metric = "euclidean");

  /// The label of each point. Points have the values that were clustered, before --scale and --pca: a column for each
  /// number, date and ordinal column, and one for each text of a onehot column, in the order of columns(). They are
  /// scaled and projected as those of the model were, and compared by its metric. The labels of the points that were
  /// clustered are those of the result. Throws Error(usage) for another number of columns.
  ClusterResult assign(const PointData& points, const RunOptions& options = {}) const;
  /// The same on a device that is open, for points that come again and again.
  ClusterResult assign(const PointData& points, const OpenDevice& device, const RunOptions& options = {}) const;

  /// Only the labels of assign(), for few points that come again and again: these are looked up among the centroids,
  /// which are checked once.
  std::vector<std::int32_t> labels(const PointData& points, const OpenDevice& device,
                                   const RunOptions& options = {}) const;

  /// Columns of the table, if the result describes them; else none.
  const std::vector<ModelColumn>& columns() const;
  /// Number of columns of points for assign().
  std::int64_t width() const;
  std::int64_t clusters() const;
  const OwnedMatrix<double>& centroids() const;
  const std::string& metric() const;  // "euclidean", "cosine" or "correlation"

  struct Contents;  // defined by the library

 private:
  Model() = default;
  /// The points as they are compared with the centroids.
  PointData prepared(const PointData& points, const RunOptions& options) const;
  std::shared_ptr<const Contents> contents_;
};

}  // namespace kith
