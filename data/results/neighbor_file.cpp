// Writes neighbours and distances block by block, each to its position in the file.
#include "data/results/neighbor_file.h"

#include <bit>
#include <vector>

#include "data/io/output_bytes.h"

namespace kith::data {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written in the byte order of memory");
constexpr std::int64_t kWord = 4;  // bytes of every number in these files

std::int64_t bytes_of(NeighborFormat format, const NeighborFile::Shape& shape) {
  const std::int64_t lists = checked_product(shape.queries, shape.neighbors, "neighbours");
  return format == NeighborFormat::bigann ? 2 * kWord + 2 * kWord * lists : kWord * (lists + shape.queries);
}

}  // namespace

struct NeighborFile::State {
  State(const std::string& path, const OutputOptions& options, NeighborFormat file_format, const Shape& sizes)
      : bytes(path, options), format(file_format), shape(sizes) {}

  OutputBytes bytes;
  NeighborFormat format;
  Shape shape;
};

NeighborFile::NeighborFile(const std::string& path, const OutputOptions& options, NeighborFormat format,
                           const Shape& shape) {
  state_ = std::make_unique<State>(path, options, format, shape);
  state_->bytes.require_space(bytes_of(format, shape));
  if (format == NeighborFormat::ivecs) return;
  const std::uint32_t header[] = {static_cast<std::uint32_t>(shape.queries),
                                  static_cast<std::uint32_t>(shape.neighbors)};
  state_->bytes.write(header, sizeof header);
}

NeighborFile::~NeighborFile() = default;

void NeighborFile::write(std::int64_t first_query, MatrixView<const std::int64_t> neighbors,
                         MatrixView<const float> distances) {
  const Shape& shape = state_->shape;
  const bool with_length = state_->format == NeighborFormat::ivecs;
  const std::int64_t row_words = shape.neighbors + (with_length ? 1 : 0);
  std::vector<std::int32_t> words;
  words.reserve(static_cast<std::size_t>(neighbors.rows * row_words));
  for (std::int64_t i = 0; i < neighbors.rows; ++i) {
    if (with_length) words.push_back(static_cast<std::int32_t>(shape.neighbors));
    for (const std::int64_t row : neighbors.row(i)) words.push_back(static_cast<std::int32_t>(row));
  }
  const std::int64_t header = with_length ? 0 : 2 * kWord;
  state_->bytes.seek(header + first_query * row_words * kWord);
  state_->bytes.write(words.data(), words.size() * kWord);
  if (with_length) return;
  state_->bytes.seek(header + (shape.queries + first_query) * row_words * kWord);
  state_->bytes.write(distances.data, static_cast<std::size_t>(distances.size() * kWord));
}

void NeighborFile::finish() { state_->bytes.publish(); }

}  // namespace kith::data
