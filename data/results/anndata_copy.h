// Adds labels or a sparse matrix to a copy of an AnnData file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/io/output_file.h"

namespace kith::data {

/// Throws Error(data) unless the file is an AnnData file whose obs has `rows` rows and no column of this name.
void check_obs(const std::string& file, const std::string& column, std::int64_t rows);
/// The same for a matrix of this name in obsp.
void check_obsp(const std::string& file, const std::string& name, std::int64_t rows);

/// Labels to be added as a categorical column of obs to a copy of the file `from`.
struct ObsColumn {
  std::string from;
  std::string name;
  std::span<const std::int32_t> labels;
  std::int64_t categories = 0;  // every label is below; -1: none
};
/// Writes the copy with the new column, in the format of anndata 0.8 and later, and does not modify the file itself.
/// Before the copy gets its name, its objects are compared with those of the file, and the column with what was
/// written. Throws Error(output).
void write_obs(const std::string& path, const OutputOptions& options, const ObsColumn& column);

/// In the same way, a copy of the file `from` with a CSR matrix (rows, rows) as /obsp/NAME.
class ObspMatrix {
 public:
  struct Place {
    std::string from, name;
    bool single = false;  // float32, else float64
  };
  /// begin (rows + 1): the first value of each row. Throws Error(output), as the other functions do.
  ObspMatrix(const std::string& path, const OutputOptions& options, const Place& place,
             const std::vector<std::int64_t>& begin);
  ~ObspMatrix();
  /// The next values and their columns.
  void append(const std::vector<std::int64_t>& columns, const std::vector<double>& values);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kith::data
