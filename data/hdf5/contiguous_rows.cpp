// Gets the position of the values from HDF5, and reads them with the operating system.
#include "data/hdf5/contiguous_rows.h"

#include <fmt/format.h>

#include "data/io/input_bytes.h"
#include "data/io/input_error.h"

namespace kith::data {

std::optional<ContiguousRows> ContiguousRows::open(const Hdf5InputFile& file, hid_t dataset, const DatasetFacts& facts,
                                                   const std::string& name) {
  if (facts.info.layout != "contiguous") return std::nullopt;
  ContiguousRows result;
  result.name_ = name;
  result.descriptor_ = file.descriptor();
  result.row_bytes_ = facts.columns() * size_of(facts.element->number);
  const std::int64_t bytes = checked_product(facts.rows(), result.row_bytes_, "bytes of the dataset");
  const haddr_t begin = H5Dget_offset(dataset);  // undefined if no value was ever written
  if (begin == HADDR_UNDEF || H5Dget_storage_size(dataset) != static_cast<hsize_t>(bytes)) return std::nullopt;
  result.begin_ = static_cast<std::int64_t>(begin);
  if (result.begin_ < 0 || result.begin_ > file.bytes() - bytes) return std::nullopt;
  return result;
}

void ContiguousRows::read(std::int64_t first, std::int64_t count, std::byte* out) const {
  const std::string problem = read_at(descriptor_, begin_ + first * row_bytes_, count * row_bytes_, out);
  if (problem.empty()) return;
  refuse_input(name_, fmt::format("cannot read rows {} to {} (counted from 0): {}; copy or create the file again",
                                  first, first + count - 1, problem));
}

}  // namespace kith::data
