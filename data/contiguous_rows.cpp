// Asks HDF5 where the values are, and leaves the rest to the operating system.
#include "data/contiguous_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kith::data {

std::optional<ContiguousRows> ContiguousRows::open(const Hdf5InputFile& file, hid_t dataset, const DatasetFacts& facts,
                                                   const std::string& name) {
  if (facts.info.layout != "contiguous") return std::nullopt;
  ContiguousRows result;
  result.name_ = name;
  result.descriptor_ = file.descriptor();
  result.row_bytes_ = facts.columns() * size_of(facts.element->number);
  const std::int64_t bytes = checked_product(facts.rows(), result.row_bytes_, "bytes of the dataset");
  const haddr_t begin = H5Dget_offset(dataset);  // undefined while nothing was ever written
  if (begin == HADDR_UNDEF || H5Dget_storage_size(dataset) != static_cast<hsize_t>(bytes)) return std::nullopt;
  result.begin_ = static_cast<std::int64_t>(begin);
  if (result.begin_ < 0 || result.begin_ > file.bytes() - bytes) return std::nullopt;
  return result;
}

void ContiguousRows::read(std::int64_t first, std::int64_t count, std::byte* out) const {
  std::int64_t at = begin_ + first * row_bytes_, left = count * row_bytes_;
  while (left > 0) {
    const ssize_t got = pread(descriptor_, out, static_cast<std::size_t>(left), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(
          ExitCode::data,
          fmt::format("{}: rows {} to {} (counted from 0) cannot be read: {}; copy or make the file again", name_,
                      first, first + count - 1, got == 0 ? "the file ends before them" : std::strerror(errno)));
    }
    out += got;
    at += got;
    left -= got;
  }
}

}  // namespace kith::data
