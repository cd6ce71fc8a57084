// The options that commands share: names, defaults, help.
#include "app/common_options.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/threads.h"

namespace kith::app {

void add_output_options(OptionSet& set, CommonOptions& common) {
  set.text({.names = "-o,--output",
            .value = "FILE",
            .help = "Write the result to this HDF5 file; it appears only when it is complete."},
           common.output);
  set.flag({.names = "-f,--force", .help = "Replace an existing output file. Inputs are never replaced."},
           common.force);
}

void add_precision_option(OptionSet& set, CommonOptions& common) {
  set.choice({.names = "--precision",
              .value = "P",
              .help = "Class of values: f32, f64, or auto: f32 where float32 holds every value."},
             {"auto", "f32", "f64"}, common.precision);
}

void add_metric_option(OptionSet& set, CommonOptions& common) {
  set.choice({.names = "--metric",
              .value = "NAME",
              .help = "euclidean, or cosine: Euclidean between rows scaled to length 1."},
             {"euclidean", "cosine"}, common.metric);
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

void add_common_options(OptionSet& set, CommonOptions& common) {
  set.begin_common();
  add_output_options(set, common);
  add_backend_options(set, common);
  add_thread_option(set, common);
  add_memory_option(set, common);
  add_precision_option(set, common);
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
  return common.metric == name_of(Metric::cosine) ? Metric::cosine : Metric::euclidean;
}

std::string stored_metric(const CommonOptions& common) {
  return metric_of(common) == Metric::euclidean ? "" : " --metric " + common.metric;
}

data::ReadOptions read_options(const CommonOptions& common) {
  data::ReadOptions options;
  if (common.precision == "f32") options.precision = data::Precision::f32;
  if (common.precision == "f64") options.precision = data::Precision::f64;
  // A few threads take what memory gives; the others are left to what is done with the rows.
  constexpr std::int64_t kMostReaders = 8;
  const std::int64_t threads = common.threads > 0 ? common.threads : cpu::usable_threads();
  options.threads = static_cast<int>(std::min(threads, kMostReaders));
  options.keep_bytes = metric_of(common) == Metric::euclidean;  // rows of length 1 are no bytes
  return options;
}

data::OutputOptions output_options(const CommonOptions& common, const std::vector<std::string>& inputs) {
  data::OutputOptions options;
  options.force = common.force;
  for (const std::string& input : inputs) {
    if (!input.empty()) options.inputs.push_back(data::parse_location(input).file);
  }
  return options;
}

}  // namespace kith::app
