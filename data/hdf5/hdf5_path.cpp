// Follows the links of an HDF5 file one by one; HDF5's own lookup of paths would open other files.
#include "data/hdf5/hdf5_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "data/format/shape.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/input_error.h"
#include "data/io/quoted.h"

namespace kith::data {
namespace {

constexpr int kMaximumSoftLinks = 40;       // in one path; more indicate a cycle
constexpr std::size_t kMaximumDepth = 256;  // of nested groups in a listing

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (!name.empty() && name != ".") names.push_back(name);
    begin = end + 1;
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
      if (!is_new(object.get())) continue;
      const auto kind = H5Iget_type(object.get());
      if (kind == H5I_GROUP && path.size() < kMaximumDepth) groups.push_back(path);
      if (kind == H5I_GROUP && path.size() >= kMaximumDepth) visit({join(path), Handle(), "nested too deeply"});
      if (kind == H5I_DATASET) visit({join(path), std::move(object), ""});
    }
  }
}

}  // namespace kith::data
