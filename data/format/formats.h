// The functions of the file formats: whether the content of a file has the format; the points of one of its datasets;
// and all its datasets, or those that a location names. data/source.cpp is the table of formats.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/format/point_source.h"
#include "data/io/input_bytes.h"

namespace kith::data {

using Opened = std::unique_ptr<PointSource>;
using Listed = std::vector<DatasetInfo>;

/// HDF5, also that of AnnData, 10x Genomics, NetCDF and MATLAB 7.3.
bool is_hdf5(const std::string& file);
Opened open_hdf5(const Location& location, const ReadOptions& options);
Listed list_hdf5(const Location& location, const ReadOptions& options);

/// NumPy arrays (.npy), also compressed or on standard input.
bool is_npy(const std::string& file);
Opened open_npy(const Location& location, const ReadOptions& options);
Listed list_npy(const Location& location, const ReadOptions& options);

/// Archives of NumPy arrays (.npz), also of sparse matrices.
bool is_npz(const std::string& file);
Opened open_npz(const Location& location, const ReadOptions& options);
Listed list_npz(const Location& location, const ReadOptions& options);

/// MATLAB files of level 5 (save -v6 and -v7, and scipy.io.savemat): their matrices of numbers, also sparse ones. A row
/// of numbers is read as a column where ReadOptions::vector_as_column allows vectors.
bool is_matlab(const std::string& file);
Opened open_matlab(const Location& location, const ReadOptions& options);
Listed list_matlab(const Location& location, const ReadOptions& options);

/// MATLAB files of level 4 (save -v4), which have no signature: they begin with a variable, whose type, shape and name
/// fit together.
bool is_matlab4(const std::string& file);
Opened open_matlab4(const Location& location, const ReadOptions& options);
Listed list_matlab4(const Location& location, const ReadOptions& options);

/// Vector files of search benchmarks: .fvecs, .fbin and related formats.
bool is_vectors(const std::string& file);
Opened open_vectors(const Location& location, const ReadOptions& options);
Listed list_vectors(const Location& location, const ReadOptions& options);

/// Tables in Parquet and Arrow files; no file if kith was built without Arrow C++.
bool is_arrow(const std::string& file);
Opened open_arrow(const Location& location, const ReadOptions& options);
Listed list_arrow(const Location& location, const ReadOptions& options);
/// The table as text, as InputBytes::mark_as_own_text() says: numbers with all of their digits, a missing value as an
/// empty field.
InputBytes text_of_arrow(const Location& location, const std::string& scratch);

/// MatrixMarket, sparse or dense.
bool is_matrix_market(const std::string& file);
Opened open_matrix_market(const Location& location, const ReadOptions& options);
Listed list_matrix_market(const Location& location, const ReadOptions& options);

/// svmlight: sparse rows, each after its label; FILE:label has the labels.
bool is_svmlight(const std::string& file);
Opened open_svmlight(const Location& location, const ReadOptions& options);
Listed list_svmlight(const Location& location, const ReadOptions& options);

/// FPS: hexadecimal fingerprints of chemfp with an identifier each, also compressed.
bool is_fps(const std::string& file);
Opened open_fps(const Location& location, const ReadOptions& options);
Listed list_fps(const Location& location, const ReadOptions& options);

/// Delimited text such as CSV and TSV, also compressed with gzip or zstd, or from standard input.
bool is_text_table(const std::string& file);
Opened open_text(const Location& location, const ReadOptions& options);
/// The same of bytes that are there. first_line: the number of the line with the first row, for messages.
Opened open_text_bytes(InputBytes input, std::int64_t first_line, const ReadOptions& options);
/// The same of a whole table.
Opened open_text_table(InputBytes input, const ReadOptions& options);
Listed list_text(const Location& location, const ReadOptions& options);

/// The root of an HDF5 file, for callers that do not know HDF5: its attributes, and the names of its members.
struct RootFacts {
  std::vector<std::pair<std::string, std::string>> texts;                 // attributes with one text
  std::vector<std::pair<std::string, std::vector<double>>> numbers;       // attributes with numbers
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> wholes;  // the same, as HDF5 converts them
  std::vector<std::string> members;
  std::vector<std::string> unreadable;  // attributes that cannot be read, and texts of another form

  /// The text of an attribute, or empty.
  std::string text(const std::string& attribute) const;
};
template <class Archive>
void each_field(Archive& archive, RootFacts& root) {
  archive(root.texts, root.numbers, root.wholes, root.members, root.unreadable);
}

/// Throws Error(data) with the reason if the file cannot be opened; with `verify_results`, also if the root of a result
/// of kith contradicts its checksum. Runs in another process: see Hdf5Child.
RootFacts read_root(const std::string& file, bool verify_results = false);

}  // namespace kith::data
