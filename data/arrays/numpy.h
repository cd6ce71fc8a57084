// The parts of NumPy arrays and archives: headers, texts, and the arrays of sparse matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/format/element.h"
#include "data/format/point_source.h"
#include "data/format/records.h"

namespace kith::data {

struct NumpyHeader {
  std::vector<std::int64_t> shape;
  std::string type;                    // "float32", or a description of a type that is not a number
  std::optional<ElementType> element;  // if kith can read the type
  Records records;                     // of a structured array
  std::string obstacle;                // else why not, with a remedy
  std::int64_t text_bytes = 0;         // of a text, in an array of texts; 0: it is none
  bool wide = false,
       swapped = false;  // texts of 4 bytes for each character, which are not in the order of this machine
  bool fortran_order = false;
  std::int64_t bytes = 0;  // size of the header; the values follow
};

constexpr std::int64_t kMaxNumpyHeaderBytes = std::int64_t{1} << 20;

/// Reads versions 1 to 3. `begin` holds the first bytes of the file, kMaxNumpyHeaderBytes or all of them; `name` is for
/// messages. Throws Error(data) if the header is damaged.
NumpyHeader read_numpy_header(std::string_view begin, const std::string& name);

/// What shows that an array with this header and `stored` bytes of values is damaged; empty if nothing does.
std::string damage(const NumpyHeader& header, std::int64_t stored);

/// Why an array with this header and `stored` bytes of values cannot be read as points; empty if it can.
std::string refusal(const NumpyHeader& header, std::int64_t stored, bool vector_as_column);

// Sparse matrices in archives of NumPy arrays, as scipy.sparse.save_npz() and sparse.save_npz() of PyData write them.

/// The arrays of an archive, by their names without ".npy".
struct ArchiveArrays {
  std::string file;
  /// Null if there is no such array, or one that cannot be read.
  std::function<const NumpyHeader*(const std::string& name)> header;
  /// flat: an array of any number of dimensions, in row order, as a vector.
  std::function<std::unique_ptr<PointSource>(const std::string& name, const ReadOptions&, bool flat)> open;
  /// The characters of an array of text.
  std::function<std::string(const std::string& name)> text;
};

/// What `kith info` shows of a sparse matrix.
struct SparseFacts {
  std::int64_t rows = 0, columns = 0;
  std::string layout;
};

/// Whether the arrays make up a sparse matrix.
bool is_sparse(const ArchiveArrays& arrays);

/// Both throw Error(data) if the matrix is damaged or of a kind that cannot be read.
SparseFacts describe_sparse(const ArchiveArrays& arrays);
std::unique_ptr<PointSource> open_sparse_archive(const ArchiveArrays& arrays, const ReadOptions& options);

/// The words of a vector of texts; nothing if FILE or FILE:NAME holds anything else.
std::optional<std::vector<std::string>> read_numpy_texts(const Location& location);

}  // namespace kith::data
