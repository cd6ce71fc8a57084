// Rows of a contiguous HDF5 dataset, read without HDF5, so that several threads can read at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/hdf5/hdf5_inspect.h"

namespace kith::data {

class ContiguousRows {
 public:
  /// nullopt if the values are not contiguous in the file, so that HDF5 has to read them. `name` is for messages.
  static std::optional<ContiguousRows> open(const Hdf5InputFile& file, hid_t dataset, const DatasetFacts& facts,
                                            const std::string& name);

  /// Rows first .. first + count - 1, bytes as in the file. Thread-safe while the file is open. Throws Error(data) with
  /// the rows that cannot be read.
  void read(std::int64_t first, std::int64_t count, std::byte* out) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  std::int64_t begin_ = 0;  // position of the values in the file
  std::int64_t row_bytes_ = 0;
};

}  // namespace kith::data
