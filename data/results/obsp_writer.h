// Adds a sparse matrix to obsp of a copy of an AnnData file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/io/output_file.h"

namespace kith::data {

/// Throws Error(data) unless the file is an AnnData file with `rows` rows whose obsp has no matrix of this name.
void check_obsp(const std::string& file, const std::string& name, std::int64_t rows);

/// A copy of the file `from` with a CSR matrix (rows, rows) as /obsp/NAME, in the format of anndata 0.8 and later. The
/// copy is compared with the file, object by object, and the matrix with what was written, before it gets its name.
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
