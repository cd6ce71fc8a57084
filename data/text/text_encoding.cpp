// Collects the texts of columns in one pass, and names the features.
#include "data/text/text_encoding.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/quoted.h"
#include "data/format/column_choice.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"
#include "data/text/text_refusal.h"

namespace kith::data {
namespace {

constexpr std::size_t kMostFeatures = 1000;  // of one column

/// The texts as a part of a name; their number and checksum if a list could not be read back.
std::string list_of(const std::vector<std::string>& texts) {
  constexpr std::size_t kMostListed = 50;
  const bool listed = texts.size() <= kMostListed && std::none_of(texts.begin(), texts.end(), [](const auto& text) {
                        return text.find('|') != text.npos;
                      });
  if (listed) return fmt::format("{}", fmt::join(texts, "|"));
  uLong sum = crc32(0, nullptr, 0);
  for (const std::string& text : texts) {
    sum = crc32(sum, reinterpret_cast<const Bytef*>(text.c_str()), static_cast<uInt>(text.size() + 1));
  }
  return fmt::format("{} texts, CRC-32 {:08x}", texts.size(), sum);
}

/// The texts that the features `like` have for this column; empty if they do not list any.
std::vector<std::string> texts_of(const std::vector<std::string>& like, const std::string& column, Encode how) {
  std::vector<std::string> texts;
  for (const std::string& name : like) {
    if (name.size() <= column.size() || !name.starts_with(column) || name[column.size()] != '=') continue;
    std::string text = name.substr(column.size() + 1);
    if (how == Encode::onehot) {
      texts.push_back(std::move(text));
      continue;
    }
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('|', begin), text.size());
      texts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    if (list_of(texts) != text || texts.size() < 2) return {};
  }
  return std::is_sorted(texts.begin(), texts.end()) ? texts : std::vector<std::string>();
}

/// Whether the first rows have texts in this column, and only missing values beside them; dates do not count.
bool holds_texts(const TextHead& head, std::int64_t column) {
  const std::vector<std::int64_t> alone{column};
  bool any = false, dates = false;
  for (const TextHead::Sample& row : head.samples) {
    if (column >= std::ssize(row.fields)) return false;
    const std::string& field = row.fields[static_cast<std::size_t>(column)];
    if (is_missing(head, field)) continue;
    if (!is_text_field(head, field)) return false;
    any = true;
    dates = dates || is_date_text(field);
  }
  return any && !dates;
}

}  // namespace

void ColumnEncoding::set_texts(std::vector<std::string> texts) {
  texts_ = std::move(texts);
  places_.clear();
  for (std::size_t i = 0; i < texts_.size(); ++i) places_.emplace(texts_[i], i);
}

std::int64_t ColumnEncoding::place(std::string_view text) const {
  const auto found = places_.find(text);
  return found == places_.end() ? -1 : found->second;
}

void ColumnEncoding::append_names(const std::string& column_name, std::vector<std::string>& names) const {
  if (how_ == Encode::ordinal) {
    names.push_back(column_name + "=" + list_of(texts_));
    return;
  }
  for (const std::string& text : texts_) names.push_back(column_name + "=" + text);
}

std::vector<ColumnEncoding> find_encodings(const TextHead& head, const std::vector<std::string>& names,
                                           const std::vector<std::int64_t>& points, const ReadOptions& options,
                                           const std::string& table) {
  std::vector<ColumnEncoding> encodings;
  if (options.encode.empty()) return encodings;
  Encode all = Encode::none;
  std::unordered_map<std::int64_t, Encode> chosen;
  std::unordered_set<std::int64_t> is_point(points.begin(), points.end());
  for (const EncodeRule& rule : options.encode) {
    if (rule.column.empty()) {
      all = rule.how;
      continue;
    }
    const std::int64_t column = choose_column("--encode", rule.column, names, head.columns, table);
    if (is_point.count(column) == 0) {
      throw Error(ExitCode::usage, fmt::format("--encode: {} is not one of the points of {}; leave it out, or choose "
                                               "the column with --columns",
                                               show_column(head.names, column), table));
    }
    chosen[column] = rule.how;
  }
  for (const std::int64_t column : points) {
    const auto rule = chosen.find(column);
    const bool by_name = rule != chosen.end();
    const Encode how = by_name ? rule->second : all != Encode::none && holds_texts(head, column) ? all : Encode::none;
    if (how != Encode::none) encodings.emplace_back(column, how);
  }
  return encodings;
}

void find_texts(const InputBytes& input, const TextHead& head, const TextIndex& index,
                const std::vector<std::string>& names, const ReadOptions& options,
                std::vector<ColumnEncoding>& encodings) {
  struct Found {
    std::set<std::string, std::less<>> texts;
    ColumnEncoding* encoding = nullptr;
  };
  std::vector<Found> all(encodings.size());
  std::vector<Found*> of_column(static_cast<std::size_t>(head.columns));
  bool any = false;
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    const auto column = static_cast<std::size_t>(encodings[i].column());
    all[i].encoding = &encodings[i];
    encodings[i].set_texts(texts_of(options.like, names[column], encodings[i].how()));
    if (!encodings[i].texts().empty()) continue;
    of_column[column] = &all[i];
    any = true;
  }
  if (!any) return;
  constexpr std::int64_t kBytesPerText = 256;  // in the set, the list and the map
  MemoryGrowth growth(input.name());
  Matrix<std::byte> buffer;
  for (const TextBlock& block : index.blocks) {
    for_records(input, head.syntax, block, buffer, [&](std::string_view record, std::int64_t, std::int64_t) {
      FieldCursor cursor(record, head.syntax.delimiter);
      for (Found* found : of_column) {
        if (!cursor.more()) break;
        const Field field = cursor.take();
        if (found == nullptr) continue;
        if (!field.quoted && found->texts.find(field.text) != found->texts.end()) continue;
        std::string text = text_of(field);
        if (is_missing(head, text)) continue;
        const auto bytes = kBytesPerText + 2 * std::ssize(text);
        if (!found->texts.insert(std::move(text)).second) continue;
        growth.add(bytes);
        if (found->encoding->how() == Encode::onehot && found->texts.size() > kMostFeatures) {
          const std::int64_t column = found->encoding->column();
          refuse_input(input.name(), fmt::format("expected at most {} different texts in {}, one feature each, found "
                                                 "more; say --encode {}=ordinal, or leave the column out with "
                                                 "--drop-columns {}",
                                                 kMostFeatures, show_column(head.names, column),
                                                 option_text(head.names, column), option_text(head.names, column)));
        }
      }
    });
  }
  for (Found& found : all) {
    if (!found.encoding->texts().empty()) continue;
    if (found.texts.empty()) {
      const std::int64_t column = found.encoding->column();
      refuse_input(input.name(), fmt::format("expected texts in {}, found missing values only; leave it out with "
                                             "--drop-columns {}",
                                             show_column(head.names, column), option_text(head.names, column)));
    }
    found.encoding->set_texts({found.texts.begin(), found.texts.end()});
  }
}

std::vector<std::string> encoded_columns(const std::vector<std::string>& like, const std::vector<std::string>& names) {
  const std::unordered_set<std::string_view> known(names.begin(), names.end());
  std::unordered_set<std::string_view> seen;
  std::vector<std::string> columns;
  for (const std::string& name : like) {
    std::string_view column = name;
    while (known.count(column) == 0 && column.find('=') != column.npos) column = column.substr(0, column.rfind('='));
    if (seen.insert(column).second) columns.emplace_back(column);
  }
  return columns;
}

}  // namespace kith::data
