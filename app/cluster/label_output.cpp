// Options, checks and contents of outputs that contain only labels.
#include "app/cluster/label_output.h"

#include <fmt/format.h>

#include "app/cli/terminal.h"
#include "app/run/results.h"
#include "data/results/anndata_copy.h"
#include "data/results/other_formats.h"

namespace kith::app {
namespace {

std::vector<std::string> distance_texts(const KMeansResult& result, ValueClass value_class) {
  std::vector<std::string> texts;
  const auto convert = [&](auto zero) {
    using T = decltype(zero);
    const auto rows = static_cast<std::int64_t>(result.distances.size());
    const Matrix<T> roots = convert_distances<T>({result.distances.data(), rows, 1}, Unit::root, 0);
    for (std::int64_t i = 0; i < rows; ++i) texts.push_back(fmt::format("{}", roots(i, 0)));
  };
  value_class == ValueClass::f32 ? convert(0.0F) : convert(0.0);
  return texts;
}

bool is_csv(const std::string& file) { return data::label_format(file) == data::LabelFormat::csv; }

/// The file of the points, whichever of its datasets they are.
std::string file_of(const data::PointSource& points) { return data::parse_location(points.name()).file; }

}  // namespace

void add_label_option(OptionSet& set, std::string& labels, std::string& write_obs, CommonOptions& common) {
  set.text({.names = "--labels",
            .value = "FILE",
            .help = "Also write the labels alone to this file, .csv or .npy, beside the result of --output.",
            .section = Section::output,
            .shown_default = "none"},
           labels);
  set.flag({.names = "--append",
            .help = "With --output or --labels to .csv: write the table of the points, with the labels as a further "
                    "column.",
            .section = Section::output,
            .refused = {when([&] { return !is_csv(common.output) && !is_csv(labels); },
                             "--append: expected an --output or --labels that ends with .csv, which gets the table; "
                             "give -o TABLE.csv"),
                        when([&common] { return common.transpose; },
                             "--append cannot be combined with --transpose, whose points are not the rows of the "
                             "table; leave one of them out")}},
           common.append);
  add_ids_option(set, common);
  set.text({.names = "--write-obs",
            .value = "NAME",
            .help = "Make --output a copy of the points' AnnData file, with the labels in this new column of obs.",
            .section = Section::output,
            .refused = {when([&common] { return common.output.empty(); },
                             "--write-obs: expected the name of the copy, found no --output; give -o COPY.h5ad"),
                        when([&common] { return common.transpose; },
                             "--write-obs cannot be combined with --transpose, whose points are not the rows of obs; "
                             "leave one of them out")}},
           write_obs);
}

void add_label_common_options(OptionSet& set, CommonOptions& common) {
  add_common_options(set, common,
                     "Write the result to this HDF5 file, or only the labels to .csv or .npy; it appears only when it "
                     "is complete. -: only the labels, one per line, on standard output.");
  const auto prints = [&common] { return common.output == "-"; };
  const auto writes = [&set](const char* option) { return set.source(option) != Source::none; };
  set["--force"].no_effect = {when(
      [=, &common, &set] {
        return common.output.empty() && !writes("--labels") && !(set.command() == "cluster" && writes("--profile"));
      },
      "there is no --output")};
  const auto explains = [&set] { return set.command() == "cluster" && set.source("--explain") != Source::none; };
  set["--output"].refused = {
      when([=, &common] { return prints() && common.json; },
           "--output - cannot be combined with --json, which prints its report there too; leave one of them out"),
      when([=] { return prints() && explains(); },
           "--output - cannot be combined with --explain, which prints a table there too; leave one of them out"),
      when([=, &set] { return prints() && set.source("--write-obs") != Source::none; },
           "--output -: expected the name of the copy that --write-obs makes; give -o COPY.h5ad")};
}

std::vector<Reason> output_reasons(const CommonOptions& common, const std::string& write_obs) {
  return {when([&common] { return common.output.empty(); }, "there is no --output"),
          when([&] { return is_label_output(common, write_obs); }, "the output contains only labels")};
}

void add_distance_option(OptionSet& set, bool& save_distances, const CommonOptions& common, const std::string& labels,
                         const std::string& write_obs) {
  const auto lacks_distances = [&] {
    const bool csv = is_csv(labels) || (write_obs.empty() && is_csv(common.output));
    return is_label_output(common, write_obs) && !csv;
  };
  set.flag({.names = "--save-distances",
            .help = "Also write every point's distance to its centroid.",
            .section = Section::output,
            .stored = Stored::if_changed,
            .position = position::kExtra,
            .no_effect = {when([&] { return common.output.empty() && labels.empty(); }, "there is no --output"),
                          when(lacks_distances, "the output contains only labels")}},
           save_distances);
}

std::vector<std::string> label_endings(const CommonOptions& common, const std::string& write_obs) {
  if (common.output == "-") return {"-"};
  return write_obs.empty() ? std::vector<std::string>{".h5", ".csv", ".npy"} : std::vector<std::string>{".h5", ".h5ad"};
}

bool is_label_output(const CommonOptions& common, const std::string& write_obs) {
  if (common.output.empty()) return false;
  return !write_obs.empty() || data::label_format(common.output) != data::LabelFormat::none;
}

void check_label_output(const CommonOptions& common, const std::string& write_obs, const data::PointSource& points) {
  if (common.append && !points.table_form()) {
    throw Error(ExitCode::usage, fmt::format("--append: expected points of a text file, found {}, which is not text; "
                                             "leave it out",
                                             points.name()));
  }
  if (!write_obs.empty()) data::check_obs(file_of(points), write_obs, points.rows());
}

namespace {

/// Labels alone, in the format of the ending of `path`.
void write_label_file(const std::string& path, const CommonOptions& common, const data::PointSource& points,
                      const KMeansResult& result, const data::OutputOptions& output,
                      const std::function<void()>& before_naming) {
  data::LabelTable table;
  table.labels = result.labels;
  if (is_csv(path)) {
    table.ids = points.kept(data::Kept::id);
    table.id_name = points.id_name();
    table.known = points.kept(data::Kept::label);
    table.distances = distance_texts(result, points.value_class());
  }
  if (common.append && is_csv(path)) return data::write_appended(path, output, points, table, before_naming);
  data::write_labels(path, output, table, before_naming);
}

}  // namespace

SideOutput label_side_output(const std::string& labels) { return {"--labels", labels, {".csv", ".npy"}}; }

void write_with_labels(const PointsRun& run, const KMeansResult& result, const std::function<void()>& write_result) {
  const std::string file = run.side_file("--labels");
  const auto write_both = [&] {
    if (!run.target.empty()) write_result();
  };
  if (file.empty()) return write_both();
  write_label_file(file, run.common, *run.source, result, run.side_output("--labels"), write_both);
}

void write_label_output(const CommonOptions& common, const std::string& write_obs, const data::PointSource& points,
                        const KMeansResult& result, const data::OutputOptions& output) {
  if (!write_obs.empty()) {
    data::write_obs(common.output, output,
                    {file_of(points), write_obs, result.labels, static_cast<std::int64_t>(result.counts.size())});
    return;
  }
  if (common.output == "-") {
    std::string lines;
    for (const std::int32_t label : result.labels) lines += fmt::format("{}\n", label);
    return print_out(lines);
  }
  write_label_file(common.output, common, points, result, output, [] {});
}

}  // namespace kith::app
