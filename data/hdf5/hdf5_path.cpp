// Follows the links of an HDF5 file one by one; HDF5's own lookup of paths would open other files.
#include "data/hdf5/hdf5_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <set>

#include "data/format/column_choice.h"
#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_groups.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

constexpr int kMaximumSoftLinks = 40;       // in one path; more indicate a cycle
constexpr std::size_t kMaximumDepth = 256;  // of nested groups in a listing

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> names;
  for (std::string& name : split_text(path, '/')) {
    if (!name.empty() && name != ".") names.push_back(std::move(name));
  }
  return names;
}

std::string join(const std::vector<std::string>& names) { return fmt::format("/{}", fmt::join(names, "/")); }

/// The target of a soft link, or "file:/path" of an external one, or empty.
std::string target_of(hid_t group, const std::string& name, const H5L_info_t& link) {
  std::string value(link.u.val_size, '\0');
  if (H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) return "";
  if (link.type == H5L_TYPE_SOFT) return value.c_str();
  const char* file = nullptr;
  const char* path = nullptr;
  unsigned flags = 0;
  if (link.type != H5L_TYPE_EXTERNAL || H5Lunpack_elink_val(value.data(), value.size(), &flags, &file, &path) < 0)
    return "";
  return fmt::format("{}:{}", file, path);
}

std::string refusal_of_link(hid_t group, const std::string& name, const H5L_info_t& link) {
  if (link.type == H5L_TYPE_EXTERNAL) {
    return fmt::format("is an external link to {}, which is not followed; name that file itself",
                       target_of(group, name, link));
  }
  return fmt::format("is a user-defined link (class {}), which is not followed; name another dataset",
                     static_cast<int>(link.type));
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// Collects what can be read; false if that is not all.
bool collect_names(hid_t group, std::vector<std::string>& names) {
  return H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &names) >= 0;
}

/// "file:/path" of an open object.
std::string place_of(hid_t object) {
  const auto text_of = [object](const auto& get) {
    std::string text(static_cast<std::size_t>(std::max<ssize_t>(get(object, nullptr, 0), 0)), '\0');
    get(object, text.data(), text.size() + 1);
    return text;
  };
  return fmt::format("{}:{}", text_of(H5Fget_name), text_of(H5Iget_name));
}

bool is_dataset_of_records(hid_t object) {
  return H5Iget_type(object) == H5I_DATASET && H5Tget_class(Handle(H5Dget_type(object)).get()) == H5T_COMPOUND;
}

[[noreturn]] void refuse_lookup(hid_t object, const std::string& what) {
  const std::string reason = describe_damage(hdf5_reason());  // before the next call of the library
  refuse_input(place_of(object), fmt::format("{} cannot be looked up: {}", what, reason));
}

std::string unreadable_names() { return "the names in it cannot be read: " + describe_damage(hdf5_reason()); }

}  // namespace

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  if (!collect_names(group, names)) {
    const std::string reason = unreadable_names();
    refuse_input(place_of(group), reason);
  }
  return names;
}

bool has_link(hid_t group, const std::string& name) {
  const htri_t found = H5Lexists(group, name.c_str(), H5P_DEFAULT);
  if (found < 0) refuse_lookup(group, fmt::format("'{}'", name));
  return found > 0;
}

bool has_attribute(hid_t object, const char* name) {
  const htri_t found = H5Aexists(object, name);
  if (found < 0) refuse_lookup(object, fmt::format("the attribute {}", name));
  return found > 0;
}

StoredAttribute::StoredAttribute(hid_t object, const std::string& name)
    : id(H5Aopen(object, name.c_str(), H5P_DEFAULT)), type(H5Aget_type(id.get())), kind(H5Tget_class(type.get())) {
  const Handle space(H5Aget_space(id.get()));
  count = H5Sget_simple_extent_npoints(space.get());
}

std::string normal_path(const std::string& path) { return join(split(path)); }

FoundObject find_object(const Hdf5InputFile& file, const std::string& path) {
  const auto fail = [&](const std::string& problem) {
    refuse_input(fmt::format("{}:{}", file.name(), normal_path(path)), problem);
  };
  const auto open = [&](hid_t from, const std::string& name, const std::string& shown) {
    Handle object(H5Oopen(from, name.c_str(), H5P_DEFAULT));
    if (!object) fail(fmt::format("{} cannot be opened: {}", shown, describe_damage(hdf5_reason())));
    return object;
  };
  const auto names = split(path);
  std::deque<std::string> remaining(names.begin(), names.end());
  std::vector<std::string> resolved;
  Handle object = open(file.id(), "/", "/");
  for (int soft_links = 0; !remaining.empty();) {
    const std::string name = remaining.front();
    remaining.pop_front();
    if (remaining.empty() && is_dataset_of_records(object.get())) return {std::move(object), name};
    if (H5Iget_type(object.get()) != H5I_GROUP)
      fail(fmt::format("{} is not a group, so it does not hold '{}'", join(resolved), name));
    if (!has_link(object.get(), name)) {
      fail(fmt::format("no such dataset: '{}' is not in {}, which holds {}", name, join(resolved),
                       show_list(names_in(object.get()))));
    }
    H5L_info_t link{};
    if (H5Lget_info(object.get(), name.c_str(), &link, H5P_DEFAULT) < 0)
      fail(fmt::format("the link '{}' cannot be read: {}", name, describe_damage(hdf5_reason())));
    auto current = resolved;
    current.push_back(name);
    if (link.type == H5L_TYPE_HARD) {
      object = open(object.get(), name, join(current));
      resolved = std::move(current);
    } else if (link.type == H5L_TYPE_SOFT) {
      if (++soft_links > kMaximumSoftLinks)
        fail("the soft links of this path form a cycle; name the dataset by a path without them");
      const std::string target = target_of(object.get(), name, link);
      const auto target_names = split(target);
      remaining.insert(remaining.begin(), target_names.begin(), target_names.end());
      if (!target.starts_with('/')) continue;
      object = open(file.id(), "/", "/");
      resolved.clear();
    } else {
      fail(fmt::format("{} {}", join(current), refusal_of_link(object.get(), name, link)));
    }
  }
  return {std::move(object), ""};
}

Handle open_object(const Hdf5InputFile& file, const std::string& path) {
  FoundObject found = find_object(file, path);
  if (found.field.empty()) return std::move(found.object);
  const std::string normal = normal_path(path);
  refuse_input(fmt::format("{}:{}", file.name(), normal),
               fmt::format("{} is not a group, so it does not hold '{}'", parted(normal).first, found.field));
}

Handle open_dataset(const Hdf5InputFile& file, const std::string& path) {
  Handle object = open_object(file, path);
  if (H5Iget_type(object.get()) != H5I_DATASET) {
    refuse_input(fmt::format("{}:{}", file.name(), normal_path(path)),
                 fmt::format("expected a dataset, found {}", describe_kind(object.get())));
  }
  return object;
}

std::pair<std::string, std::string> parted(const std::string& path) {
  const auto slash = path.rfind('/');
  return {path.substr(0, slash), path.substr(slash + 1)};
}

namespace {

/// The datasets, links and groups whose paths end with this one, which begins with a slash.
std::set<std::string> paths_ending_with(const Hdf5InputFile& file, const std::string& ending) {
  std::set<std::string> paths;
  for_each_dataset(file, [&](const VisitedObject& visited) {
    const std::string whole = visited.path + "/";
    for (auto at = whole.find(ending + "/"); at != whole.npos; at = whole.find(ending + "/", at + 1)) {
      paths.insert(whole.substr(0, at + ending.size()));
    }
  });
  return paths;
}

}  // namespace

std::string resolved_path(const Hdf5InputFile& file, const std::string& path) {
  const std::vector<std::string> names = split(path);
  const std::string normal = join(names);
  if (names.empty() || has_link(open_object(file, "/").get(), names.front())) return normal;
  const std::set<std::string> found = paths_ending_with(file, normal);
  if (found.size() == 1 && !path.starts_with('/')) return *found.begin();
  if (found.empty()) return normal;  // who opens it says what the file holds
  std::vector<std::string> locations;
  for (const std::string& one : found) locations.push_back(fmt::format("{}:{}", file.name(), one));
  refuse_input(fmt::format("{}:{}", file.name(), path),
               fmt::format("no such dataset; name {}{}", locations.size() > 1 ? "one of " : "", show_list(locations)));
}

bool exists(const Hdf5InputFile& file, const std::string& path) {
  const auto [group, name] = parted(path);
  if (name.empty()) return true;  // the root
  if (!exists(file, group)) return false;
  const Handle object = open_object(file, group);
  return H5Iget_type(object.get()) == H5I_GROUP && has_link(object.get(), name);
}

std::string describe_kind(hid_t object) {
  if (H5Iget_type(object) != H5I_GROUP) return "a named type";
  const std::string encoding = text_attribute(object, "encoding-type");  // AnnData's name for the content
  return encoding.empty() ? "a group" : fmt::format("a group ({})", kith::quoted(encoding));
}

void for_each_dataset(const Hdf5InputFile& file, const std::function<void(VisitedObject)>& visit) {
  std::set<std::pair<unsigned long, haddr_t>> seen;  // objects, by their address in the file
  const auto is_new = [&seen](hid_t object) {
    H5O_info_t info{};
    return H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0 || seen.insert({info.fileno, info.addr}).second;
  };
  std::vector<std::vector<std::string>> groups{{}};  // groups still to be visited, as paths of hard links
  while (!groups.empty()) {
    const auto names = std::move(groups.back());
    groups.pop_back();
    Handle group;
    try {
      group = open_object(file, join(names));
    } catch (const Error& error) {
      visit({join(names), Handle(), error.what(), true});
      continue;
    }
    if (names.empty()) is_new(group.get());
    std::vector<std::string> members;
    if (!collect_names(group.get(), members)) visit({join(names), Handle(), unreadable_names(), true});
    for (const auto& name : members) {
      auto path = names;
      path.push_back(name);
      H5L_info_t link{};
      if (name.find('/') != name.npos || H5Lget_info(group.get(), name.c_str(), &link, H5P_DEFAULT) < 0) {
        visit({join(path), Handle(), "damaged link", true});
        continue;
      }
      if (link.type == H5L_TYPE_SOFT) continue;  // its target is listed by another path
      if (link.type != H5L_TYPE_HARD) {
        visit({join(path), Handle(), refusal_of_link(group.get(), name, link)});
        continue;
      }
      Handle object(H5Oopen(group.get(), name.c_str(), H5P_DEFAULT));
      if (!object) {
        visit({join(path), Handle(), describe_damage(hdf5_reason()), true});
        continue;
      }
      const bool is_hidden = name.starts_with("_i_") || name.starts_with("_p_");  // in PyTables: indexes of tables
      if (!is_new(object.get()) || (is_hidden && H5Iget_type(object.get()) == H5I_GROUP)) continue;
      const auto kind = H5Iget_type(object.get());
      if (kind == H5I_GROUP && path.size() < kMaximumDepth) groups.push_back(path);
      if (kind == H5I_GROUP && path.size() >= kMaximumDepth) visit({join(path), Handle(), "nested too deeply"});
      if (kind == H5I_DATASET) visit({join(path), std::move(object), ""});
    }
  }
}

// Lists the datasets and sparse matrices of an HDF5 file.

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
  return DatasetInfo{
      .path = group->path, .shape = {group->rows, group->columns}, .type = "sparse", .layout = group->kind};
}

/// Whether the columns of pandas' block have no names of their own.
bool is_block(const std::string& column) { return column.starts_with("values_block_"); }

std::string folder_of(const std::string& path) { return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)); }

}  // namespace

std::string table_of_pandas(const Hdf5InputFile& file, const std::string& group) {
  const std::string table = group + "/table";
  if (!text_attribute(open_object(file, group).get(), "pandas_type").ends_with("_table") || !exists(file, table))
    return "";
  const DatasetFacts facts = inspect(file, open_dataset(file, table).get(), table);
  return std::ranges::any_of(facts.info.columns, is_block) ? "" : table;
}

void refuse_pandas_frame(const Hdf5InputFile& file, const std::string& group) {
  const std::string kind = text_attribute(open_object(file, group).get(), "pandas_type");
  if (kind.empty()) return;
  if (frame_group(file, group) || !table_of_pandas(file, group).empty()) {
    refuse_input(file.name(),
                 fmt::format("expected one frame or matrix, found several; name one, as in {}:{}", file.name(), group));
  }
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
    list.push_back({.path = path, .type = "unknown", .unreadable = reason, .is_damaged = is_damaged});
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

namespace {

/// The frame of pandas in which all datasets are, and which can be read as one table; or empty.
std::string only_frame(const Hdf5InputFile& file, const std::vector<DatasetInfo>& all) {
  const std::string folder = all.empty() ? "" : folder_of(all[0].path);
  const bool is_only = std::ranges::all_of(all, [&](const auto& info) { return folder_of(info.path) == folder; });
  return is_only && folder.size() > 1 && exists(file, folder + "/axis0") && frame_group(file, folder) ? folder : "";
}

/// Whether the dataset is the points or the queries of ann-benchmarks as truth values, which are bits then.
bool are_bits_of_benchmark(const DatasetInfo& info) {
  return info.type == "bool" && info.shape.size() == 2 && (info.path == "/train" || info.path == "/test");
}

/// Throws Error(data) if the file holds sets of ann-benchmarks, whose items follow one another.
void refuse_sets(const Hdf5InputFile& file) {
  if (!exists(file, "/train") || !exists(file, "/size_train")) return;
  refuse_input(file.name(),
               "expected a matrix, found sets of items (train, size_train, as of ann-benchmarks); make sparse rows of "
               "them, for --metric jaccard: python3 -c \"import h5py, numpy as n, scipy.sparse as s; f = "
               "h5py.File('IN'); m = 1 + max(f['train'][:].max(), f['test'][:].max()); [s.save_npz(p + '.npz', "
               "s.csr_array((n.ones(f[p].size, bool), f[p][:], n.r_[0, n.cumsum(f['size_' + p])]), "
               "shape=(f['size_' + p].size, m))) for p in ('train', 'test')]\"");
}

/// Throws Error(data) if the file is a result that has neither points nor centroids.
void refuse_result(const Hdf5InputFile& file) {
  const std::string format = text_attribute(open_object(file, "/").get(), "format");
  constexpr const char* kWithRows[] = {"kith-clusters", "kith-sweep", "kith-points", "kith-distances"};
  if (!format.starts_with("kith-") || std::ranges::find(kWithRows, format) != std::end(kWithRows)) return;
  refuse_input(file.name(),
               fmt::format("expected points or centroids, found a result of format {}, which has none; give "
                           "points, or, for centroids, a result of kith cluster",
                           quoted(format, 60)));
}

}  // namespace

std::string only_dataset(const Hdf5InputFile& file, bool vector_as_column) {
  auto all = list_open_file(file);
  std::erase_if(all, [&file](const DatasetInfo& info) {
    const std::size_t meta = info.path.find("/meta/");  // of pandas, the categories of a frame
    if (meta != info.path.npos && meta > 0 && !table_of_pandas(file, info.path.substr(0, meta)).empty()) return true;
    // What cells and objects of MATLAB refer to.
    return info.path.starts_with("/#refs#/") || info.path.starts_with("/#subsystem#/");
  });
  const auto refuse_frames = [&] {
    for (const DatasetInfo& info : all) {
      const std::string folder = folder_of(info.path);  // a frame has frames of its categories inside, /df/meta
      for (std::size_t at = folder.find('/', 1); at != folder.npos; at = folder.find('/', at + 1))
        refuse_pandas_frame(file, folder.substr(0, at));
      refuse_pandas_frame(file, folder);
    }
  };
  if (const std::string frame = only_frame(file, all); !frame.empty()) return frame;
  refuse_sets(file);
  for (const TableKind kind : kTableKinds) {
    std::vector<DatasetInfo> candidates;
    std::copy_if(all.begin(), all.end(), std::back_inserter(candidates), [&](const auto& info) {
      return is_of_kind(info, kind, vector_as_column) || (kind == TableKind::matrix && are_bits_of_benchmark(info));
    });
    leave_out_trivial(candidates);
    if (candidates.size() == 1 && std::ranges::none_of(candidates[0].columns, is_block)) return candidates[0].path;
    if (!candidates.empty()) refuse_frames();
    if (candidates.size() == 1) return candidates[0].path;
    if (!candidates.empty()) refuse_result(file);
    if (candidates.size() > 1) {
      refuse_input(file.name(),
                   fmt::format("expected one {}, found {}: {}; name one, as in {}:{}", describe(kind, "dataset"),
                               candidates.size(), show_datasets(candidates), file.name(), usual_array(candidates)));
    }
  }
  refuse_frames();
  const auto truths =
      std::ranges::find_if(all, [](const DatasetInfo& info) { return info.type == "bool" && info.shape.size() == 2; });
  if (all.size() == 1 && truths == all.end() && !all[0].unreadable.empty())
    refuse_input(fmt::format("{}:{}", file.name(), all[0].path), all[0].unreadable);
  refuse_input(file.name(), fmt::format("expected a 2-dimensional dataset of numbers, found {}; {}", show_datasets(all),
                                        truths == all.end() ? "give a file with one; numpy.column_stack() makes one of "
                                                              "vectors, x.reshape(len(x), -1) of more dimensions"
                                                            : fmt::format("to read truth values as 0 and 1, name them, "
                                                                          "{}:{}",
                                                                          file.name(), truths->path)));
}

std::string hard_link_path(hid_t object) {
  std::string path(static_cast<std::size_t>(std::max<ssize_t>(H5Iget_name(object, nullptr, 0), 0)), '\0');
  H5Iget_name(object, path.data(), path.size() + 1);
  return path;
}

std::vector<DatasetInfo> list_file(const std::string& name, const std::string& dataset) {
  const Hdf5InputFile file(name);
  if (dataset.empty()) return list_open_file(file);
  const std::string path = resolved_path(file, dataset);
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

namespace {

/// Whether the numbers of an attribute were read.
template <class T>
bool read_numbers(const StoredAttribute& attribute, hid_t type, std::vector<T>& values) {
  constexpr hssize_t kMost = 65536;
  if (attribute.count < 0 || attribute.count > kMost) return false;
  values.resize(static_cast<std::size_t>(attribute.count));
  return values.empty() || attribute.read(type, values.data());
}

herr_t add_attribute(hid_t root, const char* name, const H5A_info_t*, void* facts_of_root) {
  auto& facts = *static_cast<RootFacts*>(facts_of_root);
  const StoredAttribute attribute(root, name);
  bool read = attribute.kind >= 0;
  if (attribute.kind == H5T_STRING) {
    facts.texts.emplace_back(name, text_attribute(root, name));
    read =
        !facts.texts.back().second.empty() || H5Aget_storage_size(attribute.id.get()) <= 1;  // an empty text: one byte
  } else if (attribute.is_number()) {
    facts.numbers.emplace_back(name, std::vector<double>());
    facts.wholes.emplace_back(name, std::vector<std::int64_t>());
    const bool is_unsigned = attribute.kind == H5T_INTEGER && H5Tget_sign(attribute.type.get()) == H5T_SGN_NONE;
    read = read_numbers(attribute, H5T_NATIVE_DOUBLE, facts.numbers.back().second) &&
           read_numbers(attribute, is_unsigned ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64, facts.wholes.back().second);
  }
  if (!read) facts.unreadable.emplace_back(name);
  return 0;
}

RootFacts find_root(const std::string& name, bool verify_results) {
  const Hdf5InputFile file(name);
  const Handle root = open_object(file, "/");
  RootFacts facts;
  if (H5Aiterate2(root.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &facts) < 0)
    refuse_input(name, "the attributes cannot be read: " + describe_damage(hdf5_reason()));
  facts.members = names_in(root.get());
  H5G_info_t members{};
  if (H5Gget_info(root.get(), &members) < 0 || members.nlinks != facts.members.size())
    refuse_input(name, "the names of its members cannot be read: " + describe_damage(hdf5_reason()));
  if (verify_results && facts.text("format").starts_with("kith-")) verify_head(file);
  return facts;
}

}  // namespace

std::string RootFacts::text(const std::string& attribute) const {
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const auto& t) { return t.first == attribute; });
  return found == texts.end() ? "" : found->second;
}

RootFacts read_root(const std::string& file, bool verify_results) {
  return Hdf5Child::of(file)->call(file, &find_root, file, verify_results);
}

}  // namespace kith::data
