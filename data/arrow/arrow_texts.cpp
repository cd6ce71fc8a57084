// Points of a table some of whose columns are texts, which become features: the table is read as text.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "data/arrow/arrow_table.h"
#include "data/format/filters.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

/// What is said about the lines of the text is said about the rows of the table.
std::string with_rows(std::string message) {
  constexpr std::string_view kLine = "line ";
  for (std::size_t at = message.find(kLine); at != message.npos; at = message.find(kLine, at + 1)) {
    const std::size_t begin = at + kLine.size(), end = message.find_first_not_of("0123456789", begin);
    const std::string number = message.substr(begin, std::min(end, message.size()) - begin);
    if (number.empty() || number.size() > 18 || number == "1") continue;
    message.replace(at, kLine.size() + number.size(), fmt::format("row {}", std::stoll(number) - 1));
  }
  constexpr std::string_view kRemedy = "remove the line";
  if (const std::size_t at = message.find(kRemedy); at != message.npos)
    message.replace(at, kRemedy.size(), "remove the row");
  return message;
}

/// Calls use(), whose errors are about rows.
template <class Use>
auto about_rows(const std::string& name, bool are_lines, const Use& use) {
  try {
    return use();
  } catch (const NoRows&) {
    throw NoRows(name, "expected rows of numbers and texts, found none; give a file that holds some");
  } catch (const Error& error) {
    throw Error(error.code(), are_lines ? with_rows(error.what()) : error.what(), error.cause());
  }
}

class TableOfTexts final : public SourceFilter {
 public:
  TableOfTexts(std::unique_ptr<PointSource> text, bool are_lines, std::int64_t file_bytes, std::string remark)
      : SourceFilter(std::move(text)), are_lines_(are_lines), file_bytes_(file_bytes), remark_(std::move(remark)) {}

  std::string element_type() const override { return "table"; }
  std::int64_t file_bytes() const override { return file_bytes_; }
  bool has_chosen_columns() const override { return true; }
  std::optional<TableForm> table_form() const override { return std::nullopt; }
  std::vector<std::string> remarks() const override {
    std::vector<std::string> all = inner_->remarks();
    for (std::string& remark : all) remark = are_lines_ ? with_rows(remark) : remark;
    if (!remark_.empty()) all.push_back(remark_);
    return all;
  }
  void read(std::int64_t first, MatrixView<float> out) override {
    about_rows(name(), are_lines_, [&] { inner_->read(first, out); });
  }
  void read(std::int64_t first, MatrixView<double> out) override {
    about_rows(name(), are_lines_, [&] { inner_->read(first, out); });
  }

 private:
  bool are_lines_;
  std::int64_t file_bytes_;
  std::string remark_;
};

}  // namespace

std::unique_ptr<PointSource> open_own_text(InputBytes text, const ReadOptions& options, std::int64_t file_bytes,
                                           std::string remark) {
  const bool are_lines = text.has_own_lines();
  const std::string name = text.name();
  return about_rows(name, are_lines, [&]() -> std::unique_ptr<PointSource> {
    return std::make_unique<TableOfTexts>(open_text_table(std::move(text), options), are_lines, file_bytes,
                                          std::move(remark));
  });
}

}  // namespace kith::data
