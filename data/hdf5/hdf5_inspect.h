// The properties of an HDF5 dataset, found without reading its values, and whether it can be read as points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/format/element.h"
#include "data/format/point_source.h"
#include "data/format/records.h"
#include "data/format/shape.h"
#include "data/hdf5/hdf5_file.h"

namespace kith::data {

/// What to do with a dataset whose filter cannot be decoded.
constexpr const char* kRewrite =
    "rewrite it: python3 -c \"import h5py, hdf5plugin; h5py.File('OUT', 'w')['x'] = h5py.File('IN')['DATASET'][()]\", "
    "or "
    "`h5repack -f GZIP=4 IN OUT` on a machine with the filter";

/// DatasetInfo::type of lists of their own length in each row.
inline constexpr const char* kVariableLength = "variable-length";

struct DatasetFacts {
  DatasetInfo info;                    // `unreadable` applies to points of two dimensions
  std::optional<ElementType> element;  // if kith can read the type
  ValueMarks marks;                    // on these numbers
  Records records;                     // of a compound
  std::vector<std::string> index;      // the fields that are pandas' index of the rows
  std::string obstacle;                // the layout or filter that makes the values unreadable, empty if none
  bool chunked = false;
  std::vector<std::int64_t> chunk;  // its shape as in the file, unchecked
  bool reversed = false;            // MATLAB and R write matrices by columns: HDF5 shows their dimensions reversed

  bool has_records() const { return !records.fields.empty(); }
  /// Bytes of a number or a record.
  std::int64_t element_bytes() const { return has_records() ? records.bytes : size_of(element->number); }
  /// For rank 2, or rank 1 as one column.
  std::int64_t rows() const { return info.shape.at(0); }
  std::int64_t columns() const { return info.shape.size() == 1 ? 1 : info.shape.at(1); }
};

// For data/io/packed.h.
template <class Archive>
void each_field(Archive& archive, DatasetInfo& info) {
  archive(info.path, info.shape, info.type, info.byte_order, info.layout, info.filters, info.stored_bytes,
          info.unreadable, info.is_readable, info.is_damaged, info.columns, info.column_types, info.text_columns);
}
template <class Archive>
void each_field(Archive& archive, DatasetFacts& facts) {
  archive(facts.info, facts.element, facts.obstacle, facts.chunked, facts.chunk, facts.reversed, facts.records,
          facts.index, facts.marks);
}

/// `dataset` is open. Accesses no other file, for any layout.
DatasetFacts inspect(const Hdf5InputFile& file, hid_t dataset, const std::string& path);

/// Why it cannot be read as points: expected, found, and a remedy. Empty if it can. Accesses no file.
std::string refusal(const DatasetFacts& facts, std::int64_t file_bytes, bool vector_as_column);

/// Throws Error with ExitCode::memory if reading a chunk of values of `element_bytes` takes more memory than is left.
void require_chunk_memory(const DatasetFacts& facts, std::int64_t element_bytes, const std::string& place);

/// Why the values, of `element_bytes` each, cannot all be stored in a file of this size. Empty if they can. `facts` has
/// rank 1 or 2.
std::string refusal_of_storage(const DatasetFacts& facts, std::int64_t file_bytes, std::int64_t element_bytes);

// The marks of an HDF5 dataset on its numbers: attributes of NetCDF and of R. It uses the HDF5 library: call it with
// Hdf5Child.

/// NA among the booleans of R, FALSE, TRUE and NA.
inline constexpr std::uint8_t kNoneOfBooleans = 2;

/// The marks of a dataset of numbers. Changes the sign of `type` if the attribute _Unsigned does. Sets `problem` if the
/// attributes cannot be understood. The fill value of HDF5 itself is what unwritten values are, and no mark, but for
/// the default of NetCDF in its files.
ValueMarks marks_of(hid_t dataset, ElementType& type, std::string& problem);

}  // namespace kith::data
