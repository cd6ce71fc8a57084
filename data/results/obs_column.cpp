// Copies an AnnData file and adds a categorical column to obs, in the format of anndata 0.8 and later.
#include <fmt/format.h>

#include <algorithm>

#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_inspect.h"
#include "data/hdf5/hdf5_path.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/checksum.h"
#include "data/io/input_error.h"
#include "data/io/output_file.h"
#include "data/results/copied_file.h"
#include "data/results/label_file.h"
#include "data/results/obs_writer.h"
#include "data/results/obsp_writer.h"

namespace kith::data {
namespace {

constexpr const char* kObsOption = "--write-obs";

void check_columns(const std::string& file, const std::string& option, const std::string& column, std::int64_t rows) {
  const Hdf5InputFile input(file);
  const auto fail = [&](const std::string& problem) {
    refuse_input(fmt::format("{}: {} {}", file, option, column), problem);
  };
  if (column.empty() || column.find('/') != column.npos || column == "." || column == "..") {
    fail("expected a name without /, found another text; give a plain name");
  }
  const Handle root = open_object(input, "/");
  if (!has_link(root.get(), "obs"))
    fail("expected an AnnData file, which has a group obs, found none; give an .h5ad file");
  const Handle obs = open_object(input, "/obs");
  if (H5Iget_type(obs.get()) != H5I_GROUP) {
    fail("expected obs to be a group, as AnnData 0.7 and later write it; write the file again with a newer version");
  }
  const bool is_column = option == kObsOption;
  if (is_column && has_link(obs.get(), column)) fail("obs has such a column already; give another name");
  if (!is_column && has_link(root.get(), "obsp") && has_link(open_object(input, "/obsp").get(), column)) {
    fail("obsp has such a matrix already; give another name");
  }
  const std::string index = text_attribute(obs.get(), "_index");
  const std::string path = fmt::format("/obs/{}", index.empty() ? "_index" : index);
  const DatasetFacts facts = inspect(input, open_object(input, path).get(), path);
  if (facts.info.shape != std::vector<std::int64_t>{rows}) {
    fail(fmt::format("expected {} rows in obs, one for each point, found {}; give the file of these points", rows,
                     show_shape(facts.info.shape)));
  }
}

}  // namespace

void check_obs(const std::string& file, const std::string& column, std::int64_t rows) {
  Hdf5Child::of(file)->call(file, &check_columns, file, kObsOption, column, rows);
}

void check_obsp(const std::string& file, const std::string& name, std::int64_t rows) {
  Hdf5Child::of(file)->call(file, &check_columns, file, "--write-obsp", name, rows);
}

void write_obs(const std::string& path, const OutputOptions& options, const ObsColumn& column) {
  OutputFile output(path, options);
  copy_bytes(column.from, output);
  Hdf5Child child(column.from);  // the copy is as foreign as the file
  const std::string place = fmt::format("{}:/obs", column.from);
  const NewColumn added{output.descriptor_path(), output.name(), column.name, std::ssize(column.labels),
                        column.categories};
  child.call(place, &begin_column, added);
  Checksum sum;
  for (std::int64_t first = 0; first < added.rows; first += kValuesAtOnce) {
    const auto labels = column.labels.subspan(first, std::min(kValuesAtOnce, added.rows - first));
    sum.add(labels.data(), labels.size_bytes());
    child.call(place, &write_codes, first, {labels.begin(), labels.end()});
  }
  const std::vector<std::string> order = child.call(place, &finish_column);
  output.sync();
  const std::string wrong = child.call(column.from, &find_wrong, column.from, added, order, std::int64_t{sum.value()});
  require_intact(wrong, output.name(), column.from);
  output.publish();
}

}  // namespace kith::data
