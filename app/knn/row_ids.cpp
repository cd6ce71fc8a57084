// Prints names of rows, and writes them as texts of one length.
#include "app/knn/row_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/quoted.h"
#include "data/results/label_file.h"

namespace kith::app {
namespace {

template <std::size_t width>
void write_as(data::ResultFile& file, const std::string& name, const std::vector<std::string>& ids) {
  using Text = data::FixedText<width>;
  constexpr std::int64_t kBlock = (std::int64_t{1} << 20) / width;
  const std::int64_t rows = std::ssize(ids);
  file.create_vector<Text>(name, rows);
  Matrix<Text> block(std::min(kBlock, rows), 1);
  for (std::int64_t first = 0; first < rows; first += kBlock) {
    const std::int64_t here = std::min(kBlock, rows - first);
    for (std::int64_t i = 0; i < here; ++i) {
      Text& text = block(i, 0);
      const std::string& id = ids[static_cast<std::size_t>(first + i)];
      std::memset(text.bytes, 0, width);
      std::memcpy(text.bytes, id.data(), std::min(id.size(), width));
    }
    file.write_rows<Text>(name, first, std::as_const(block).view().middle(0, here));
  }
}

void write_texts(data::ResultFile& file, const std::string& name, const std::vector<std::string>& ids) {
  const auto longest = std::max_element(ids.begin(), ids.end(),
                                        [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  if (longest->size() <= 16) return write_as<16>(file, name, ids);
  if (longest->size() <= 64) return write_as<64>(file, name, ids);
  if (longest->size() <= 256) return write_as<256>(file, name, ids);
  throw Error(ExitCode::data,
              fmt::format("--id-column: row {} (counted from 1): expected at most 256 bytes for a result "
                          "in HDF5, found {} ('{}'); shorten it, or leave the column out with "
                          "--drop-columns",
                          longest - ids.begin() + 1, longest->size(), quoted(*longest, 40)));
}

}  // namespace

RowIds::RowIds(const data::PointSource& base, const data::PointSource* queries)
    : base_(base.kept(data::Kept::id)),
      queries_(queries == nullptr ? std::vector<std::string>() : queries->kept(data::Kept::id)),
      base_name_(base.id_name()) {}

std::string RowIds::base_name() const {
  return base_.empty() ? "row" : base_name_.empty() ? "id" : data::csv_field(base_name_);
}

void RowIds::write(data::ResultFile& file) const {
  if (!base_.empty()) write_texts(file, "ids", base_);
  if (!queries_.empty()) write_texts(file, "query_ids", queries_);
}

std::string RowIds::text_of(const std::vector<std::string>& ids, std::int64_t row, char delimiter) {
  if (ids.empty() || row < 0) return std::to_string(row);
  const std::string& id = ids[static_cast<std::size_t>(row)];
  return delimiter == ',' ? data::csv_field(id) : quoted(id, id.size());
}

}  // namespace kith::app
