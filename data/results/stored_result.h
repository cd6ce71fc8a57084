// Reads result files of kith: root attributes and datasets by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/points/matrix.h"
#include "data/hdf5/hdf5_root.h"

namespace kith::data {

class StoredResult {
 public:
  /// Checks that `file` is HDF5 with the root attribute `format`. Throws Error(data).
  explicit StoredResult(const std::string& file);

  /// Whether it is a result file; false if it cannot be read.
  static bool is_one(const std::string& file);

  const std::string& file() const { return file_; }
  const std::string& format() const { return format_; }  // "kith-clusters"
  const RootFacts& root() const { return root_; }

  std::string text(const std::string& attribute) const;  // empty if there is no such attribute
  std::vector<std::string> lines(const std::string& attribute) const;
  std::optional<double> number(const std::string& attribute) const;
  std::optional<std::int64_t> whole(const std::string& attribute) const;
  std::vector<std::int64_t> wholes(const std::string& attribute) const;

  /// A dataset or group of the root, or a dataset of a group, "preparation/center".
  bool has(const std::string& dataset) const;
  /// All values of a dataset as float64, including NaN; a vector is one column. Throws Error(data) if it is missing.
  Matrix<double> matrix(const std::string& dataset) const;
  std::vector<double> vector(const std::string& dataset) const;

 private:
  std::string file_;
  RootFacts root_;
  std::string format_;
};

/// Compares all datasets and attributes of a result with their checksums, and returns the number of datasets. Throws
/// Error(data) if anything differs, or if the file has no checksums.
std::int64_t verify_result(const std::string& file);

}  // namespace kith::data
