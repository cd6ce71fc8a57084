// Adds a column to obs of a copy of an AnnData file. These functions use the HDF5 library on a foreign file: call them
// with one Hdf5Child.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith::data {

struct NewColumn {
  std::string copy;    // a name of the open copy
  std::string output;  // its name in messages
  std::string name;    // of the column
  std::int64_t rows = 0, categories = 0;
};
template <class Archive>
void each_field(Archive& archive, NewColumn& column) {
  archive(column.copy, column.output, column.name, column.rows, column.categories);
}

/// Opens the copy and makes the column without its labels. Throws Error(output), as the other functions do.
void begin_column(const NewColumn& column);
/// Labels first .. first + size - 1 of the column.
void write_codes(std::int64_t first, const std::vector<std::int32_t>& labels);
/// Writes the categories and the order of the columns, which it returns, and closes the copy.
std::vector<std::string> finish_column();

/// The first object of the copy that does not read back as it should, empty if all do. `checksum`: CRC-32 of the labels
/// as int32. Throws Error(data) if a part of the original cannot be read.
std::string find_wrong(const std::string& original, const NewColumn& column, const std::vector<std::string>& order,
                       std::int64_t checksum);

}  // namespace kith::data
