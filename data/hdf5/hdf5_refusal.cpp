// Checks whether an HDF5 dataset can be read as points; the first check that fails gives the message.
#include <fmt/format.h>

#include <algorithm>

#include "core/no_memory.h"
#include "data/format/shape.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/io/memory_limit.h"
#include "data/io/stream_bytes.h"

namespace kith::data {
namespace {

/// The largest ratio of decoded to stored bytes, of deflate or zstd.
std::int64_t largest_expansion(const DatasetInfo& info) {
  constexpr std::int64_t kZstdExpansion = std::int64_t{1} << 17;  // the bytes of a block
  return std::count(info.filters.begin(), info.filters.end(), "zstd") > 0 ? kZstdExpansion : kDeflateExpansion;
}
constexpr std::int64_t kMaxChunkBytes = (std::int64_t{1} << 32) - 1;  // HDF5's own limit

/// 0 for a chunk with a size of 0.
std::int64_t bytes_of_chunk(const DatasetFacts& facts, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  for (const std::int64_t c : facts.chunk) bytes = c > 0 ? capped_product(bytes, c) : 0;
  return bytes;
}

std::string refusal_of_chunks(const DatasetFacts& facts, std::int64_t declared, std::int64_t element_bytes) {
  const std::int64_t stored = facts.info.stored_bytes, chunk_bytes = bytes_of_chunk(facts, element_bytes);
  const std::int64_t possible =
      facts.info.filters.empty() ? stored : capped_product(stored, largest_expansion(facts.info));
  if (chunk_bytes <= 0 || chunk_bytes > kMaxChunkBytes || chunk_bytes > possible) {
    return fmt::format(
        "one chunk is declared with {} bytes, but only {} bytes are stored in all; create it again with smaller "
        "chunks, for "
        "example with `h5repack`",
        chunk_bytes, stored);
  }
  if (declared > capped_product(stored, largest_expansion(facts.info))) {
    return fmt::format(
        "declared as {} ({} bytes), but only {} bytes are stored; most of it was never written: create it again",
        show_shape(facts.info.shape), declared, stored);
  }
  return "";
}

}  // namespace

void require_chunk_memory(const DatasetFacts& facts, std::int64_t element_bytes, const std::string& place) {
  constexpr std::int64_t kCopies = 3;  // as stored, decoded, and between two filters
  const std::int64_t chunk = facts.chunked ? bytes_of_chunk(facts, element_bytes) : 0, left = memory_limit();
  if (capped_product(kCopies, chunk) <= left) return;
  throw Error(kNoMemory,
              fmt::format("{}: one chunk takes {}, and reading it {} times as much, but only {} of memory are left; "
                          "rewrite it with smaller chunks with `h5repack`, or give a larger --memory",
                          place, show_bytes(chunk), kCopies, show_bytes(left)));
}

std::string refusal_of_storage(const DatasetFacts& facts, std::int64_t file_bytes, std::int64_t element_bytes) {
  const auto& info = facts.info;
  if (std::string problem = refusal_of_size(info.shape); !problem.empty()) return problem;
  const std::int64_t declared = capped_product(facts.rows() * facts.columns(), element_bytes);
  if (facts.chunked && facts.chunk.size() != facts.info.shape.size()) {
    return fmt::format("damaged: chunks of {} dimensions in a dataset of {}; copy or create the file again",
                       facts.chunk.size(), facts.info.shape.size());
  }
  if (info.stored_bytes == 0) {
    return fmt::format("declared as {}, but no value was ever written; create it again", show_shape(info.shape));
  }
  if (info.stored_bytes < 0 || info.stored_bytes > file_bytes) {
    return fmt::format(
        "declared with {} stored bytes in a file of {}; the file is damaged or truncated: copy or create it again",
        info.stored_bytes, file_bytes);
  }
  if (facts.chunked) return refusal_of_chunks(facts, declared, element_bytes);
  if (info.stored_bytes != declared) {
    return fmt::format(
        "declared as {} {} ({} bytes), but {} bytes are stored; the file is damaged: copy or create it again",
        show_shape(info.shape), info.type, declared, info.stored_bytes);
  }
  return "";
}

std::string refusal(const DatasetFacts& facts, std::int64_t file_bytes, bool vector_as_column) {
  if (!facts.obstacle.empty()) return facts.obstacle;
  if (facts.info.type == kVariableLength) {
    return "expected numbers in rows of one length, found lists of different lengths (a variable-length type), as a "
           "search within "
           "a radius gives; kith reads matrices: name a dataset of numbers with rows and columns";
  }
  if (!facts.element && !facts.has_records()) {
    return fmt::format(
        "expected numbers (float16, float32, float64, bool, or integers of 8, 16, 32 or 64 bits), found {}{}; name a "
        "dataset of numbers",
        facts.info.type, facts.info.byte_order == "other" ? " in an unknown byte order" : "");
  }
  if (facts.has_records() && facts.info.shape.size() != 1) {
    return fmt::format("expected 1 dimension of records, found {} ({}); write them as a vector",
                       facts.info.shape.size(), show_shape(facts.info.shape));
  }
  const std::string shape = refusal_of_shape(facts.info.shape, vector_as_column || facts.has_records());
  return shape.empty() ? refusal_of_storage(facts, file_bytes, facts.element_bytes()) : shape;
}

}  // namespace kith::data
