// Copies an AnnData file and adds a group to obs or obsp with the HDF5 library in a child process, since the copy is as
// foreign as the file; some values at a time, so that the process needs little memory.
#include "data/results/anndata_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/checksum.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/temporary_file.h"

namespace kith::data {

/// A vector of numbers to be written.
struct NewVector {
  std::string name;
  Number type = Number::int64;  // in the file
  std::int64_t size = 0;
};
template <class Archive>
void each_field(Archive& archive, NewVector& vector) {
  archive(vector.name, vector.type, vector.size);
}

/// A number or a text below a dict, as in "params/method"; the groups in between are dicts, too.
struct NewFact {
  std::string path, text;  // of a number: empty
  std::int64_t number = 0;
};
template <class Archive>
void each_field(Archive& archive, NewFact& fact) {
  archive(fact.path, fact.text, fact.number);
}

/// What the child needs to know of a categorical column, a sparse matrix or a dict.
struct NewGroup {
  std::string copy = {};                     // a name of the open copy
  std::string output = {};                   // its name in messages
  std::string parent = {}, name = {};        // "obs" and "km"
  std::vector<std::string> categories = {};  // of a column
  std::int64_t rows = 0;                     // of a matrix, which has as many columns
  std::vector<NewVector> vectors = {};
  std::vector<NewFact> facts = {};  // of a dict

  bool is_column() const { return parent == "obs"; }
};
template <class Archive>
void each_field(Archive& archive, NewGroup& group) {
  archive(group.copy, group.output, group.parent, group.name, group.categories, group.rows, group.vectors, group.facts);
}

namespace {

constexpr const char* kObs = "obs";
constexpr const char* kOrder = "column-order";
constexpr std::int64_t kValuesAtOnce = std::int64_t{1} << 18;

/// Throws Error(output) with HDF5's reason if an action failed.
class CopyChecker {
 public:
  explicit CopyChecker(std::string name) : name_(std::move(name)) {}
  void operator()(bool succeeded, const char* action) const {
    if (succeeded) return;
    throw Error(ExitCode::output,
                fmt::format("{}: {} failed: {}; nothing was left behind", name_, action, hdf5_reason()));
  }

 private:
  std::string name_;
};

/// Copies the bytes and the permissions of the file, to which the owner may then write. Throws Error(output).
void copy_bytes(const std::string& from, const OutputFile& output) {
  const auto fail = [&](int error) {
    throw Error(ExitCode::output, fmt::format("{}: copying {} failed: {}; nothing was left behind", output.name(), from,
                                              std::strerror(error)));
  };
  const Descriptor original(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!original || fstat(original.get(), &status) != 0) fail(errno);
  output.require_space(status.st_size);
  output.set_mode((status.st_mode & 0777) | S_IWUSR);
  std::vector<char> block(std::size_t{1} << 20);
  for (off_t position = 0;;) {
    const ssize_t count = read(original.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    if (count == 0) return;
    if (write_at(output.descriptor(), position, block.data(), count) != count) fail(errno);
    position += count;
  }
}

/// Opens the copy with these flags of HDF5; empty if that fails.
Handle open_copy(const std::string& copy, unsigned flags) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS));
  if (flags == H5F_ACC_RDONLY) {
    set_reading_driver(access.get());
  } else {
    H5Pset_fapl_sec2(access.get());
  }
  H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
  H5Pset_file_locking(access.get(), false, true);  // no other program uses the file
  return Handle(H5Fopen(copy.c_str(), flags, access.get()));
}

Handle checked_group(const CopyChecker& check, hid_t parent, const std::string& name) {
  Handle made = make_group(parent, name);
  check(static_cast<bool>(made), "creating a group");
  return made;
}

Handle make_vector(const CopyChecker& check, hid_t group, const std::string& name, hid_t type, std::int64_t size) {
  const auto count = static_cast<hsize_t>(size);
  const Handle space(H5Screate_simple(1, &count, nullptr)), creation = creation_properties(H5P_DATASET_CREATE);
  Handle dataset(H5Dcreate2(group, name.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  check(static_cast<bool>(dataset), "creating a dataset");
  return dataset;
}

/// Writes an attribute: a vector, or one value if `count` is 0.
void write_attribute(const CopyChecker& check, hid_t object, const char* name, hid_t type, const void* values,
                     hsize_t count = 0) {
  const Handle space(count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr));
  const Handle attribute(H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const Handle memory(H5Tget_native_type(type, H5T_DIR_ASCEND));
  check(attribute && H5Awrite(attribute.get(), memory.get(), values) >= 0, "writing an attribute");
}

/// The attributes of an encoding of AnnData.
void write_encoding(const CopyChecker& check, hid_t object, const char* type, const char* version = "0.2.0") {
  const Handle text = utf8_type(H5T_VARIABLE);
  write_attribute(check, object, "encoding-type", text.get(), &type);
  write_attribute(check, object, "encoding-version", text.get(), &version);
}

/// Writes the facts of a dict.
void write_facts(const CopyChecker& check, hid_t dict, const std::vector<NewFact>& facts) {
  const Handle text = utf8_type(H5T_VARIABLE), space(H5Screate(H5S_SCALAR));
  const Handle creation = creation_properties(H5P_DATASET_CREATE);
  for (const NewFact& fact : facts) {
    const std::size_t slash = fact.path.find('/');
    if (slash != fact.path.npos && H5Lexists(dict, fact.path.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) {
      write_encoding(check, checked_group(check, dict, fact.path.substr(0, slash)).get(), "dict", "0.1.0");
    }
    const bool is_text = !fact.text.empty();
    const hid_t type = is_text ? text.get() : H5T_STD_I64LE;
    const Handle dataset(
        H5Dcreate2(dict, fact.path.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    const char* characters = fact.text.c_str();
    const void* value = is_text ? static_cast<const void*>(&characters) : &fact.number;
    check(dataset &&
              H5Dwrite(dataset.get(), is_text ? type : H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0,
          "writing a parameter");
    write_encoding(check, dataset.get(), is_text ? "string" : "numeric-scalar");
  }
}

/// Whether a dict has a fact with its value.
bool has_fact(hid_t dict, const NewFact& fact) {
  const Handle dataset(H5Dopen2(dict, fact.path.c_str(), H5P_DEFAULT));
  if (!dataset) return false;
  if (fact.text.empty()) {
    std::int64_t number = 0;
    return H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &number) >= 0 &&
           number == fact.number;
  }
  const Handle text = utf8_type(H5T_VARIABLE);
  char* characters = nullptr;
  if (H5Dread(dataset.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &characters) < 0) return false;
  const bool same = characters != nullptr && fact.text == characters;
  H5free_memory(characters);
  return same;
}

/// Writes the attribute "ordered" as h5py writes False.
void write_not_ordered(const CopyChecker& check, hid_t group) {
  const Handle type(H5Tenum_create(H5T_STD_I8LE));
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(type.get(), "FALSE", &no);
  H5Tenum_insert(type.get(), "TRUE", &yes);
  write_attribute(check, group, "ordered", type.get(), &no);
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

/// The type in which values are written and read back.
hid_t memory_type(Number number) { return is_float(number) ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64; }

/// Selects elements first .. first + count - 1 of a vector in the file.
Handle select(hid_t dataset, std::int64_t first, std::int64_t count) {
  const auto start = static_cast<hsize_t>(first), size = static_cast<hsize_t>(count);
  Handle space(H5Dget_space(dataset));
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &size, nullptr) < 0) return Handle();
  return space;
}

Handle memory_space(std::int64_t count) {
  const auto size = static_cast<hsize_t>(count);
  return Handle(H5Screate_simple(1, &size, nullptr));
}

/// A copy between begin_group() and finish_group(). The members are closed in the order that the end of a run needs.
struct OpenGroup {
  NewGroup facts;
  Handle file, parent, group;
  std::vector<Handle> vectors;
};

/// Never destroyed, because the library would then write to a copy that was given up.
OpenGroup* open_group = nullptr;

/// Opens the copy, and makes the group and its vectors without their values.
void begin_group(const NewGroup& facts) {
  prepare_hdf5();
  const CopyChecker check(facts.output);
  delete std::exchange(open_group, nullptr);
  auto open = std::make_unique<OpenGroup>();
  open->facts = facts;
  open->file = open_copy(facts.copy, H5F_ACC_RDWR);
  check(static_cast<bool>(open->file), "opening the copy");
  if (H5Lexists(open->file.get(), facts.parent.c_str(), H5P_DEFAULT) > 0) {
    open->parent = Handle(H5Gopen2(open->file.get(), facts.parent.c_str(), H5P_DEFAULT));
    check(static_cast<bool>(open->parent), facts.is_column() ? "opening obs" : "opening a group");
  } else {
    open->parent = checked_group(check, open->file.get(), facts.parent);
    write_encoding(check, open->parent.get(), "dict", "0.1.0");
  }
  open->group = checked_group(check, open->parent.get(), facts.name);
  if (facts.is_column()) {
    write_encoding(check, open->group.get(), "categorical");
    write_not_ordered(check, open->group.get());
  } else if (!facts.facts.empty()) {
    write_encoding(check, open->group.get(), "dict", "0.1.0");
    write_facts(check, open->group.get(), facts.facts);
  } else {
    const std::int64_t shape[] = {facts.rows, facts.rows};
    write_encoding(check, open->group.get(), "csr_matrix", "0.1.0");
    write_attribute(check, open->group.get(), "shape", H5T_STD_I64LE, shape, 2);
  }
  for (const NewVector& vector : facts.vectors) {
    open->vectors.push_back(make_vector(check, open->group.get(), vector.name, hdf5_type(vector.type), vector.size));
  }
  open_group = open.release();
}

/// Writes values of a vector from `first` on.
template <class T>
void write_values(std::int64_t vector, std::int64_t first, const std::vector<T>& values) {
  const CopyChecker check(open_group->facts.output);
  const hid_t dataset = open_group->vectors.at(static_cast<std::size_t>(vector)).get();
  const hid_t type = std::is_same_v<T, double> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
  const Handle in_file = select(dataset, first, std::ssize(values)), in_memory = memory_space(std::ssize(values));
  check(in_file && H5Dwrite(dataset, type, in_memory.get(), in_file.get(), H5P_DEFAULT, values.data()) >= 0,
        "writing the values");
}

/// Writes the categories of a column, and adds it to the order of the columns, since AnnData ignores columns that are
/// not in it. Returns that order.
std::vector<std::string> finish_column(const CopyChecker& check, const OpenGroup& open) {
  write_encoding(check, open.vectors.front().get(), "array");
  const Handle text = utf8_type(H5T_VARIABLE);
  std::vector<const char*> texts = pointers_to(open.facts.categories);
  const Handle categories = make_vector(check, open.group.get(), "categories", text.get(), std::ssize(texts));
  check(H5Dwrite(categories.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()) >= 0,
        "writing the categories");
  write_encoding(check, categories.get(), "string-array");
  const hid_t obs = open.parent.get();
  std::vector<std::string> order;
  if (has_attribute(obs, kOrder)) {
    order = texts_attribute(obs, kOrder);
    check(StoredAttribute(obs, kOrder).count == std::ssize(order), "reading column-order as texts");
  }
  order.push_back(open.facts.name);
  if (has_attribute(obs, kOrder)) check(H5Adelete(obs, kOrder) >= 0, "replacing column-order");
  texts = pointers_to(order);
  write_attribute(check, obs, kOrder, text.get(), texts.data(), texts.size());
  return order;
}

/// Writes what belongs to a column, and closes the copy. Returns the order of the columns.
std::vector<std::string> finish_group() {
  OpenGroup& open = *open_group;
  const CopyChecker check(open.facts.output);
  std::vector<std::string> order;
  if (open.facts.is_column()) order = finish_column(check, open);
  open.vectors.clear();
  open.group = Handle();
  open.parent = Handle();
  check(H5Fflush(open.file.get(), H5F_SCOPE_GLOBAL) >= 0, "writing");
  check(H5Fclose(open.file.release()) >= 0, "closing");
  return order;
}

bool has_encoding(hid_t object, const std::string& type) {
  return text_attribute(object, "encoding-type") == type && text_attribute(object, "encoding-version") == "0.2.0";
}

/// Whether the copy has exactly these categories and attributes.
bool has_column(hid_t obs, hid_t group, const NewGroup& facts, const std::vector<std::string>& order) {
  const Handle codes(H5Dopen2(group, "codes", H5P_DEFAULT)), categories(H5Dopen2(group, "categories", H5P_DEFAULT));
  if (!codes || !categories || texts_attribute(obs, kOrder) != order || !has_encoding(group, "categorical") ||
      !has_encoding(codes.get(), "array") || !has_encoding(categories.get(), "string-array"))
    return false;
  std::int8_t ordered = 1;
  const StoredAttribute attribute(group, "ordered");
  return attribute.read(attribute.type.get(), &ordered) && ordered == 0 &&
         texts_of_vector(categories.get(), facts.output) == facts.categories;
}

/// Whether a vector has these values, of which the CRC-32 in memory is given.
bool has_values(hid_t dataset, const NewVector& vector, std::int64_t checksum) {
  const Handle space(H5Dget_space(dataset));
  if (H5Sget_simple_extent_npoints(space.get()) != vector.size) return false;
  std::vector<std::int64_t> values(static_cast<std::size_t>(std::min(vector.size, kValuesAtOnce)));  // or doubles
  Checksum sum;
  for (std::int64_t first = 0; first < vector.size; first += kValuesAtOnce) {
    const std::int64_t count = std::min(kValuesAtOnce, vector.size - first);
    const Handle in_file = select(dataset, first, count), in_memory = memory_space(count);
    if (H5Dread(dataset, memory_type(vector.type), in_memory.get(), in_file.get(), H5P_DEFAULT, values.data()) < 0)
      return false;
    sum.add(values.data(), static_cast<std::size_t>(count) * sizeof(std::int64_t));
  }
  return sum.value() == checksum;
}

/// Groups that were added to a copy.
struct AddedGroups {
  std::vector<NewGroup> groups = {};
  std::vector<std::string> order = {};       // of the columns of obs, if one was added
  std::vector<std::int64_t> checksums = {};  // of the vectors of all groups
};
template <class Archive>
void each_field(Archive& archive, AddedGroups& added) {
  archive(added.groups, added.order, added.checksums);
}

/// The first object of the copy that does not read back as it should, empty if all do.
std::string find_wrong(const std::string& original, const AddedGroups& added) {
  const Hdf5InputFile input(original);
  const Handle copy = open_copy(added.groups.front().copy, H5F_ACC_RDONLY);
  if (!copy) return "the file";
  std::map<std::string, std::int64_t> extended;
  std::set<std::string> made;  // parents that the file does not have
  for (const NewGroup& facts : added.groups) {
    const bool extends = H5Lexists(input.id(), facts.parent.c_str(), H5P_DEFAULT) > 0;
    if (extends || made.insert(facts.parent).second) ++extended[extends ? facts.parent : "."];
  }
  if (std::string change = find_change(input.id(), copy.get(), extended, added.order.empty() ? "" : kOrder);
      !change.empty())
    return change;
  std::size_t sums = 0;
  for (const NewGroup& facts : added.groups) {
    const Handle parent(H5Gopen2(copy.get(), facts.parent.c_str(), H5P_DEFAULT));
    const Handle group(H5Gopen2(parent.get(), facts.name.c_str(), H5P_DEFAULT));
    bool same = group && (!facts.is_column() || has_column(parent.get(), group.get(), facts, added.order));
    for (const NewFact& fact : facts.facts) same = same && has_fact(group.get(), fact);
    for (std::size_t i = 0; same && i < facts.vectors.size(); ++i) {
      const Handle dataset(H5Dopen2(group.get(), facts.vectors[i].name.c_str(), H5P_DEFAULT));
      same = dataset && has_values(dataset.get(), facts.vectors[i], added.checksums.at(sums + i));
    }
    sums += facts.vectors.size();
    if (!same) return fmt::format("/{}/{}", facts.parent, facts.name);
  }
  return "";
}

void check_place(const std::string& file, const std::string& option, const std::string& name, std::int64_t rows) {
  const Hdf5InputFile input(file);
  const auto fail = [&](const std::string& problem) {
    refuse_input(fmt::format("{}: {} {}", file, option, name), problem);
  };
  if (name.empty() || name.find('/') != name.npos || name == "." || name == "..") {
    fail("expected a name without /, found another text; give a plain name");
  }
  const Handle root = open_object(input, "/");
  if (!has_link(root.get(), kObs))
    fail("expected an AnnData file, which has a group obs, found none; give an .h5ad file");
  const Handle obs = open_object(input, "/obs");
  if (H5Iget_type(obs.get()) != H5I_GROUP) {
    fail("expected obs to be a group, as AnnData 0.7 and later write it; write the file again with a newer version");
  }
  const bool is_column = option == "--write-obs";
  if (is_column && has_link(obs.get(), name)) fail("obs has such a column already; give another name");
  const bool are_neighbors = option.starts_with("--weights");
  const auto exists = [&](const char* group, const std::string& member) {
    return has_link(root.get(), group) && has_link(open_object(input, fmt::format("/{}", group)).get(), member);
  };
  for (const char* part : {"distances", "connectivities"}) {
    if (!is_column && exists("obsp", are_neighbors ? neighbor_matrix(name, part) : name)) {
      fail("obsp has such a matrix already; give another name");
    }
  }
  if (are_neighbors && exists("uns", name)) fail("uns has such an entry already; give another name");
  const std::string index = text_attribute(obs.get(), "_index");
  const std::string path = fmt::format("/obs/{}", index.empty() ? "_index" : index);
  const DatasetFacts facts = inspect(input, open_object(input, path).get(), path);
  if (facts.info.shape != std::vector<std::int64_t>{rows}) {
    fail(fmt::format("expected {} rows in obs, one for each point, found {}; give the file of these points", rows,
                     show_shape(facts.info.shape)));
  }
}

}  // namespace

/// A copy and the groups that are added to it, one after another.
class AnnDataCopy {
 public:
  AnnDataCopy(const std::string& path, const OutputOptions& options, const std::string& from)
      : output_(path, options), from_(from), child_(from) {
    copy_bytes(from, output_);
  }

  /// Ends the group before, and begins another one.
  void begin(NewGroup facts, std::int64_t bytes) {
    end_group();
    facts.copy = output_.descriptor_path();
    facts.output = output_.name();
    sums_.resize(facts.vectors.size());
    written_.resize(facts.vectors.size());
    output_.require_space(bytes);
    child_.call(from_, &begin_group, facts);
    added_.groups.push_back(std::move(facts));
  }

  /// The next values of a vector: T is std::int64_t or double, and the values are of a type that converts to it.
  template <class T, class Values>
  void write(std::size_t vector, const Values& values) {
    for (std::size_t first = 0; first < values.size(); first += kValuesAtOnce) {
      const std::size_t end = std::min<std::size_t>(first + kValuesAtOnce, values.size());
      const std::vector<T> some(values.begin() + static_cast<std::ptrdiff_t>(first),
                                values.begin() + static_cast<std::ptrdiff_t>(end));
      sums_[vector].add(some.data(), some.size() * sizeof(T));
      child_.call(from_, &write_values<T>, static_cast<std::int64_t>(vector), written_[vector], some);
      written_[vector] += std::ssize(some);
    }
  }

  /// HDF5 does not report every write that fails, so everything is read back.
  void finish() {
    end_group();
    output_.sync();
    const std::string wrong = child_.call(from_, &find_wrong, from_, added_);
    if (!wrong.empty()) {
      throw Error(ExitCode::output,
                  fmt::format("{}: {} does not read back as it was written; the disk may be failing, or {} has changed "
                              "meanwhile; nothing was left behind, run the command again",
                              output_.name(), wrong, from_));
    }
    output_.publish();
  }

 private:
  void end_group() {
    if (added_.groups.empty()) return;
    const std::vector<std::string> order = child_.call(from_, &finish_group);
    if (!order.empty()) added_.order = order;
    for (const Checksum& sum : sums_) added_.checksums.push_back(sum.value());
    sums_.clear();
    written_.clear();
  }

  OutputFile output_;
  std::string from_;
  Hdf5Child child_;
  AddedGroups added_;
  std::vector<Checksum> sums_;  // of the vectors of the last group
  std::vector<std::int64_t> written_;
};

namespace {

void check_copy(const std::string& file, const char* option, const std::string& name, std::int64_t rows) {
  if (!has_hdf5_signature(file)) {
    refuse_input(file,
                 fmt::format("{} {}: expected an AnnData file, found {}; give an .h5ad file, or leave the option out",
                             option, name, describe_file(file)));
  }
  Hdf5Child::of(file)->call(file, &check_place, file, option, name, rows);
}

}  // namespace

void check_obs(const std::string& file, const std::string& column, std::int64_t rows) {
  check_copy(file, "--write-obs", column, rows);
}

std::string neighbor_matrix(const std::string& name, const std::string& part) {
  return name == "neighbors" ? part : fmt::format("{}_{}", name, part);  // scanpy's own name, which needs no key
}

void check_obsp(const std::string& file, const std::string& name, std::int64_t rows, bool are_neighbors) {
  check_copy(file, are_neighbors ? "--weights --write-obsp" : "--write-obsp", name, rows);
}

void write_obs(const std::string& path, const OutputOptions& options, const ObsColumn& column) {
  AnnDataCopy copy(path, options, column.from);
  const Number codes = column.categories <= std::numeric_limits<std::int8_t>::max()    ? Number::int8
                       : column.categories <= std::numeric_limits<std::int16_t>::max() ? Number::int16
                                                                                       : Number::int32;
  NewGroup group{.parent = kObs, .name = column.name, .vectors = {{"codes", codes, std::ssize(column.labels)}}};
  for (std::int64_t c = 0; c < column.categories; ++c) group.categories.push_back(std::to_string(c));
  copy.begin(std::move(group), 0);
  copy.write<std::int64_t>(0, column.labels);
  copy.finish();
}

struct ObspMatrix::State : AnnDataCopy {
  using AnnDataCopy::AnnDataCopy;
};

// The vectors of a matrix.
constexpr std::size_t kIndices = 0, kStarts = 1, kData = 2;

ObspMatrix::ObspMatrix(const std::string& path, const OutputOptions& options, const std::string& from)
    : state_(std::make_unique<State>(path, options, from)) {}

ObspMatrix::~ObspMatrix() = default;

void ObspMatrix::begin(const std::string& name, bool single, const std::vector<std::int64_t>& begin) {
  const std::int64_t values = begin.back(), starts = std::ssize(begin);
  state_->begin({.parent = "obsp",
                 .name = name,
                 .rows = starts - 1,
                 .vectors = {{"indices", Number::int64, values},
                             {"indptr", Number::int64, starts},
                             {"data", single ? Number::float32 : Number::float64, values}}},
                (single ? 12 : 16) * values + 8 * starts);
  state_->write<std::int64_t>(kStarts, begin);
}

void ObspMatrix::append(const std::vector<std::int64_t>& columns, const std::vector<double>& values) {
  state_->write<std::int64_t>(kIndices, columns);
  state_->write<double>(kData, values);
}

void ObspMatrix::describe(const std::string& name, const NeighborParameters& parameters) {
  state_->begin({.parent = "uns",
                 .name = name,
                 .facts = {{"connectivities_key", neighbor_matrix(name, "connectivities")},
                           {"distances_key", neighbor_matrix(name, "distances")},
                           {"params/method", parameters.method},
                           {"params/metric", parameters.metric},
                           {"params/n_neighbors", "", parameters.neighbors},
                           {"params/random_state", "", 0}}},
                0);
}

void ObspMatrix::finish() { state_->finish(); }

}  // namespace kith::data
