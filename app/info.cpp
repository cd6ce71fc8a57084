// kith info: the datasets of files, with shapes, types, layouts and statistics of their columns; what a result says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "app/cli/failure.h"
#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "app/run/dropped_rows.h"
#include "app/run/freshness.h"
#include "app/run/job.h"
#include "app/run/report.h"
#include "app/run/results.h"
#include "app/summaries.h"
#include "core/error.h"
#include "data/file_names.h"
#include "data/format/column_choice.h"
#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/io/stream_bytes.h"
#include "data/io/utf8.h"
#include "data/results/stored_result.h"

namespace kith::app {
namespace {

/// A dataset and its statistics.
struct Described {
  data::DatasetInfo info;
  std::optional<data::TableProfile> profile;  // of a text table
  std::vector<ColumnStatistics> statistics;
  std::vector<std::string> names;  // of these columns, or none
  std::string obstacle;            // why there are no statistics: NaN in row 3, ...
  bool failed = false;             // it is damaged, or reading it failed
};

struct DescribedFile {
  std::string name;
  std::vector<Described> datasets;
  std::optional<std::int64_t> verified = {};  // datasets whose checksums were compared, with --verify
  nlohmann::ordered_json result = {};         // what a result of kith says; null: it is none
  nlohmann::ordered_json set = {};            // of a folder, a pattern or a list; null: it is one file
};

bool is_matrix_or_vector(const data::DatasetInfo& info) { return info.shape.size() == 1 || info.shape.size() == 2; }

/// What the columns of a table hold, of text or read as text. Where a text table cannot be read, the dataset says so.
void add_profile(const std::string& file, Described& dataset, const data::ReadOptions& options, bool is_text) {
  try {
    dataset.profile = data::profile_table({{file, ""}}, options);
  } catch (const Error& error) {
    if (error.code() != ExitCode::data && error.code() != ExitCode::usage) throw;
    if (is_text && dataset.info.unreadable.empty()) dataset.info.unreadable = error.what();
  }
}

/// Chooses the columns of numbers for statistics, and the options that read them. Returns false if there are none.
bool choose_numbers(Described& dataset, data::ReadOptions& options) {
  if (dataset.profile) {
    const data::TableProfile& profile = *dataset.profile;
    if (profile.unclear.empty()) options.decimal = profile.numbers.decimal;
    options.thousands = profile.numbers.thousands;
    options.skip_lines = profile.skip_lines;
    options.missing_texts.insert(options.missing_texts.end(), profile.missing_texts.begin(),
                                 profile.missing_texts.end());
    std::vector<std::string> texts;
    for (const std::int64_t j : profile.points) {
      if (profile.columns[static_cast<std::size_t>(j)].reads_as_number) continue;
      texts.push_back(data::option_text(profile.names, j));
    }
    dataset.info.text_columns = fmt::format("{}", fmt::join(texts, ","));
    if (texts.size() == profile.points.size()) return false;
  }
  const std::string& texts = dataset.info.text_columns;
  if (!texts.empty()) options.drop_columns += (options.drop_columns.empty() ? "" : ",") + texts;
  return true;
}

void add_statistics(const std::string& file, Described& dataset, data::ReadOptions options, Progress& progress) {
  if (!is_matrix_or_vector(dataset.info)) return;
  try {
    options.vector_as_column = true;
    if (options.fill == data::Fill::none) options.missing = data::Missing::keep;  // they are counted
    if (!choose_numbers(dataset, options)) {
      dataset.obstacle = "no column holds numbers";
      return;
    }
    const std::string location = dataset.info.path.empty() ? file : fmt::format("{}:{}", file, dataset.info.path);
    const auto source = data::open_points(location, options);
    dataset.names = source->column_names();
    dataset.statistics = column_statistics(*source, progress);
    for (const std::string& remark : source->remarks()) {
      if (std::ranges::count(dataset.info.remarks, remark) == 0) dataset.info.remarks.push_back(remark);
    }
  } catch (const Error& error) {  // values that cannot be read are a result here
    if (error.code() != ExitCode::data) throw;
    dataset.obstacle = error.what();
    dataset.failed = dataset.failed || (dataset.info.is_readable && error.cause() != Cause::value);
  }
}

struct InfoOptions {
  bool profile = true;  // what the columns of text tables hold
  bool stats = false;
  bool verify = false;
  bool fresh = false;
  std::string command;  // for fresh: that writes the result
  std::string inputs;   // for fresh: where they are
};

DescribedFile describe_file(const std::string& text, const InfoOptions& wanted, const data::ReadOptions& options,
                            Progress& progress) {
  if (data::named_set(text)) return {.name = text, .datasets = {}, .set = summary_of_set(text, options)};
  const data::Location location = data::parse_location(text);
  DescribedFile file{location.file, {}};
  if (wanted.verify) file.verified = data::verify_result(location.file);
  for (const data::DatasetInfo& info : data::list_datasets(location, options)) {
    file.datasets.push_back({info, {}, {}, {}, "", info.is_damaged});
  }
  if (location.dataset.empty() && data::StoredResult::is_one(location.file)) {
    file.result = result_facts(data::StoredResult(location.file));
  }
  // A stream is read once: for the list of its datasets.
  if (wanted.profile && !data::is_standard_input(location.file)) {
    const bool is_text = data::is_text_table(location.file);
    for (Described& dataset : file.datasets) {
      // Of Parquet and Arrow, whose columns have types, only where all values are read and some are no numbers.
      const bool has_texts = wanted.stats && location.dataset.empty() && !dataset.info.text_columns.empty();
      if (is_text || (has_texts && data::is_arrow(location.file)))
        add_profile(location.file, dataset, options, is_text);
    }
  }
  if (!wanted.stats) return file;
  for (Described& dataset : file.datasets) add_statistics(location.file, dataset, options, progress);
  return file;
}

/// What says on standard error that a part of the file could not be shown; empty if all was.
std::string failure_of(const DescribedFile& file) {
  if (!file.set.is_null()) {
    const std::size_t failed = file.set["unreadable"].size();
    return failed == 0 ? ""
                       : fmt::format(
                             "{}: cannot read {} of its files, for the reasons that are shown; copy or "
                             "create them again, or leave them out",
                             file.name, failed);
  }
  std::vector<std::string> failed;
  for (const Described& dataset : file.datasets) {
    if (dataset.failed) failed.push_back(dataset.info.path.empty() ? "its values" : quoted(dataset.info.path));
  }
  if (failed.empty()) return "";
  return fmt::format("{}: cannot read {}, for the reasons that are shown; copy or create the file again", file.name,
                     data::show_list(failed));
}

/// Columns of text beside each other, numbers aligned left.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t indent) {
  const TextTable table{std::vector<Align>(rows[0].size(), Align::left), rows, 1, indent};
  return lay_out(table, text_width(Stream::output));
}

/// A paragraph that is indented by two columns.
std::string paragraph(const std::string& text) { return hang("  ", wrap(text, text_width(Stream::output) - 2)); }

struct MissingValues {
  std::int64_t values = 0, columns = 0;
};

MissingValues count_missing(const Described& dataset) {
  MissingValues count;
  for (const ColumnStatistics& s : dataset.statistics) {
    count.values += s.missing;
    count.columns += s.missing > 0 ? 1 : 0;
  }
  return count;
}

std::string statistics_table(const Described& dataset) {
  std::vector<std::vector<std::string>> rows{{"column", "minimum", "maximum", "mean", "deviation"}};
  const bool any_missing = count_missing(dataset).columns > 0;
  if (any_missing) rows[0].push_back("missing");
  const auto shown = [](const ColumnStatistics& s, const std::string& number) {
    return std::isnan(s.mean) ? "-" : number;
  };
  for (std::size_t j = 0; j < dataset.statistics.size(); ++j) {
    const ColumnStatistics& s = dataset.statistics[j];
    rows.push_back({j < dataset.names.size() ? quoted(dataset.names[j], 60) : std::to_string(j + 1),
                    shown(s, fmt::format("{}", s.minimum)), shown(s, fmt::format("{}", s.maximum)),
                    shown(s, fmt::format("{:.9g}", s.mean)), shown(s, fmt::format("{:.9g}", s.deviation))});
    if (any_missing) rows.back().push_back(std::to_string(s.missing));
  }
  return table(rows, 4);
}

/// Links, layouts and filters that prevent reading. Shapes that are not matrices are visible in the table.
std::string obstacles(const DescribedFile& file) {
  std::string out;
  for (const Described& dataset : file.datasets) {
    const data::DatasetInfo& info = dataset.info;
    if (dataset.profile && info.unreadable.ends_with("say --prepare auto")) {  // the types above say why
      out += lay_out_command(fmt::format("kith cluster {} -k K --prepare auto", shell_word(file.name)),
                             text_width(Stream::output));
      continue;
    }
    if (info.unreadable.starts_with(file.name)) {  // the message is complete
      out += paragraph(visible(info.unreadable));
      continue;
    }
    const bool stored_here =
        info.layout == "contiguous" || info.layout == "compact" || info.layout.starts_with("chunk");
    if (info.unreadable.empty() || (stored_here && info.shape.size() != 2)) continue;
    out += paragraph(visible(fmt::format("{}: {}", info.path.empty() ? file.name : info.path, info.unreadable)));
  }
  return out.empty() ? "" : "\n" + out;
}

/// Names with the types in parentheses, if there are any.
std::string show_columns(const std::vector<std::string>& names, const std::vector<std::string>& types) {
  constexpr std::size_t shown = 50;
  std::string out;
  for (std::size_t j = 0; j < std::min(names.size(), shown); ++j) {
    const std::string type = types.empty() ? "" : fmt::format(" ({})", quoted(types[j], 60));
    out += fmt::format("{}{}{}", j > 0 ? ", " : "", quoted(names[j]), type);
  }
  return names.size() > shown ? out + fmt::format(" and {} more", names.size() - shown) : out;
}

std::string as_text(const DescribedFile& file, bool stats) {
  std::string out = visible(file.name) + "\n";
  if (!file.set.is_null()) return out + summary_text(file.set);
  if (!file.result.is_null()) out += result_text(file.result, text_width(Stream::output)) + "\n";
  std::vector<std::vector<std::string>> rows{{"dataset", "shape", "type", "layout", "filters", "bytes"}};
  for (const Described& dataset : file.datasets) {
    const data::DatasetInfo& info = dataset.info;
    rows.push_back({info.path.empty() ? "-" : visible(info.path),
                    info.shape.empty() ? "()" : fmt::format("{}", fmt::join(info.shape, " x ")),
                    visible(info.type + (info.byte_order == "big" ? " big-endian" : "")), visible(info.layout),
                    visible(fmt::format("{}", fmt::join(info.filters, ", "))), std::to_string(info.stored_bytes)});
  }
  out += file.datasets.empty() ? "  no datasets\n" : table(rows, 2);
  if (file.verified)
    out +=
        "\n" + paragraph(fmt::format("verified: the checksums of {} datasets and of the attributes", *file.verified));
  for (const Described& dataset : file.datasets) {
    if (dataset.profile) out += "\n" + profile_table_text(*dataset.profile, text_width(Stream::output));
  }
  out += obstacles(file);
  for (const Described& dataset : file.datasets) {
    if (!dataset.info.columns.empty() && !dataset.profile)
      out += "\n" + paragraph("columns " + show_columns(dataset.info.columns, dataset.info.column_types));
  }
  for (const Described& dataset : file.datasets) {
    if (const std::string skipped = show_skipped(dataset.info.skipped); !skipped.empty()) {
      out += "\n" + paragraph(skipped);
    }
    for (const std::string& remark : dataset.info.remarks) out += "\n" + paragraph(visible(remark));
  }
  for (const Described& dataset : file.datasets) {
    if (!stats || !is_matrix_or_vector(dataset.info)) continue;
    const MissingValues missing = count_missing(dataset);
    const std::string values = !dataset.obstacle.empty() ? dataset.obstacle
                               : missing.values == 0
                                   ? "all values finite"
                                   : fmt::format(
                                         "{} missing values (NaN, infinity, empty) in {} columns; --nan drop, mean or "
                                         "median accepts them",
                                         missing.values, missing.columns);
    const std::string& texts = dataset.info.text_columns;
    const std::string left_out =
        texts.empty() || !dataset.obstacle.empty() ? "" : fmt::format("; columns of text are left out: {}", texts);
    out += "\n" + paragraph(fmt::format("{}: {}", dataset.info.path.empty() ? "values" : visible(dataset.info.path),
                                        visible(values + left_out)));
    if (dataset.obstacle.empty()) out += statistics_table(dataset);
  }
  return out;
}

nlohmann::ordered_json as_json(const Described& dataset) {
  const data::DatasetInfo& info = dataset.info;
  nlohmann::ordered_json object{{"path", info.path},
                                {"shape", info.shape},
                                {"type", info.type},
                                {"byte_order", info.byte_order},
                                {"layout", info.layout},
                                {"filters", info.filters},
                                {"stored_bytes", info.stored_bytes},
                                {"unreadable", info.unreadable}};
  if (!info.columns.empty()) object["columns"] = info.columns;
  if (!info.column_types.empty()) object["column_types"] = info.column_types;
  if (!info.remarks.empty()) object["remarks"] = info.remarks;
  if (info.skipped.comments > 0) object["comment_lines"] = info.skipped.comments;
  if (info.skipped.blank > 0) object["blank_lines"] = info.skipped.blank;
  for (std::size_t j = 0; j < dataset.statistics.size(); ++j) {
    const ColumnStatistics& s = dataset.statistics[j];
    object["statistics"].push_back(
        {{"minimum", s.minimum}, {"maximum", s.maximum}, {"mean", s.mean}, {"deviation", s.deviation}});
    if (s.missing > 0) object["statistics"].back()["missing"] = s.missing;
    if (j < dataset.names.size()) object["statistics"].back()["column"] = dataset.names[j];
  }
  if (dataset.profile) object["column_profiles"] = profile_json(*dataset.profile);
  if (!info.text_columns.empty()) object["text_columns"] = info.text_columns;
  if (!dataset.obstacle.empty()) object["without_statistics"] = dataset.obstacle;
  return object;
}

std::string as_json(const std::vector<DescribedFile>& files, const nlohmann::ordered_json& errors) {
  nlohmann::ordered_json object{{"command", "info"}, {"version", KITH_VERSION}};
  object["files"] = nlohmann::ordered_json::array();
  for (const DescribedFile& file : files) {
    auto datasets = nlohmann::ordered_json::array();
    for (const Described& dataset : file.datasets) datasets.push_back(as_json(dataset));
    object["files"].push_back({{"file", file.name}, {"datasets", datasets}});
    if (!file.result.is_null()) object["files"].back()["result"] = file.result;
    if (!file.set.is_null()) object["files"].back()["set"] = file.set;
    if (file.verified) object["files"].back()["verified"] = *file.verified;
  }
  if (!errors.empty()) object["errors"] = errors;
  return printable_json(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

constexpr std::string_view kWriters[] = {"cluster", "sweep", "dbscan", "assign", "knn", "distances", "evaluate"};

/// For each result whether it is fresh. Returns 0 if all are.
int show_freshness(const std::vector<std::string>& names, const InfoOptions& wanted, const CommonOptions& common) {
  const std::string& command = wanted.command;
  const std::vector<std::string> places = named_inputs(wanted.inputs);
  nlohmann::ordered_json object{{"command", "info"}, {"version", KITH_VERSION}};
  bool all = true;
  Arguments words = split_words(command);
  if (!words.empty() && words.front() == "kith") words.erase(words.begin());
  if (!command.empty() && (words.empty() || std::ranges::find(kWriters, words.front()) == std::end(kWriters))) {
    throw Error(ExitCode::usage, fmt::format("--command '{}': expected a command that writes results: {}", command,
                                             fmt::join(kWriters, ", ")));
  }
  for (const std::string& name : names) {
    Arguments writer = words;
    writer.insert(writer.end(), {"-o", name});
    const std::string reason =
        command.empty() ? why_stale(name, places) : why_stale(name, [&writer] { run_program(writer); });
    all = all && reason.empty();
    Terminal::instance().set_verbosity(common.quiet ? Verbosity::quiet : Verbosity::normal);  // the command had its own
    if (!reason.empty()) Terminal::instance().say(fmt::format("{}: not fresh: {}", name, reason));
    object["files"].push_back({{"file", name}, {"fresh", reason.empty()}});
    if (!reason.empty()) object["files"].back()["reason"] = reason;
  }
  if (common.json)
    print_out(printable_json(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
  return all ? 0 : 1;
}

}  // namespace

int run_info(const Arguments& arguments) {
  std::vector<std::string> names;
  InfoOptions wanted;
  CommonOptions common;
  OptionSet set(
      {.command = "info",
       .summary = "what is in files: datasets, shapes, types, layout, filters, bytes; of results, what they say.",
       .usage = "FILE[:DATASET]... [options]",
       .examples = {"kith info points.h5", "kith info points.h5:/train --stats", "kith info *.h5 --json",
                    "kith info shards/"}});
  set.positionals(
      {.names = "FILE",
       .help = "Files, or FILE:DATASET for one dataset; a folder, a pattern in quotes or @LIST is summed up.",
       .required = "the file to describe",
       .input = Input::table},
      names);
  set.flag({.names = "--stats",
            .help = "Minimum, maximum, mean and deviation of every column that holds numbers; reads all values."},
           wanted.stats);
  set.flag({.names = "--verify",
            .help = "Results of kith: compare all values with their checksums; exit code 3 if any differs."},
           wanted.verify);
  set.flag({.names = "--fresh",
            .help = "Results of kith: exit code 0 if the inputs are those that they were made from, else 1 with the "
                    "reason. Inputs in another folder than the result have to be named, with --inputs or --command.",
            .excludes = {"--stats", "--verify"}},
           wanted.fresh);
  set.text(
      {.names = "--inputs",
       .value = "PLACE",
       .help = "For --fresh: the inputs, or folders that they are in, with commas between them. kith opens no other "
               "files than these and those in the folder of the result.",
       .shown_default = "the folder of the result",
       .excludes = {"--command"},
       .refused = {when([&wanted] { return !wanted.fresh; }, "--inputs needs --fresh; give it")}},
      wanted.inputs);
  set.text({.names = "--command",
            .value = "TEXT",
            .help = "For --fresh: the command that writes the result, without -o, as in 'cluster in/a.csv -k 3': its "
                    "options are compared too, and its inputs are where it says.",
            .shown_default = "none",
            .refused = {when([&wanted] { return !wanted.fresh; }, "--command needs --fresh; give it")}},
           wanted.command);
  set.begin_common();
  add_memory_option(set, common);
  add_scratch_option(set, common);
  add_input_options(set, common);
  add_missing_texts_option(set, common);
  add_message_options(set, common);
  if (!set.parse(arguments)) return 0;
  if (common.dry_run) wanted = InfoOptions{.profile = false, .command = {}, .inputs = {}};
  Job job("info", common);
  if (wanted.fresh) return show_freshness(names, wanted, common);
  data::ReadOptions options = read_options(common);
  options.offers_prepare = true;  // kith cluster has it
  std::vector<DescribedFile> files;
  ExitCode code = ExitCode::done;
  auto errors = nlohmann::ordered_json::array();
  const auto fail = [&](ExitCode failed, const std::string& message) {
    if (code == ExitCode::done) code = failed;
    Terminal::instance().error(message);
    errors.push_back(failure_object(static_cast<int>(failed), message));
  };
  for (const std::string& name : names) {
    try {
      files.push_back(describe_file(name, wanted, options, job.progress));
    } catch (const Error& error) {  // go on with the other files
      fail(error.code(), error.what());
      continue;
    }
    if (!common.json && !common.dry_run) print_out(as_text(files.back(), wanted.stats));
    if (const std::string failure = failure_of(files.back()); !failure.empty()) fail(ExitCode::data, failure);
  }
  job.warn(set);
  job.progress.finish();
  if (common.json && !common.dry_run) print_out(as_json(files, errors));
  return static_cast<int>(code);
}

}  // namespace kith::app
