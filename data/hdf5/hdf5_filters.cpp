// Decodes chunks for the HDF5 library, in memory whose size the chunk itself bounds.
#include "data/hdf5/hdf5_filters.h"

#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "data/hdf5/chunk_filters.h"
#include "data/io/memory_limit.h"
#include "data/io/zstd_bytes.h"

namespace kith::data {
namespace {

/// The most bytes that a chunk can have; 0 if it is damaged. values: those of the filter in the file.
std::int64_t decoded_limit(FilterStep::Kind kind, std::span<const std::byte> in, std::span<const unsigned> values) {
  constexpr std::int64_t kRun = 264, kRunBytes = 3;  // of lzf: the longest run, and its bytes
  if (kind == FilterStep::zstd) return zstd_content_bytes(in);
  const std::int64_t most = std::ssize(in) / kRunBytes * kRun + kRun;
  return values.size() > 2 && values[2] > 0 ? std::min<std::int64_t>(most, values[2]) : most;
}

/// H5Z_func_t: replaces the chunk in `*buffer`; returns its new size, 0 for failure.
template <FilterStep::Kind kind>
std::size_t decode(unsigned flags, std::size_t value_count, const unsigned* values, std::size_t bytes,
                   std::size_t* capacity, void** buffer) {
  if ((flags & H5Z_FLAG_REVERSE) == 0) return 0;  // an optional filter then leaves the chunk as it is
  try {
    const auto* begin = static_cast<const std::byte*>(*buffer);
    const std::vector<std::byte> in(begin, begin + bytes);
    const std::int64_t limit = decoded_limit(kind, in, {values, value_count});
    if (limit <= 0 || limit > memory_limit() / 4) return 0;
    std::vector<std::byte> out;
    if (!unpack(kind, in, out, static_cast<std::size_t>(limit)).empty() || out.empty()) return 0;
    void* decoded = H5allocate_memory(out.size(), false);
    if (decoded == nullptr) return 0;
    std::memcpy(decoded, out.data(), out.size());
    H5free_memory(*buffer);
    *buffer = decoded;
    *capacity = out.size();
    return out.size();
  } catch (...) {  // no memory; nothing may be thrown through the library
    return 0;
  }
}

template <FilterStep::Kind kind>
void add(H5Z_filter_t number, const char* name) {
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, number, 1, 1, name, nullptr, nullptr, &decode<kind>};
  H5Zregister(&filter);
}

}  // namespace

void register_filters() {
  add<FilterStep::lzf>(kLzfFilter, "lzf");
  if (has_zstd()) add<FilterStep::zstd>(kZstdFilter, "zstd");
}

}  // namespace kith::data
