// The options that commands share: names, defaults, help.
#include "app/cli/common_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <utility>

#include "app/cli/shell_word.h"
#include "core/error.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::app {
namespace {

constexpr Metric kMetrics[] = {Metric::euclidean, Metric::cosine, Metric::inner_product, Metric::manhattan,
                               Metric::chebyshev};

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric metric : kMetrics) names.emplace_back(name_of(metric));
  return names;
}

/// Options of points that are not the usual ones, each value as word() writes it.
template <class Word>
std::string input_options(const CommonOptions& common, const Word& word) {
  std::string command;
  const CommonOptions usual;
  const auto add = [&](const char* option, const std::string& value, const std::string& default_value) {
    if (value != default_value) command += fmt::format(" {} {}", option, word(value));
  };
  add("--columns", common.columns, usual.columns);
  add("--drop-columns", common.drop_columns, usual.drop_columns);
  add("--id-column", common.id_column, usual.id_column);
  add("--label-column", common.label_column, usual.label_column);
  add("--delimiter", common.delimiter, usual.delimiter);
  add("--header", common.header, usual.header);
  if (common.transpose) command += " --transpose";
  add("--scale", common.scale, usual.scale);
  if (common.pca != usual.pca) command += fmt::format(" --pca {}", common.pca);
  return command + (common.nan == "drop" ? " --nan drop" : "");
}

}  // namespace

void add_output_options(OptionSet& set, CommonOptions& common, const char* help) {
  set.text({.names = "-o,--output", .value = "FILE", .help = help}, common.output);
  set.flag({.names = "-f,--force", .help = "Replace an existing output file. Inputs are never replaced."},
           common.force);
}

void add_precision_option(OptionSet& set, CommonOptions& common) {
  set.choice({.names = "--precision",
              .value = "P",
              .help = "Class of values: f32, f64, or auto: f32 where float32 holds every value."},
             {"auto", "f32", "f64"}, common.precision);
}

void add_text_options(OptionSet& set, CommonOptions& common) {
  set.text({.names = "--delimiter",
            .value = "C",
            .help = "Between the values of a text file: comma, tab, semicolon, blanks, or any one character."},
           common.delimiter);
  set.choice({.names = "--header",
              .value = "WHEN",
              .help = "Does the first line of a text file name its columns: yes, no, or auto: if it holds no number."},
             {"auto", "yes", "no"}, common.header);
}

void add_input_options(OptionSet& set, CommonOptions& common) {
  set.text({.names = "--columns",
            .value = "LIST",
            .help = "Columns that are the points, in this order: names, or numbers from 1, as in a,b,3-7.",
            .shown_default = "all"},
           common.columns);
  set.text({.names = "--drop-columns", .value = "LIST", .help = "Columns that are left out, named as for --columns."},
           common.drop_columns);
  set.text({.names = "--id-column",
            .value = "NAME",
            .help = "Column of a text file that names the rows: no part of the points, written to CSV results.",
            .shown_default = "a first one without a name"},
           common.id_column);
  set.text({.names = "--label-column",
            .value = "NAME",
            .help = "Column of a text file that holds known labels: no part of the points."},
           common.label_column);
  add_text_options(set, common);
  set.flag({.names = "--transpose", .help = "Columns of the file are the points, its rows the features."},
           common.transpose);
}

void add_metric_option(OptionSet& set, CommonOptions& common) {
  set.choice(
      {.names = "--metric",
       .value = "NAME",
       .help = "euclidean, or cosine: Euclidean between rows scaled to length 1; of neighbours and distances also "
               "inner-product (the largest first), manhattan, chebyshev."},
      metric_names(), common.metric);
}

void add_seed_option(OptionSet& set, CommonOptions& common) {
  set.integer({.names = "--seed", .value = "N", .help = "Seed of all random choices."},
              {0, std::numeric_limits<std::int64_t>::max()}, common.seed);
}

void add_thread_option(OptionSet& set, CommonOptions& common) {
  set.integer({.names = "--threads",
               .value = "N",
               .help = "Processor threads; 0: all that this process may use. Results do not depend on it."},
              {0, 4096}, common.threads);
}

void add_memory_option(OptionSet& set, CommonOptions& common) {
  set.size({.names = "--memory",
            .value = "SIZE",
            .help = "Most memory the run may take: 4GB, 512MiB.",
            .shown_default = "what is free here"},
           common.memory);
}

void add_backend_options(OptionSet& set, CommonOptions& common) {
  set.choice({.names = "--backend",
              .value = "NAME",
              .help = "Where to compute: auto (the best one that works), cpu or cuda. Results do not depend on it."},
             {"auto", "cpu", "cuda"}, common.backend);
  set.integer({.names = "--device", .value = "N", .help = "Number of the graphics card."}, {0, 1023}, common.device);
  set.size({.names = "--device-memory",
            .value = "SIZE",
            .help = "Most memory of the card the run may take; what does not fit is sent to it in blocks.",
            .shown_default = "as --memory"},
           common.device_memory);
  set.choice({.names = "--screen",
              .value = "PATH",
              .help = "What a graphics card screens with: auto (the best it has), wgmma, mma or float32. Results do "
                      "not depend on it."},
             {"auto", "wgmma", "mma", "float32"}, common.screen);
  set.integer({.names = "--block-rows",
               .value = "N",
               .help = "Rows per block of work; 0: chosen from sizes. Results do not depend on it."},
              {0, std::int64_t{1} << 40}, common.block_rows);
}

void add_talk_options(OptionSet& set, CommonOptions& common) {
  set.flag({.names = "-q,--quiet", .help = "Say nothing but warnings and errors."}, common.quiet);
  set.flag({.names = "-v,--verbose", .help = "Say more: every phase and iteration."}, common.verbose);
  set.flag({.names = "--json", .help = "Print the report of the run on standard output as one JSON object."},
           common.json);
  set.choice({.names = "--progress",
              .value = "WHEN",
              .help = "Show progress on standard error: auto (after a second), always or never."},
             {"auto", "always", "never"}, common.progress);
  set.text({.names = "--config", .value = "FILE", .help = "Read options from this file (kith.toml)."}, common.config);
}

void add_common_options(OptionSet& set, CommonOptions& common, const char* output_help) {
  set.begin_common();
  add_output_options(set, common, output_help);
  add_backend_options(set, common);
  add_thread_option(set, common);
  add_memory_option(set, common);
  add_precision_option(set, common);
  add_input_options(set, common);
  add_metric_option(set, common);
  add_seed_option(set, common);
  add_talk_options(set, common);
}

std::vector<std::string> common_option_names() {
  CommonOptions common;
  OptionSet set({});
  add_common_options(set, common);
  return set.names();
}

Metric metric_of(const CommonOptions& common) {
  const auto found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                  [&](Metric metric) { return common.metric == name_of(metric); });
  return found == std::end(kMetrics) ? Metric::euclidean : *found;
}

void refuse_metrics_without_means(const CommonOptions& common) {
  if (measure_of(metric_of(common)) == Measure::squared_euclidean) return;
  throw Error(ExitCode::usage,
              fmt::format("--metric {}: expected euclidean or cosine for clusters, whose centroids are "
                          "means: no other metric here is smallest in sum around the mean; the others "
                          "are for kith knn and kith distances",
                          common.metric));
}

std::string stored_metric(const CommonOptions& common) {
  return metric_of(common) == Metric::euclidean ? "" : " --metric " + common.metric;
}

namespace {

/// One character for --delimiter, or nothing for auto.
std::string delimiter_of(const std::string& text) {
  const std::pair<const char*, const char*> words[] = {
      {"auto", ""}, {"comma", ","}, {"tab", "\t"}, {"\\t", "\t"}, {"semicolon", ";"}, {"blanks", " "}, {"space", " "}};
  for (const auto& [word, delimiter] : words) {
    if (text == word) return delimiter;
  }
  const bool cannot = text.size() != 1 || std::isalnum(static_cast<unsigned char>(text[0])) != 0 ||
                      std::string("\"+-.#\r\n").find(text) != std::string::npos;
  if (cannot) {
    throw Error(ExitCode::usage, fmt::format("--delimiter: expected auto, comma, tab, semicolon, blanks or one "
                                             "character that no number has, found '{}'",
                                             text));
  }
  return text;
}

}  // namespace

std::string stored_input(const CommonOptions& common) {
  return input_options(common, [](const std::string& value) { return value; });
}

std::string shown_input(const CommonOptions& common) { return input_options(common, shell_word); }

data::ReadOptions read_options(const CommonOptions& common) {
  data::ReadOptions options;
  options.columns = common.columns;
  options.drop_columns = common.drop_columns;
  options.id_column = common.id_column;
  options.label_column = common.label_column;
  options.weight_column = common.weight_column;
  options.delimiter = delimiter_of(common.delimiter);
  if (common.header == "yes") options.header = data::Header::yes;
  if (common.header == "no") options.header = data::Header::no;
  options.transpose = common.transpose;
  if (!common.nan.empty()) options.missing = common.nan == "drop" ? data::Missing::keep : data::Missing::offer;
  if (common.precision == "f32") options.precision = data::Precision::f32;
  if (common.precision == "f64") options.precision = data::Precision::f64;
  // A few threads take what memory gives; the others are left to what is done with the rows.
  constexpr std::int64_t kMostReaders = 8;
  const std::int64_t threads = common.threads > 0 ? common.threads : cpu::usable_threads();
  options.threads = static_cast<int>(std::min(threads, kMostReaders));
  options.keep_bytes = metric_of(common) != Metric::cosine;  // rows of length 1 are no bytes
  return options;
}

data::OutputOptions output_options(const CommonOptions& common, const std::vector<std::string>& inputs) {
  data::OutputOptions options;
  options.force = common.force;
  for (const std::string& input : inputs) {
    if (!input.empty()) options.inputs.push_back(data::parse_location(input).file);
  }
  if (!common.weights.empty()) options.inputs.push_back(data::parse_location(common.weights).file);
  if (!common.config.empty()) options.inputs.push_back(common.config);
  return options;
}

}  // namespace kith::app
