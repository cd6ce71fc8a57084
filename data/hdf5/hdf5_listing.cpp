// Lists the datasets and sparse matrices of an HDF5 file.
#include "data/hdf5/hdf5_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "data/format/array_choice.h"
#include "data/format/shape.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_sparse.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

DatasetInfo describe(const Hdf5InputFile& file, hid_t dataset, const std::string& path) {
  DatasetFacts facts = inspect(file, dataset, path);
  if (facts.reversed) std::reverse(facts.info.shape.begin(), facts.info.shape.end());
  return facts.info;
}

/// The sparse matrix whose offsets of rows or columns (indptr, jc) are the dataset at `path`; nullopt for any other
/// dataset.
std::optional<DatasetInfo> sparse_matrix_of(const Hdf5InputFile& file, const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string last = path.substr(slash + 1);
  if (last != "indptr" && last != "jc") return std::nullopt;
  const auto group = sparse_group(file, slash == 0 ? "/" : path.substr(0, slash));
  if (!group) return std::nullopt;
  DatasetInfo info;
  info.path = group->path;
  info.shape = {group->rows, group->columns};
  info.type = "sparse";
  info.layout = group->kind;
  return info;
}

std::string folder_of(const std::string& path) { return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)); }

}  // namespace

void refuse_pandas_frame(const Hdf5InputFile& file, const std::string& group) {
  const std::string kind = text_attribute(open_object(file, group).get(), "pandas_type");
  if (kind.empty()) return;
  refuse_input(fmt::format("{}:{}", file.name(), group),
               fmt::format("expected a dataset of numbers, found a frame of pandas, {}; convert it: python3 -c "
                           "\"import pandas; pandas.read_hdf('IN', '{}').to_csv('OUT.csv', index=False)\"",
                           kind.ends_with("_table") ? "whose columns are in a table"
                                                    : "whose columns are in several "
                                                      "datasets",
                           group.substr(1)));
}

std::vector<DatasetInfo> list_open_file(const Hdf5InputFile& file) {
  std::vector<DatasetInfo> list;
  const auto add_unreadable = [&list](const std::string& path, const std::string& reason, bool is_damaged) {
    DatasetInfo info;
    info.path = path;
    info.type = "unknown";
    info.unreadable = reason;
    info.is_damaged = is_damaged;
    list.push_back(info);
  };
  for_each_dataset(file, [&](VisitedObject visited) {
    if (!visited.object) return add_unreadable(visited.path, visited.unreadable, visited.is_damaged);
    try {
      list.push_back(describe(file, visited.object.get(), visited.path));
    } catch (const Error& error) {
      return add_unreadable(visited.path, error.what(), true);
    }
    try {
      if (const auto sparse = sparse_matrix_of(file, visited.path)) list.push_back(*sparse);
    } catch (const Error&) {  // a damaged matrix is not listed; its parts are
    }
  });
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return list;
}

std::string show_datasets(const std::vector<DatasetInfo>& list) {
  if (list.empty()) return "no dataset at all";
  std::vector<std::string> items;
  for (const DatasetInfo& info : list) {
    items.push_back(fmt::format("{} ({}, {})", info.path, show_shape(info.shape), info.type));
  }
  return show_list(items);
}

std::string only_dataset(const Hdf5InputFile& file, bool vector_as_column) {
  const auto all = list_open_file(file);
  const auto refuse_frames = [&] {
    for (const DatasetInfo& info : all) refuse_pandas_frame(file, folder_of(info.path));
  };
  for (const TableKind kind : kTableKinds) {
    std::vector<DatasetInfo> candidates;
    std::copy_if(all.begin(), all.end(), std::back_inserter(candidates),
                 [&](const auto& info) { return is_of_kind(info, kind, vector_as_column); });
    if (candidates.size() == 1 && kind != TableKind::records) return candidates[0].path;
    if (!candidates.empty()) refuse_frames();
    if (candidates.size() == 1) return candidates[0].path;
    if (candidates.size() > 1) {
      refuse_input(file.name(),
                   fmt::format("expected one {}, found {}: {}; name one, as in {}:{}", describe(kind, "dataset"),
                               candidates.size(), show_datasets(candidates), file.name(), candidates[0].path));
    }
  }
  refuse_frames();
  if (all.size() == 1 && all[0].type == "compound") {
    refuse_input(fmt::format("{}:{}", file.name(), all[0].path), all[0].unreadable);
  }
  refuse_input(file.name(), fmt::format("expected a 2-dimensional dataset of numbers, found {}; give a file with one",
                                        show_datasets(all)));
}

std::string hard_link_path(hid_t object) {
  std::string path(static_cast<std::size_t>(std::max<ssize_t>(H5Iget_name(object, nullptr, 0), 0)), '\0');
  H5Iget_name(object, path.data(), path.size() + 1);
  return path;
}

std::vector<DatasetInfo> list_file(const std::string& name, const std::string& dataset) {
  const Hdf5InputFile file(name);
  if (dataset.empty()) return list_open_file(file);
  const std::string path = normal_path(dataset);
  const Handle object = open_object(file, path);
  if (H5Iget_type(object.get()) == H5I_DATASET) return {describe(file, object.get(), path)};
  auto all = list_open_file(file);
  const std::string group = hard_link_path(object.get());
  const std::string begin = group == "/" ? group : group + "/";
  const std::string existing = show_datasets(all);
  std::erase_if(all, [&](const auto& info) { return info.path != group && !info.path.starts_with(begin); });
  if (!all.empty() || path == "/") return all;
  refuse_input(fmt::format("{}:{}", file.name(), path),
               fmt::format("expected a dataset or a group with datasets, found neither; the file holds {}", existing));
}

}  // namespace kith::data
