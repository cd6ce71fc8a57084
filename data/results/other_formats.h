// Results in the formats of other programs: tables as CSV, arrays and archives of NumPy, lists of neighbours, texts.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/points/matrix.h"
#include "data/format/point_source.h"
#include "data/io/output_file.h"

namespace kith::data {

/// none: HDF5; table: .parquet or .arrow; vectors: .fbin or .ibin, an array behind its numbers of rows and columns.
enum class LabelFormat { none, csv, numpy, lines, table, vectors };
/// The text in quotes if it would otherwise not be read back as one field.
std::string csv_field(const std::string& text);

/// The format by the ending of the name; lines for "-", standard output.
LabelFormat label_format(const std::string& path);

/// A row of the table for each row: its id or its number from 0, its label, and the columns that are not empty. A row
/// with the label -1, which means none, has no distance.
struct LabelTable {
  std::span<const std::int32_t> labels;
  std::vector<std::string> ids = {};
  std::string id_name = {};                                              // of their column; empty: "id"
  std::vector<std::string> known = {};                                   // the labels of --label-column
  std::variant<std::vector<float>, std::vector<double>> distances = {};  // in the type of their class
  std::span<const double> shares = {};                                   // of the votes for the label
  std::span<const std::string> names = {};  // of the labels; empty: their numbers. Arrays hold numbers only.

  bool has_distances() const {
    return std::visit([](const auto& all) { return !all.empty(); }, distances);
  }
  std::string distance(std::size_t row) const {
    return std::visit([row](const auto& all) { return fmt::format("{}", all[row]); }, distances);
  }
};

/// Writes the table `points`, a text or a Parquet or Arrow file as `path` is, whose rows get the label and, if there
/// are any, the distance, in columns with names that the table does not have. Ids and known labels are in the table
/// itself. Throws Error(output).
void write_appended(
    const std::string& path, const OutputOptions& options, const PointSource& points, const LabelTable& table,
    const std::function<void()>& before_naming = [] {});

/// Writes the format of the ending of `path`; an array holds only the labels, as int32, an .ibin file as its column.
/// The file appears when it is complete, after `before_naming`, if that does not throw. Throws Error(output).
void write_labels(
    const std::string& path, const OutputOptions& options, const LabelTable& table,
    const std::function<void()>& before_naming = [] {});

/// One line of CSV per row: its id or its number from 0, and a number of each column, in the shortest digits that give
/// it back. Throws Error(output).
struct NumberColumn {
  std::string name;
  std::span<const double> values;
};
void write_columns(const std::string& path, const OutputOptions& options, const std::vector<std::string>& ids,
                   const std::string& id_name, const std::vector<NumberColumn>& columns);

/// Centroids as other programs load them.
struct CentroidTable {
  MatrixView<const double> vectors;           // (k, d)
  std::vector<std::string> columns = {};      // their names, or none
  std::span<const std::int64_t> counts = {};  // rows of each cluster
  std::vector<std::int64_t> parents = {};     // the node of the tree of which a cluster is a part; empty: there is none
  bool are_narrow = false;                    // vectors of a table are float32
};
/// By the ending: .npy, float64; .fbin, float32; .csv, with the names of the columns, so that all three are points; and
/// .parquet or .arrow, a row with number, parent, rows and vector of each cluster. Throws Error(output).
void write_centroids(const std::string& path, const OutputOptions& options, const CentroidTable& centroids);

enum class NeighborFormat {
  bigann,  // the numbers of queries and neighbours as uint32, all neighbours as int32, all distances as float32
  ivecs,   // for each query the number of neighbours and the neighbours, int32; no distances
};

/// A file of `queries` lists with `neighbors` rows each, little-endian, which appears when it is complete.
/// data/arrays/vectors.cpp reads it. Source of the layout: benchmark/dataset_io.py of big-ann-benchmarks
/// (knn_result_read, ivecs_read).
class NeighborFile {
 public:
  struct Shape {
    std::int64_t queries = 0;
    std::int64_t neighbors = 0;
  };
  /// Row numbers must fit into int32. Throws Error(output).
  NeighborFile(const std::string& path, const OutputOptions& options, NeighborFormat format, const Shape& shape);
  ~NeighborFile();

  /// Lists of queries first_query .. first_query + rows - 1. neighbors, distances: (rows, k)
  void write(std::int64_t first_query, MatrixView<const std::int64_t> neighbors, MatrixView<const float> distances);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The bytes before the values of a .npy file of format 1.0. `type` is NumPy's descr, quoted or a list: "'<i4'". The
/// length depends only on `type` and the number of dimensions.
std::string numpy_head(const std::string& type, const std::vector<std::int64_t>& shape);

/// The bytes before the values of a .fbin or .ibin file: the numbers of rows and columns as uint32.
std::string vectors_head(std::int64_t rows, std::int64_t columns);

/// A SciPy CSR matrix as scipy.sparse.save_npz(compressed=False) writes it, which appears when it is complete.
class SparseArchive {
 public:
  /// begin (rows + 1): the first edge of each row. value_bytes: of a float or a double. Throws Error(output).
  SparseArchive(const std::string& path, const OutputOptions& options, const std::vector<std::int64_t>& begin,
                std::int64_t columns, std::int64_t value_bytes);
  ~SparseArchive();
  /// The next `count` edges: their columns, and their values in the type of the archive.
  void append(const std::int64_t* columns, const void* values, std::int64_t count);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The file appears when it is complete and synced to the disk. Throws Error(output).
void write_text_file(const std::string& path, const OutputOptions& options, const std::string& text);

}  // namespace kith::data
