// Reading points: what is in a file, and rows of it as float32, float64 or bytes, in blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "data/element.h"

namespace kith::data {

/// "points.h5:/train" taken apart. A colon belongs to the file's name when a file of the whole name exists.
struct Location {
  std::string file;
  std::string dataset;  // empty: the only 2-D numeric dataset of the file
};
Location parse_location(const std::string& text);

/// What `kith info` shows of one dataset.
struct DatasetInfo {
  std::string path;  // "/train"
  std::vector<std::int64_t> shape;
  std::string type;                  // "float32", "uint8", "string", "compound", ...
  std::string byte_order;            // "little", "big", "" for one byte and non-numbers
  std::string layout;                // "contiguous", "chunked 256 x 64", "compact", "external", "virtual"
  std::vector<std::string> filters;  // "shuffle", "deflate 9", "fletcher32", ...
  std::int64_t stored_bytes = 0;
  std::string unreadable;            // why it cannot be read as points, empty if it can
  std::vector<std::string> columns;  // their names, where the file has them
  std::string text_columns;          // of the chosen ones those that hold text, as --drop-columns names them
};

enum class Precision { automatic, f32, f64 };

/// Does the first line of a text file name its columns?
enum class Header { automatic, yes, no };

struct ReadOptions {
  Precision precision = Precision::automatic;
  bool vector_as_column = false;  // accept rank 1 as n rows of one column
  int threads = 1;                // most that read() may use
  bool keep_bytes = false;        // hold uint8 and int8 of class f32 as they are, not as float32
  /// Columns of the file by name or number from 1, "a,b,3-7": those that are points (empty: all), those that are not.
  std::string columns = {}, drop_columns = {};
  // Of text files: left out of the points, kept as text.
  std::string id_column = {}, label_column = {}, weight_column = {};
  std::string delimiter = {};  // of text files: one character, empty: found out; ' ': blanks
  Header header = Header::automatic;
  bool transpose = false;  // columns of the file are rows
  /// NaN, infinities and, as NaN, the empty fields of text: read() may keep them for those who look for them.
  Missing missing = Missing::refuse;
};

/// Columns of a text file that are not points.
enum class Kept { id, label, weight };

/// An open dataset of n rows and d columns.
class PointSource {
 public:
  virtual ~PointSource() = default;
  virtual std::string name() const = 0;          // "points.h5:/train", as shown and stored
  virtual std::string element_type() const = 0;  // "uint8", as in the file
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  virtual ValueClass value_class() const = 0;   // from the element type and ReadOptions::precision
  virtual std::int64_t file_bytes() const = 0;  // bytes the dataset takes in the file
  /// What the values are to be held as: uint8 or int8 where ReadOptions::keep_bytes asks for it, else by their class.
  virtual Number held_as() const { return value_class() == ValueClass::f32 ? Number::float32 : Number::float64; }
  /// Rows first .. first + out.rows - 1. The overload must match value_class(), or held_as(). Throws Error(data) on NaN
  /// or infinity unless they are kept (row and column of the first), values the class cannot hold (row and column), and
  /// damaged data.
  virtual void read(std::int64_t first, MatrixView<float> out) = 0;
  virtual void read(std::int64_t first, MatrixView<double> out) = 0;
  /// For sources that never hold bytes there is nothing to do: Error(internal).
  virtual void read(std::int64_t first, MatrixView<std::uint8_t> out);
  virtual void read(std::int64_t first, MatrixView<std::int8_t> out);
  /// Values that --precision f32 has changed so far.
  virtual std::int64_t changed_values() const = 0;
  /// Host bytes that it holds while rows are read, beside them.
  virtual std::int64_t held_bytes() const { return 0; }
  /// One for each column, or none.
  virtual std::vector<std::string> column_names() const { return {}; }
  /// The text of each row in the column of ReadOptions::id_column, label_column or weight_column; nothing when there is
  /// none.
  virtual std::vector<std::string> kept(Kept) const { return {}; }
};

/// Throws Error(internal) unless rows first .. first + out.rows - 1 are there, to be held as the type
/// of `out`, or in its class, and as wide.
void check_request(const PointSource& source, std::int64_t first, const MatrixView<float>& out);
void check_request(const PointSource& source, std::int64_t first, const MatrixView<double>& out);
void check_request(const PointSource& source, std::int64_t first, const MatrixView<std::uint8_t>& out);
void check_request(const PointSource& source, std::int64_t first, const MatrixView<std::int8_t>& out);

/// What --precision makes of values whose own class this is.
inline ValueClass class_for(ValueClass natural, Precision precision) {
  if (precision == Precision::automatic) return natural;
  return precision == Precision::f32 ? ValueClass::f32 : ValueClass::f64;
}

/// Opens points for reading. Throws Error(data) with file, dataset, expected, found and remedy.
std::unique_ptr<PointSource> open_points(const std::string& location, const ReadOptions& options = {});

/// Memory for all rows of a source, as they are to be held, not initialised. Throws std::bad_alloc.
PointsMatrix room_for(const PointSource& source);

/// Reads a whole dataset.
PointsMatrix read_all(PointSource& source);

/// Opens a matrix as float64 (centroids), a dataset or a result file's /centroids when `location` names a file of
/// format "kith-clusters" without a dataset.
std::unique_ptr<PointSource> open_centroids(const std::string& location);
/// The same, read.
Matrix<double> read_centroids(const std::string& location);

/// Every dataset of a file, or of the group that `place` names, readable or not, in path order; or the one dataset that
/// it names, under that name. Throws Error(data): what is missing and what is there instead.
std::vector<DatasetInfo> list_datasets(const Location& place, const ReadOptions& options = {});
std::vector<DatasetInfo> list_datasets(const std::string& file);

/// A row of the table of formats, shown by `kith devices` and the help.
struct FormatEntry {
  const char* name;        // "HDF5"
  const char* extensions;  // ".h5 .hdf5"
  const char* summary;
  bool (*recognises)(const std::string& file);  // by content; a file that none recognises is opened by its extension
  std::unique_ptr<PointSource> (*open)(const Location&, const ReadOptions&);
  std::vector<DatasetInfo> (*list)(const Location&, const ReadOptions&);
  bool chooses_columns = false;  // open() itself heeds the options about columns
};
std::span<const FormatEntry> formats();

}  // namespace kith::data
