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
/// The same for a matrix of this name in obsp; or, for neighbours, for what ObspMatrix::describe() names.
void check_obsp(const std::string& file, const std::string& name, std::int64_t rows, bool are_neighbors);

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

/// The name in obsp of the distances or the connectivities (`part`) of neighbours of this name, as scanpy has it.
std::string neighbor_matrix(const std::string& name, const std::string& part);
/// How neighbours were found, as scanpy stores it.
struct NeighborParameters {
  std::string method, metric;  // "umap", "euclidean"
  std::int64_t neighbors = 0;  // the row itself included
};

/// In the same way, a copy of the file `from` with CSR matrices (rows, rows) as /obsp/NAME, one after another.
class ObspMatrix {
 public:
  /// Throws Error(output), as the other functions do.
  ObspMatrix(const std::string& path, const OutputOptions& options, const std::string& from);
  ~ObspMatrix();
  /// Begins a matrix of float32 (single) or float64. begin (rows + 1): the first value of each row.
  void begin(const std::string& name, bool single, const std::vector<std::int64_t>& begin);
  /// The next values and their columns.
  void append(const std::vector<std::int64_t>& columns, const std::vector<double>& values);
  /// Adds /uns/NAME, from which scanpy knows which matrices are the distances and connectivities of neighbours.
  void describe(const std::string& name, const NeighborParameters& parameters);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kith::data
