// Options, checks and contents of outputs that contain only labels.
#include "app/cluster/label_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <variant>

#include "app/cli/terminal.h"
#include "app/run/freshness.h"
#include "app/run/processes.h"
#include "app/run/results.h"
#include "core/runtime/threads.h"
#include "data/file_set.h"
#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/io/checksum.h"
#include "data/io/file_kind.h"
#include "data/io/stream_bytes.h"
#include "data/results/anndata_copy.h"
#include "data/results/checkpoint_file.h"
#include "data/results/other_formats.h"
#include "data/results/table_file.h"

namespace kith::app {
namespace {

/// The endings of files that hold labels alone.
constexpr const char* kLabelEndings[] = {".csv", ".npy", ".parquet", ".arrow", ".ibin"};

/// Roots in the type of the class.
std::variant<std::vector<float>, std::vector<double>> distances_of(const KMeansResult& result, ValueClass value_class) {
  const auto convert = [&]<class T>(T) {
    const auto rows = static_cast<std::int64_t>(result.distances.size());
    const Matrix<T> roots = convert_distances<T>({result.distances.data(), rows, 1}, Unit::root, 0);
    return std::vector<T>(roots.data(), roots.data() + roots.size());
  };
  if (value_class == ValueClass::f32) return convert(0.0F);
  return convert(0.0);
}

/// Whether the file is a table, whose rows have more than their label.
bool is_table(const std::string& file) {
  return data::label_format(file) == data::LabelFormat::csv || data::is_table_file(file);
}

/// A file of labels in a folder.
struct LabelPart {
  std::string path;
  std::int64_t first = 0, rows = 0;
  std::string points;  // the file of the points
};

/// The path of a file of points from the root, without "..".
std::filesystem::path whole_path(const std::string& name) {
  return std::filesystem::absolute(data::parse_location(name).file).lexically_normal();
}

/// A file of labels for each file of the points, with another ending and its name in the folder that holds all of them:
/// names such as ../a.npy and /data/b.npy must not lead out of the folder of labels.
std::vector<LabelPart> parts_of(const std::string& folder, const CommonOptions& common,
                                const data::PointSource& points) {
  std::vector<data::FileSet::File> files;
  if (const data::FileSet* set = points.set()) {
    files = set->files();
  } else {
    files.push_back({points.name(), "", 0, points.rows()});
  }
  std::filesystem::path of_all = whole_path(files.front().name).parent_path();
  for (const data::FileSet::File& file : files) {
    const std::filesystem::path path = whole_path(file.name);
    while (std::ranges::mismatch(of_all, path).in1 != of_all.end()) of_all = of_all.parent_path();
  }
  std::map<std::string, std::string> made;  // of which file
  std::vector<LabelPart> parts;
  for (const data::FileSet::File& file : files) {
    std::filesystem::path name = whole_path(file.name).lexically_relative(of_all);
    for (const char* compression : {".gz", ".zst"}) {
      if (data::has_ending(name.string(), compression)) name.replace_extension();
    }
    name.replace_extension("." + common.labels_format);
    const std::string path = (std::filesystem::path(folder) / name).string();
    const auto [other, is_new] = made.try_emplace(path, file.name);
    if (!is_new) {
      throw Error(ExitCode::usage, fmt::format("{}: expected files of points whose names differ before their endings, "
                                               "found {} and {}; rename one of them",
                                               path, other->second, file.name));
    }
    parts.push_back({path, file.first_row, file.rows, file.name});
  }
  return parts;
}

/// Throws Error(output) if a file of labels would replace an input.
void refuse_inputs(const std::vector<LabelPart>& parts, const std::vector<std::string>& inputs) {
  struct stat status {};
  std::map<std::pair<dev_t, ino_t>, std::string> known;
  for (const std::string& input : inputs) {
    for (const std::string& file : data::each_file(input)) {
      if (stat(file.c_str(), &status) == 0) known.try_emplace({status.st_dev, status.st_ino}, file);
    }
  }
  for (const LabelPart& part : parts) {
    if (stat(part.path.c_str(), &status) != 0) continue;
    const auto input = known.find({status.st_dev, status.st_ino});
    if (input == known.end()) continue;
    throw Error(ExitCode::output, fmt::format("{}: is the input {}, which is never overwritten; choose another folder",
                                              part.path, input->second));
  }
}

/// The folders of labels that a run writes.
std::vector<std::string> folders_of(const PointsRun& run) {
  std::vector<std::string> folders;
  for (const std::string& path : {run.target, run.side_file("--labels")}) {
    if (names_folder(path)) folders.push_back(path);
  }
  return folders;
}

// The folder's file that says which run its labels are of: a head for all runs with the same result, two lines for the
// command and the inputs themselves, and a line for each file of labels once it is complete. A head that is equal lets
// a run replace files by equal ones. Only if all of this is equal, and the file is nobody else's, need a file of labels
// that is listed, and has its checksum, not be computed again: whoever could have put other labels there could have
// changed those of a run that had ended, too.

std::string folder_mark(const std::string& folder) { return (std::filesystem::path(folder) / ".kith-labels").string(); }

std::string head_of(const std::string& stored_command, const std::vector<std::string>& marks) {
  return fmt::format("kith {}\n{}\n{}\n", KITH_VERSION, stored_command, fmt::join(marks, "\n"));
}

/// The command with all of its options, and the times and places of its inputs, which a copy does not have; empty: an
/// input cannot be compared.
std::string lines_of_run(PointsRun& run) {
  data::Checksum checksum;
  const auto add = [&checksum](const data::InputMark& mark) {
    const data::FileIdentity identity = mark.identity.value_or(data::FileIdentity{});
    const std::string line = fmt::format("{} {} {}\n", identity.changed_ns, identity.modified_ns, identity.inode);
    checksum.add(line.data(), line.size());
  };
  for (const std::string& input : run.output.inputs) {
    const auto set = data::named_set(input);
    const std::string file = set ? "" : data::parse_location(input).file;
    std::error_code failure;
    if (!set && !std::filesystem::is_regular_file(file, failure)) return "";
    if (!set) add(run.mark_of(file));
    for (std::size_t i = 0; set && i < set->files.size(); ++i) add(set->marks()[i]);
  }
  return fmt::format("{}\ninputs {:08x}\n", run.set.shown_command(run.set.command(), {}), checksum.value());
}

/// The line that lists a complete file; empty: it cannot be read, or the line would be several.
std::string line_of(const std::string& folder, const std::string& path) {
  const data::Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) return "";
  const auto checksum = data::file_checksum(file.get(), 0, status.st_size);
  if (!checksum || path.find('\n') != path.npos) return "";
  return fmt::format("finished {:08x} {} {}\n", *checksum, std::int64_t{status.st_size},
                     std::filesystem::path(path).lexically_relative(folder).string());
}

std::string folder_mark_text(const std::string& file) {
  std::ifstream stored(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stored), {}};
}

/// The lines of complete files in a mark that begins with `begin`, is this user's, and that nobody else may write.
std::set<std::string> finished_lines(const std::string& mark_file, const std::string& begin) {
  std::set<std::string> lines;
  struct stat status {};
  const bool is_own = lstat(mark_file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  const std::string mark = is_own ? folder_mark_text(mark_file) : "";
  if (!mark.starts_with(begin)) return lines;
  for (std::size_t at = begin.size(), end = 0; (end = mark.find('\n', at)) != mark.npos; at = end + 1) {
    lines.insert(mark.substr(at, end + 1 - at));
  }
  return lines;
}

/// The file of the points, whichever of its datasets they are.
std::string file_of(const data::PointSource& points) { return data::parse_location(points.name()).file; }

}  // namespace

void add_label_option(OptionSet& set, std::string& labels, std::string& write_obs, CommonOptions& common) {
  set.text(
      {.names = "--labels",
       .value = "FILE",
       .help = "Also write the labels alone to this file, .csv, .npy, .parquet, .arrow or .ibin, beside the result of "
               "--output; FOLDER/: a file for each file of the points.",
       .section = Section::output,
       .shown_default = "none"},
      labels);
  set.choice({.names = "--labels-format",
              .value = "FORMAT",
              .help = "Format of the labels in a folder, -o FOLDER/ or --labels FOLDER/.",
              .section = Section::output,
              .no_effect = {when([&] { return !names_folder(common.output) && !names_folder(labels); },
                                 "no folder of labels is written")}},
             {"npy", "csv", "parquet", "arrow", "ibin"}, common.labels_format);
  set.flag({.names = "--append",
            .help = "With --output or --labels to .csv, .parquet or .arrow: write the table of the points, with the "
                    "labels as a further column.",
            .section = Section::output,
            .refused = {when([&] { return !is_table(common.output) && !is_table(labels); },
                             "--append: expected an --output or --labels that ends with .csv, .parquet or .arrow, "
                             "which gets the table; give -o TABLE.csv"),
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
                     "Write the result to this HDF5 file, or only the labels to .csv, .npy, .parquet, .arrow or .ibin; "
                     "it appears only when it is complete. FOLDER/: a file of labels for each file of the points, with "
                     "its name. -: only the "
                     "labels, one per line, on standard output.");
  const auto prints = [&common] { return common.output == "-"; };
  const auto writes = [&set](const char* option) { return set.source(option) != Source::none; };
  set["--force"].no_effect = {when(
      [=, &common, &set] {
        return common.output.empty() && !writes("--labels") &&
               !(set.command() == "cluster" && (writes("--profile") || writes("--save-centroids")));
      },
      "there is no --output")};
  const auto explains = [&set] { return set.command() != "assign" && set.source("--explain") != Source::none; };
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
    const bool table = is_table(labels) || (write_obs.empty() && is_table(common.output));
    return is_label_output(common, write_obs) && !table;
  };
  set.flag({.names = "--save-distances",
            .help = "Also write every point's distance to its centroid.",
            .section = Section::output,
            .stored = {Stored::if_changed, position::kExtra},
            .no_effect = {when([&] { return common.output.empty() && labels.empty(); }, "there is no --output"),
                          when(lacks_distances, "the output contains only labels")}},
           save_distances);
}

std::vector<std::string> label_endings(const CommonOptions& common, const std::string& write_obs) {
  if (common.output == "-") return {"-"};
  std::vector<std::string> endings{".h5"};
  if (!write_obs.empty()) return {".h5", ".h5ad"};
  endings.insert(endings.end(), std::begin(kLabelEndings), std::end(kLabelEndings));
  endings.emplace_back("/");
  return endings;
}

bool is_label_output(const CommonOptions& common, const std::string& write_obs) {
  if (common.output.empty()) return false;
  return !write_obs.empty() || names_folder(common.output) ||
         data::label_format(common.output) != data::LabelFormat::none;
}

namespace {

/// The table of the points and the output of an option must both be text, or both Parquet or Arrow files.
void check_appended(const char* option, const std::string& output, const data::PointSource& points) {
  const std::string file = file_of(points);
  const bool is_text = points.table_form().has_value();
  if (!is_text && (points.set() != nullptr || data::is_standard_input(file) || !data::is_arrow(file))) {
    throw Error(ExitCode::usage, fmt::format("--append: expected points of one text, Parquet or Arrow file, found {}, "
                                             "which is none; leave it out",
                                             points.name()));
  }
  if (!is_table(output) || data::is_table_file(output) != is_text) return;
  throw Error(ExitCode::usage,
              fmt::format("--append: {} is {}, which {} cannot hold; give {} TABLE.{}", points.name(),
                          is_text ? "text" : "a Parquet or Arrow file", output, option, is_text ? "csv" : "parquet"));
}

}  // namespace

void check_label_output(const PointsRun& run, const std::string& write_obs) {
  const data::PointSource& points = *run.source;
  if (run.common.append) {
    check_appended("-o", run.common.output, points);
    check_appended("--labels", run.side_file("--labels"), points);
  }
  if (!write_obs.empty() && points.set() != nullptr) {
    throw Error(ExitCode::usage,
                fmt::format("--write-obs: expected one AnnData file, of which it writes a copy, found {} "
                            "files, {}; leave it out",
                            points.set()->files().size(), points.name()));
  }
  if (!write_obs.empty()) data::check_obs(file_of(points), write_obs, points.rows());
}

namespace {

/// Those of a set, a file for each of its files. Files of an earlier run that are there already stay as they are.
void write_label_parts(const std::string& folder, const CommonOptions& common, const data::LabelTable& all,
                       const data::PointSource& points, data::OutputOptions output) {
  output.may_equal = true;
  output.endings = {"." + common.labels_format};
  output.inputs.clear();  // begin_label_folders() compared all files at once
  const std::vector<LabelPart> parts = parts_of(folder, common, points);
  std::atomic<std::size_t> kept = 0;
  std::ofstream finished(folder_mark(folder), std::ios::binary | std::ios::app);
  std::mutex mutex;
  const auto write = [&](const LabelPart& part) {
    const auto first = static_cast<std::size_t>(part.first), rows = static_cast<std::size_t>(part.rows);
    data::LabelTable table;
    table.labels = all.labels.subspan(first, rows);
    table.id_name = all.id_name;
    const auto slice = [=]<class T>(const std::vector<T>& values) {
      if (values.empty()) return values;
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(rows));
    };
    table.ids = slice(all.ids);
    table.known = slice(all.known);
    std::visit([&](const auto& distances) { table.distances = slice(distances); }, all.distances);
    std::error_code failure;
    if (!common.force && std::filesystem::exists(part.path, failure)) ++kept;
    data::write_labels(part.path, output, table);
    const std::string line = line_of(folder, part.path);
    const std::lock_guard lock(mutex);
    if (!common.force) finished << line << std::flush;
  };
  // A disk syncs several files in about the time of one. Tables are written by a program of their own, one by one.
  constexpr int kWriters = 8;
  Threads writers(data::is_table_file("labels." + common.labels_format) ? 1 : -kWriters);
  writers.run(std::ssize(parts), [&](std::int64_t i, int) { write(parts[static_cast<std::size_t>(i)]); });
  const std::string before = kept > 0 ? fmt::format(", {} of them kept from an earlier run", kept.load()) : "";
  if (!common.quiet) {
    Terminal::instance().say(fmt::format("labels     {} files in {}{}", parts.size(), folder, before));
  }
}

/// Labels alone, in the format of the ending of `path`.
void write_label_file(const std::string& path, const CommonOptions& common, const data::PointSource& points,
                      const KMeansResult& result, const data::OutputOptions& output,
                      const std::function<void()>& before_naming) {
  data::LabelTable table;
  table.labels = result.labels;
  const bool is_folder = names_folder(path);
  if (is_folder ? is_table("." + common.labels_format) : is_table(path)) {
    table.ids = points.kept(data::Kept::id);
    table.id_name = points.id_name();
    table.known = points.kept(data::Kept::label);
    table.distances = distances_of(result, points.value_class());
  }
  if (is_folder) {
    write_label_parts(path, common, table, points, output);
    return before_naming();
  }
  if (common.append && is_table(path)) return data::write_appended(path, output, points, table, before_naming);
  data::write_labels(path, output, table, before_naming);
}

}  // namespace

FinishedLabels finished_labels(PointsRun& run, const std::string& stored_command) {
  constexpr std::size_t kShown = 3;
  const CommonOptions& common = run.common;
  const bool is_beside = std::ranges::any_of(run.side_outputs, [](const auto& side) { return !side.file.empty(); });
  const bool explains = run.set.command() != "assign" && run.set.source("--explain") != Source::none;
  const bool says_more = common.json || !run.report_file.empty() || explains;
  if (!names_folder(run.target) || is_beside || says_more || common.force || common.dry_run ||
      is_checking_freshness() || !processes().is_alone() || run.weighting || !common.ids.empty()) {
    return {};
  }
  const std::string mark = folder_mark(run.target);
  std::error_code failure;
  if (!std::filesystem::exists(mark, failure)) return {};
  const std::string of_run = lines_of_run(run);
  const auto marks = marks_of(run.output.inputs, [&run](const std::string& file) { return run.mark_of(file); });
  const std::set<std::string> lines = finished_lines(mark, head_of(stored_command, marks) + of_run);
  if (of_run.empty() || lines.empty()) return {};
  FinishedLabels finished;
  const std::vector<LabelPart> parts = parts_of(run.target, common, *run.source);
  std::vector<std::string> names;
  for (const LabelPart& part : parts) {
    if (!lines.contains(line_of(run.target, part.path))) continue;
    finished.files.push_back(part.points);
    names.push_back(std::filesystem::path(part.path).lexically_relative(run.target).string());
  }
  finished.are_all = finished.files.size() == parts.size();
  if (!names.empty() && !common.quiet) {
    Terminal::instance().say(fmt::format("labels     {} of {} files in {} kept from an earlier run: {}", names.size(),
                                         parts.size(), run.target, data::show_list(names, kShown)));
  }
  return finished;
}

void begin_label_folders(PointsRun& run) {
  for (const std::string& folder : folders_of(run)) {
    data::check_table_file("labels." + run.common.labels_format);
    const std::vector<LabelPart> parts = parts_of(folder, run.common, *run.source);
    refuse_inputs(parts, run.output.inputs);
    const std::string head = head_of(run.needs.stored_command, run.output.marks), of_run = lines_of_run(run);
    const std::string path = folder_mark(folder);
    const bool is_same = folder_mark_text(path).starts_with(head);
    std::error_code failure;
    for (const LabelPart& part : parts) {
      if (is_same || run.common.force || !std::filesystem::exists(part.path, failure)) continue;
      throw Error(ExitCode::output, fmt::format("{}: exists, and is not known to be of a run with these files and "
                                                "options; use -f/--force to replace it, or choose another folder",
                                                part.path));
    }
    for (const LabelPart& part : parts) {
      const std::filesystem::path parent = std::filesystem::path(part.path).parent_path();
      if (!std::filesystem::exists(parent, failure)) std::filesystem::create_directories(parent, failure);
    }
    std::string mark = head + of_run;
    if (!of_run.empty() && !run.common.force) {
      for (const std::string& line : finished_lines(path, head + of_run)) mark += line;
    }
    data::write_text_file(path, {.force = true}, mark);
    std::filesystem::permissions(path, std::filesystem::perms::group_write | std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::remove, failure);
  }
}

SideOutput label_side_output(const std::string& labels) {
  std::vector<std::string> endings(std::begin(kLabelEndings), std::end(kLabelEndings));
  endings.emplace_back("/");
  return {"--labels", labels, endings};
}

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
