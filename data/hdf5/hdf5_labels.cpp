// Recognises columns of labels by the names of their parts, and by attributes. AnnData stores a categorical column as
// a group with `codes` and `categories`, and a nullable one as a group with `values` and `mask`. Its older versions
// store codes as a vector, with the categories in a folder beside it or under `uns`, or all columns as one dataset of
// records. h5Seurat stores a factor of R as a group with `values` and `levels`.
#include "data/hdf5/hdf5_labels.h"

#include <fmt/format.h>

#include "data/format/shape.h"
#include "data/hdf5/hdf5_path.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

FoundLabels labels_of_group(const Hdf5InputFile& file, const std::string& path, hid_t group) {
  const auto has = [group](const char* name) { return has_link(group, name); };
  if (has("codes") && has("categories")) return {.values = path + "/codes", .categories = path + "/categories"};
  if (has("values") && has("mask")) return {.values = path + "/values", .mask = path + "/mask"};
  if (has("values") && has("levels"))
    return {.values = path + "/values", .categories = path + "/levels", .from_one = true};
  refuse_input(fmt::format("{}:{}", file.name(), path),
               fmt::format("expected labels, one for each row, found {}; name a vector in it: the group holds {}",
                           describe_kind(group), show_list(names_in(group))));
}

}  // namespace

FoundLabels find_labels(const std::string& name, const std::string& path) {
  const Hdf5InputFile file(name);
  const auto [folder, column] = parted(path);
  const auto [object, field] = find_object(file, path);
  const bool is_field = !field.empty();
  FoundLabels found{.values = is_field ? folder : path, .field = field};
  if (H5Iget_type(object.get()) == H5I_GROUP) return labels_of_group(file, path, object.get());
  // Codes whose names are elsewhere: under uns (AnnData 0.6), or in a folder beside the column (0.7).
  const std::string categories =
      is_field ? fmt::format("/uns/{}_categories", column) : fmt::format("{}/__categories/{}", folder, column);
  if (exists(file, categories)) found.categories = categories;
  return found;
}

}  // namespace kith::data
