// Compares names and shapes of arrays, and words the refusals.
#include "data/format/array_choice.h"

#include <fmt/format.h>

#include <string>

#include "data/format/shape.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

std::string show(const std::vector<DatasetInfo>& arrays) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> items(arrays.size());
  for (std::size_t i = 0; i < std::min(arrays.size(), kShown); ++i) {
    items[i] = fmt::format("{} ({}, {})", arrays[i].path, show_shape(arrays[i].shape),
                           arrays[i].type.empty() ? "no array" : arrays[i].type);
  }
  return show_list(items, kShown);
}

}  // namespace

bool is_of_kind(const DatasetInfo& info, TableKind kind, bool vector_as_column) {
  if (kind == TableKind::records) return !info.columns.empty();
  const bool numbers = is_number(info.type) || info.type == "sparse";
  if (kind == TableKind::matrix) return numbers && info.shape.size() == 2;
  return vector_as_column && numbers && info.shape.size() == 1;
}

std::string describe(TableKind kind, const char* noun) {
  if (kind == TableKind::records) return fmt::format("{} of records", noun);
  return fmt::format("{}-dimensional {} of numbers", kind == TableKind::matrix ? 2 : 1, noun);
}

std::size_t choose_array(const std::vector<DatasetInfo>& arrays, const Location& location, bool vector_as_column) {
  if (!location.dataset.empty()) {
    const std::string path = (location.dataset.starts_with('/') ? "" : "/") + location.dataset;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].path == path || arrays[i].path + ".npy" == path) return i;
    }
    refuse_input(location.file, fmt::format("no such array: '{}'; the file holds {}", location.dataset, show(arrays)));
  }
  for (const TableKind kind : kTableKinds) {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (is_of_kind(arrays[i], kind, vector_as_column)) candidates.push_back(i);
    }
    if (candidates.size() == 1) return candidates[0];
    if (candidates.size() > 1) {
      refuse_input(location.file,
                   fmt::format("expected one {}, found {}: {}; name one, as in {}:{}", describe(kind, "array"),
                               candidates.size(), show(arrays), location.file, arrays[candidates[0]].path));
    }
  }
  for (const DatasetInfo& array : arrays) {
    if (!array.type.empty() || array.unreadable.empty()) continue;
    if (array.unreadable.starts_with(location.file)) throw Error(ExitCode::data, array.unreadable);
    refuse_input(fmt::format("{}:{}", location.file, array.path), array.unreadable);
  }
  refuse_input(location.file,
               fmt::format("expected a 2-dimensional array of numbers, found {}; give a file with one", show(arrays)));
}

}  // namespace kith::data
