// Reads result files of kith: root attributes and datasets by name, and how the points of a result were made: the
// dataset /model, which says how the columns of its table became points, as text in JSON, and the group /preparation,
// the parameters by which they were scaled and projected.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/points/matrix.h"
#include "core/preparation/preparation.h"
#include "data/format/formats.h"
#include "data/format/table_model.h"
#include "data/results/result.h"

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

/// Writes /model, uint8: the bytes of the text.
void write_model(ResultFile& file, const TableModel& model);

/// Null: the result has none, as those of points without names and of earlier versions. Throws Error(data) if it is
/// damaged, or of a later version that this one would misread.
std::shared_ptr<const TableModel> read_model(const StoredResult& result);

/// Nothing: its points were not prepared. Throws Error(data) if the stored parameters do not match, or if this version
/// does not support them.
std::optional<Preparation> read_preparation(const StoredResult& result);

}  // namespace kith::data
