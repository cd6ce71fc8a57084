// The options that commands share: names, defaults, help.
#include "app/cli/common_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/points/backend.h"
#include "core/runtime/threads.h"
#include "data/file_names.h"
#include "data/format/column_choice.h"

namespace kith::app {
namespace {

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric metric : kMetrics) names.emplace_back(name_of(metric));
  return names;
}

}  // namespace

void add_output_options(OptionSet& set, CommonOptions& common, const char* help) {
  set.text({.names = "-o,--output", .value = "FILE", .help = help, .section = Section::output}, common.output);
  set.flag({.names = "-f,--force",
            .help = "Replace an existing output file. Inputs are never replaced.",
            .section = Section::output,
            .no_effect = {when([&common] { return common.output.empty(); }, "there is no --output")}},
           common.force);
}

void add_ids_option(OptionSet& set, CommonOptions& common) {
  set.text({.names = "--ids",
            .value = "FILE[:COLUMN]",
            .help = "File with a text for each row of the points, for formats that have none: FILE.csv or "
                    "FILE.csv:COLUMN, a dataset, or a text file with an identifier a line. Outputs name the rows by "
                    "it.",
            .section = Section::points,
            .shown_default = "none",
            .input = Input::table,
            .stored = {Stored::if_changed, position::kInput},
            .excludes = {"--id-column"}},
           common.ids);
}

void add_points(OptionSet& set, std::string& points, const char* required, const char* name) {
  set.positional_set(
      {.names = name,
       .help = "FILE:DATASET with n rows, or FILE if it contains one matrix. Several of them, a folder, a "
               "pattern in quotes ('shards/*.npy') or @LIST (a file with a name a line) are one set: the "
               "rows of one file after those of the other.",
       .required = required,
       .input = Input::table,
       .stored = Stored::always},
      points);
}

void add_precision_option(OptionSet& set, CommonOptions& common) {
  set.choice({.names = "--precision",
              .value = "P",
              .help = "Type of the values: f32, f64, or auto: f32 if float32 represents every value.",
              .section = Section::points,
              .stored = {Stored::if_used, position::kPrecision}},
             {"auto", "f32", "f64"}, common.precision);
}

void add_input_options(OptionSet& set, CommonOptions& common) {
  set.text({.names = "--columns",
            .value = "LIST",
            .help = "Columns to use as points, in this order: names, or numbers from 1, as in a,b,3-7, or numeric (all "
                    "columns of numbers). A name that contains a comma is put in double quotes: 'a,\"b, c\"'.",
            .section = Section::points,
            .shown_default = "all",
            .stored = {Stored::if_changed, position::kInput}},
           common.columns);
  set.text({.names = "--drop-columns",
            .value = "LIST",
            .help = "Columns to ignore, named as for --columns.",
            .section = Section::points,
            .stored = {Stored::if_changed, position::kInput}},
           common.drop_columns);
  set.text(
      {.names = "--id-column",
       .value = "NAME",
       .help = "Column of a text file that names the rows. It is not part of the points; text results and knn results "
               "include it.",
       .section = Section::text,
       .shown_default = "the first column, if it has no name",
       .stored = {Stored::if_changed, position::kInput}},
      common.id_column);
  set.text({.names = "--label-column",
            .value = "NAME",
            .help = "Column of a text file with known labels. It is not part of the points.",
            .section = Section::text,
            .stored = {Stored::if_changed, position::kInput}},
           common.label_column);
  add_text_options(set, common);
  set.flag({.names = "--transpose",
            .help = "The columns of the file are the points, its rows the features.",
            .section = Section::points,
            .stored = {Stored::if_changed, position::kInput}},
           common.transpose);
}

bool transforms_places(const CommonOptions& common) {
  return metric_of(common) == Metric::haversine &&
         (common.scale != "none" || common.pca > 0 || !common.column_weights.empty() || common.prepare != "none");
}

void add_metric_option(OptionSet& set, CommonOptions& common) {
  set.choice({.names = "--metric",
              .value = "NAME",
              .help = "euclidean; cosine: Euclidean distance between rows scaled to length 1; correlation: the same of "
                      "rows less their mean. knn, distances and dbscan also support manhattan, chebyshev, haversine "
                      "(km between places, latitude and longitude in degrees) and, of rows of bits, hamming (how many "
                      "differ) and jaccard (1 - Tanimoto similarity); knn and distances inner-product (largest first).",
              .stored = {Stored::if_changed_and_used, position::kMetric},
              .refused = {when([&common] { return transforms_places(common); }, kTransformedPlaces)}},
             metric_names(), common.metric);
}

void add_bits_option(OptionSet& set, CommonOptions& common) {
  set.integer(
      {.names = "--bits",
       .value = "D",
       .help = "For --metric hamming and jaccard: the bits of a row. Values of type uint8 hold eight bits each, "
               "the first in the most significant place, unless the file has D columns; of every other type a "
               "column is a bit, 0 or 1.",
       .section = Section::points,
       .shown_default = "all that the columns hold",
       .stored = {Stored::if_changed, position::kInput}},
      {0, kMostBits}, common.bits);
  set["--precision"].no_effect = {when([&common] { return compares_bits(common); }, "rows are bits")};
}

void add_seed_option(OptionSet& set, CommonOptions& common) {
  set.seed({.names = "--seed",
            .value = "N",
            .help = "Seed of all random choices, below 2^64.",
            .stored = {Stored::never, position::kSeed}},
           common.seed);
}

void add_thread_option(OptionSet& set, CommonOptions& common) {
  set.integer({.names = "--threads",
               .value = "N",
               .help = "CPU threads; 0: all that this process may use. Results do not depend on it.",
               .section = Section::machine},
              {0, 4096}, common.threads);
}

void add_memory_option(OptionSet& set, CommonOptions& common) {
  set.size({.names = "--memory",
            .value = "SIZE",
            .help = "Maximum memory of the run, as in 4GB or 512MiB.",
            .section = Section::machine,
            .shown_default = "what is free here"},
           common.memory);
}

void add_scratch_option(OptionSet& set, CommonOptions& common) {
  set.text(
      {.names = "--scratch",
       .value = "DIR",
       .help = "Folder for temporary files, if memory is short: decoded text, archives and transposed matrices, and "
               "points that are read in passes but not from their file: text, sparse or prepared ones. kith "
               "leaves no files there.",
       .section = Section::machine,
       .shown_default = "none: such runs are refused"},
      common.scratch);
}

void add_backend_options(OptionSet& set, CommonOptions& common) {
  common.set = &set;
  set.choice({.names = "--backend",
              .value = "NAME",
              .help = "Where to compute: auto (where the run is expected to be the fastest), cpu or cuda. Results do "
                      "not depend on it.",
              .section = Section::machine},
             {"auto", "cpu", "cuda"}, common.backend);
  set.integer({.names = "--device",
               .value = "N",
               .help = "Number of the GPU. If the named GPU cannot be used, kith stops with an error.",
               .section = Section::machine},
              {0, 1023}, common.device);
  set.text({.names = "--devices",
            .value = "LIST",
            .help = "Divide the rows among several GPUs: all, their number, or a list such as 0,2. Results do not "
                    "depend on it.",
            .section = Section::machine,
            .shown_default = "as many as shorten the run",
            .excludes = {"--device"}},
           common.devices);
  set.size({.names = "--device-memory",
            .value = "SIZE",
            .help = "Maximum memory of each GPU that is used. Rows that do not fit are sent there in blocks.",
            .section = Section::machine,
            .shown_default = set.command() == "bench" ? "what is free" : "as --memory",
            .needs = &Device::has_own_memory},
           common.device_memory);
  set.choice({.names = "--screen",
              .value = "PATH",
              .help = "Instructions of the GPU's low-precision pass: auto (the best it has), wgmma, mma or float32. "
                      "Results do not depend on it. If the named screen cannot be used, kith stops with an error.",
              .section = Section::machine},
             {"auto", "wgmma", "mma", "float32"}, common.screen);
  set.integer({.names = "--block-rows",
               .value = "N",
               .help = "Rows per block of work; 0: chosen from sizes. Results do not depend on it.",
               .section = Section::machine},
              {0, std::int64_t{1} << 40}, common.block_rows);
}

void add_message_options(OptionSet& set, CommonOptions& common) {
  set.flag({.names = "-q,--quiet", .help = "Print only warnings and errors.", .section = Section::messages},
           common.quiet);
  set.flag({.names = "-v,--verbose",
            .help = "Print every phase and iteration; of runs over points also the plan and the chosen methods.",
            .section = Section::messages},
           common.verbose);
  set.flag({.names = "--json",
            .help = "Print the report of the run on standard output as one JSON object.",
            .section = Section::messages},
           common.json);
  set.choice({.names = "--progress",
              .value = "WHEN",
              .help = "Show progress on standard error: auto (after a second), always or never.",
              .section = Section::messages},
             {"auto", "always", "never"}, common.progress);
  set.flag({.names = "--dry-run",
            .help = "Check the arguments and files without reading values or writing anything, and exit.",
            .section = Section::messages},
           common.dry_run);
  set.text({.names = "--config",
            .value = "FILE",
            .help = "Read options from this file (kith.toml).",
            .section = Section::messages},
           common.config);
}

void add_common_options(OptionSet& set, CommonOptions& common, const char* output_help) {
  set.begin_common();
  add_output_options(set, common, output_help);
  add_backend_options(set, common);
  add_thread_option(set, common);
  add_memory_option(set, common);
  add_scratch_option(set, common);
  add_precision_option(set, common);
  add_input_options(set, common);
  add_metric_option(set, common);
  add_seed_option(set, common);
  set.flag({.names = "--no-advice",
            .help = "Omit advice about columns, scales and numbers of clusters that may make a result misleading.",
            .section = Section::messages},
           common.no_advice);
  set.text({.names = "--json-file",
            .value = "FILE",
            .help = "Also write the report of the run, the object of --json, to this file.",
            .section = Section::messages,
            .shown_default = "none"},
           common.json_file);
  add_message_options(set, common);
  set["--memory"].help = kStreamingHelp;
  set["--dry-run"].help =
      "Check everything that can be checked without reading values, print the plan of the run (kith plan), and exit.";
}

std::vector<std::string> common_option_names() {
  CommonOptions common;
  OptionSet set({});
  add_common_options(set, common);
  return set.names();
}

std::string named_gpu(const CommonOptions& common) {
  if (common.set == nullptr) return "";
  const bool any = common.backend == "auto";
  const auto shown = [&](const char* name, const char* variable, const std::string& value) -> std::string {
    const Source source = common.set->source(name);
    if (source == Source::none || (!any && source < common.set->source("--backend"))) return "";
    return source == Source::environment ? fmt::format("{}={}", variable, value) : fmt::format("{} {}", name, value);
  };
  std::string device = shown("--device", "KITH_DEVICE", std::to_string(common.device));
  if (device.empty() && common.devices != "all" && common.backend != "cpu") {
    device = shown("--devices", "KITH_DEVICES", common.devices);
  }
  return device.empty() && common.screen != "auto" ? shown("--screen", "KITH_SCREEN", common.screen) : device;
}

Metric metric_named(const std::string& name) {
  const auto found = std::ranges::find_if(kMetrics, [&](Metric metric) { return name == name_of(metric); });
  return found == std::end(kMetrics) ? Metric::euclidean : *found;
}

void check_bit_options(const CommonOptions& common) {
  if (!compares_bits(common)) {
    if (common.bits == 0) return;
    throw Error(ExitCode::usage, fmt::format("--bits {}: expected --metric hamming or jaccard, which compare rows of "
                                             "bits, found --metric {}; leave --bits out, or give one of these metrics",
                                             common.bits, common.metric));
  }
  const auto is_given = [&](const char* name) {
    return common.set != nullptr && common.set->source(name) != Source::none;
  };
  for (const char* name : {"--scale", "--pca", "--column-weights", "--prepare", "--nan"}) {
    if (!is_given(name)) continue;
    throw Error(ExitCode::usage,
                fmt::format("{} cannot be combined with --metric {}, whose rows are bits, 0 or 1; leave "
                            "{} out",
                            name, common.metric, name));
  }
}
Metric metric_of(const CommonOptions& common) { return metric_named(common.metric); }

std::string metric_without_means(const CommonOptions& common) {
  if (has_means(metric_of(common))) return "";
  return fmt::format(
      "--metric {}: k-means supports euclidean, cosine and correlation; a mean does not minimise other distances, "
      "which kith knn, kith dbscan and kith distances support",
      common.metric);
}

data::ReadOptions read_options(const CommonOptions& common, const ExpectedColumns& expected) {
  data::ReadOptions options;
  options.columns = common.columns;
  options.drop_columns = common.drop_columns;
  options.like = expected.names;
  options.id_column = common.id_column;
  if (!expected.are_queries) options.ids = common.ids;
  if (!expected.are_queries || common.ids.empty()) options.joined = common.join;
  options.label_column = common.label_column;
  options.weight_column = common.weight_column;
  options.indexed = expected.indexed;
  options.model = expected.model;
  options.keep_unknown = expected.keep_unknown;
  if (common.index_base != "auto") options.indexed.base = common.index_base == "0" ? 0 : 1;
  read_text_options(common, options);
  options.offers_prepare = common.has_prepare && common.prepare == "none" && !common.transpose;
  options.transpose = common.transpose;
  options.scratch = common.scratch;
  if (!common.nan.empty() && !compares_bits(common)) {
    options.missing = common.nan == "error" ? data::Missing::offer : data::Missing::keep;
  }
  if (common.nan == "mean") options.fill = data::Fill::mean;
  if (common.nan == "median") options.fill = data::Fill::median;
  read_missing_texts(common, options);
  if (common.precision == "f32") options.precision = data::Precision::f32;
  if (common.precision == "f64") options.precision = data::Precision::f64;
  // A few threads saturate the memory; the others are free for work on the rows.
  constexpr std::int64_t kMostReaders = 8;
  const std::int64_t threads = common.threads > 0 ? common.threads : usable_threads();
  options.threads = static_cast<int>(std::min(threads, kMostReaders));
  options.keep_bytes = true;
  return options;
}

data::OutputOptions output_options(const CommonOptions& common, const std::vector<std::string>& inputs) {
  data::OutputOptions options;
  options.force = common.force;
  for (const std::string& input : inputs) {
    if (!input.empty()) options.inputs.push_back(data::parse_location(input).file);
  }
  if (!common.config.empty()) options.inputs.push_back(common.config);
  options.files_of = [](const std::string& name) {
    const auto set = data::named_set(name);
    return set ? set->files : std::vector{name};
  };
  return options;
}

}  // namespace kith::app
