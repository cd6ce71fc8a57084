// kith bench: measures the limits of this machine and how close kith comes to them, all in one run.
#include "app/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

#include "app/bench/bench_rates.h"
#include "app/cli/help_page.h"
#include "app/cli/layout.h"
#include "app/cli/suggest.h"
#include "app/cli/terminal.h"
#include "app/commands.h"

namespace kith::app {
namespace {

using LadderFunction = std::vector<Measurement> (*)(const BenchRequest&);

/// `rows` is set for a suite over points, `ladder` for a ladder of kernels, neither for the limits.
struct Suite {
  const char* name;
  const char* summary;
  std::vector<BenchRow> (*rows)(BenchRun&);
  LadderFunction ladder;
  const char* form;                 // form of its shapes
  LadderFunction on_cpu = nullptr;  // the same ladder on the processor
};

constexpr std::array<Suite, 11> kSuites{{
    {"limits", "limits of the machine: bandwidths, latency, matrix products", nullptr, nullptr, ""},
    {"assign", "one assignment of all rows to their nearest centroids", bench_assign, nullptr, "NxD,K"},
    {"sweep", "assignments over a grid of columns and centroids: time per row and multiply-add", bench_sweep, nullptr,
     "NxD,K"},
    {"iteration", "whole iterations of k-means", bench_iteration, nullptr, "NxD,K"},
    {"scale", "iterations on 1, 2, 4 ... GPUs, or threads of the processor", bench_scale, nullptr, "NxD,K"},
    {"knn", "exact nearest neighbours", bench_knn, nullptr, "NxD,Q,K or NxD,K (the points are the queries)"},
    {"distances", "ladder of kernels: all distances of two matrices (cuda)", nullptr, cuda::climb_distances, "MxN,K"},
    {"plane", "ladder of kernels: all distances of points in a plane (cuda)", nullptr, cuda::climb_plane, "Nx2"},
    {"reduce", "ladder of kernels: the sum of many numbers (cuda)", nullptr, cuda::climb_reduce, "Nx1"},
    {"sort", "ladder of kernels: radix sort of 32-bit integers (cuda)", nullptr, cuda::climb_sort, "Nx1"},
    {"sobel", "ladder of kernels: edges of an 8-bit picture", nullptr, cuda::climb_sobel, "WIDTHxHEIGHT",
     cpu::climb_sobel},
}};

const Suite& suite_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Suite& suite : kSuites) {
    if (name == suite.name) return suite;
    names.emplace_back(suite.name);
  }
  throw Error(ExitCode::usage,
              fmt::format("unknown suite '{}'{}; kith bench lists the suites", name, suggestion(name, names)));
}

std::string list_of_suites() {
  HelpGroup group{"Suites of kith bench SUITE", {}};
  for (const Suite& suite : kSuites) {
    const std::string shapes = *suite.form != '\0' ? "; " + unbreakable("--shape ") + suite.form : "";
    group.lines.push_back({suite.name, suite.summary + shapes});
  }
  return lay_out(group, prose_width(Stream::output));
}

void declare(OptionSet& set, BenchOptions& options) {
  set.positional({.names = "SUITE",
                  .help = "limits, assign, sweep, iteration, scale, knn, distances, plane, reduce, sort or sobel."},
                 options.suite);
  set.positionals({.names = "--shape",
                   .value = "SHAPE",
                   .help = "Shape to measure in place of the suite's own, as in 1000000x128,1024 (rows x columns, "
                           "centroids); can be repeated."},
                  options.shapes);
  set.text({.names = "--data",
            .value = "KINDS",
            .help = "Points for assign, sweep, iteration, scale and knn: kinds of kith generate, with commas between "
                    "them, or all. If noise is among them, the table also gives the other times relative to it."},
           options.data);
  set.text({.names = "--points",
            .value = "FILE",
            .help = "For iteration: use the rows of this file, and also run to convergence."},
           options.points);
  set.integer({.names = "-k,--clusters", .value = "K", .help = "Centroids for --points."},
              {1, std::numeric_limits<std::int32_t>::max()}, options.clusters);
  set.choice({.names = "--type",
              .value = "T",
              .help = "Type of the generated points: float32, or uint8, rounded to whole numbers from 0 to 255."},
             {"float32", "uint8"}, options.type);
  set.choice({.names = "--metric", .value = "M", .help = "Metric for knn: euclidean or inner-product."},
             {"euclidean", "inner-product"}, options.metric);
  set.flag({.names = "--radius",
            .help = "For knn: find all rows within the median distance of the queries to their K-th neighbours."},
           options.radius);
  set.integer({.names = "--repeat", .value = "N", .help = "Timed repetitions. The table shows the median."},
              {1, 1'000'000}, options.repeat);
  set.flag({.names = "--markdown", .help = "Print the table as Markdown."}, options.markdown);
  set.begin_common();
  add_backend_options(set, options.common);
  add_thread_option(set, options.common);
  add_message_options(set, options.common);
}

BenchRequest request_of(const BenchOptions& options, const Suite& suite, Job& job) {
  BenchRequest request;
  request.backend.threads = static_cast<int>(options.common.threads);
  request.backend.device = static_cast<int>(options.common.device);
  request.repeat = static_cast<int>(options.repeat);
  request.on_progress = [&job](const std::string& what) { job.progress.phase(what, 0); };
  if (suite.ladder != nullptr) {
    const std::size_t counts = std::string(suite.form).find(',') != std::string::npos ? 1 : 0;
    for (const std::string& text : options.shapes) request.shapes.push_back(parse_shape(text, counts, suite.form));
  }
  return request;
}

std::vector<Measurement> limits_of(const Job& job, const BenchRequest& request) {
  return job.common.chosen->device.has_own_memory ? cuda::measure_limits(request) : cpu::measure_limits(request);
}

BenchRow row_of(const Measurement& line, const Limits& limits) {
  BenchRow row{.name = line.name,
               .shape = line.shape,
               .unit = line.unit,
               .published = line.published,
               .note = line.missing.empty() ? line.note : line.missing,
               .wrong = line.wrong};
  if (line.seconds.empty()) return row;
  row.timing = timing_of(line.seconds);
  row.rate = line.work / row.timing->median;
  if (const auto limit = limits.rate(line.limit)) {
    row.share = (line.limit_work > 0.0 ? line.limit_work : line.work) / row.timing->median / *limit;
    row.limit = line.limit;
  }
  return row;
}

std::vector<BenchRow> rows_of(const std::vector<Measurement>& lines, const Limits& limits) {
  std::vector<BenchRow> rows;
  rows.reserve(lines.size());
  for (const Measurement& line : lines) rows.push_back(row_of(line, limits));
  return rows;
}

/// Measures the kernels of a ladder, then the limits that they name.
std::vector<BenchRow> ladder_rows(const Suite& suite, const Job& job, BenchRequest request) {
  const bool on_gpu = job.common.chosen->device.has_own_memory;
  const std::vector<Measurement> kernels = on_gpu ? suite.ladder(request) : suite.on_cpu(request);
  for (const Measurement& kernel : kernels) {
    if (!kernel.limit.empty()) request.names.push_back(kernel.limit);
  }
  return rows_of(kernels, Limits(limits_of(job, request)));
}

/// Throws Error(usage) for unknown kinds.
std::vector<const Kind*> kinds_of(const BenchOptions& options) {
  std::vector<const Kind*> chosen;
  if (!options.points.empty() || options.data == "all") {
    for (const Kind& kind : kinds()) chosen.push_back(&kind);
    if (!options.points.empty()) chosen.resize(1);
    return chosen;
  }
  std::istringstream names(options.data + ",");
  for (std::string name; std::getline(names, name, ',');) {
    const Kind* kind = &kind_of(name, "--data");
    if (std::find(chosen.begin(), chosen.end(), kind) == chosen.end()) chosen.push_back(kind);
  }
  return chosen;
}

std::vector<BenchRow> point_rows(const Suite& suite, const BenchOptions& options, Job& job,
                                 std::unique_ptr<Backend> backend, BenchRequest request) {
  const std::string product = job.common.chosen->device.has_own_memory ? kFp16Limit : cpu::product_limit();
  request.names = {kReadLimit, product};
  const std::vector<Measurement> lines = limits_of(job, request);
  for (const Measurement& line : lines) {
    if (!line.missing.empty()) {
      Terminal::instance().say(fmt::format("the share of the limit is not shown: {}: {}", line.name, line.missing));
    }
  }
  cpu::Threads threads(static_cast<int>(options.common.threads));
  BenchRun run{options, job, std::move(backend), threads, Limits(lines), product, kinds_of(options)};
  std::vector<BenchRow> rows = suite.rows(run);
  compare_with_noise(rows);
  return rows;
}

/// The limits; rates of the operations are kept for `kith plan`.
std::vector<BenchRow> limit_rows(const BenchOptions& options, Job& job, std::unique_ptr<Backend> backend,
                                 const BenchRequest& request) {
  const std::vector<Measurement> lines = limits_of(job, request);
  std::vector<BenchRow> rows = rows_of(lines, Limits({}));
  const std::string file = rates_file(job.report.backend, job.report.device);
  if (file.empty()) return rows;
  cpu::Threads threads(static_cast<int>(options.common.threads));
  BenchRun run{options, job, std::move(backend), threads, Limits({}), "", {&kinds().front()}};
  try {
    write_rates(file, measure_rates(run, Limits(lines).rate(kReadLimit).value_or(0.0)));
    Terminal::instance().say(fmt::format("rates for kith plan: {}", file));
  } catch (const Error& error) {
    job.progress.warning(error.what());
  }
  return rows;
}

/// Options that do not apply to the suite have no effect.
void limit_options(OptionSet& set, const BenchOptions& options, const Suite& suite) {
  const bool holds_points = suite.rows != nullptr, is_knn = options.suite == "knn";
  const auto unless = [&set](const char* name, bool applies, const std::string& reason) {
    set[name].no_effect.push_back(when([applies] { return !applies; }, reason));
  };
  unless("--shape", holds_points || suite.ladder != nullptr, "the suite limits chooses its own sizes");
  unless("--data", holds_points, "it applies to assign, sweep, iteration, scale and knn");
  unless("--data", options.points.empty(), "the points are those of the file");
  for (const char* option : {"--metric", "--radius"}) unless(option, is_knn, "it applies to knn");
  unless("--clusters", !options.points.empty(), "it applies to --points");
  unless("--type", holds_points, "it applies to assign, sweep, iteration, scale and knn");
  unless("--type", options.points.empty(), "the values are those of the file");
  unless("--markdown", !options.common.json, "--json prints no table");
  unless("--block-rows", holds_points, "this suite holds no points");
}

/// Throws Error(usage) for options that the suite does not accept.
void refuse_options(const Suite& suite, const BenchOptions& options) {
  kinds_of(options);
  if (suite.rows != nullptr) parse_shapes(options.suite, options.shapes);
  if (options.suite != "iteration" && !options.points.empty()) {
    throw Error(ExitCode::usage, fmt::format("--points: expected the suite iteration, found {}", options.suite));
  }
  if (!options.points.empty() && !options.shapes.empty()) {
    throw Error(ExitCode::usage,
                "--points cannot be combined with --shape; the shape is that of the file, and -k sets K");
  }
}

}  // namespace

int run_bench(const Arguments& arguments) {
  BenchOptions options;
  OptionSet set({.command = "bench",
                 .summary = "the limits of this machine, and how close kith comes to them.",
                 .usage = "[SUITE] [options]",
                 .examples = {"kith bench                           # lists the suites", "kith bench limits",
                              "kith bench assign --shape 1000000x128,1024 --shape 1000000x64,256 --json",
                              "kith bench iteration --data noise,blobs-0.1,outliers",
                              "kith bench plane --backend cuda --markdown"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  if (options.suite.empty()) {
    if (options.common.json || !options.shapes.empty()) {
      throw Error(ExitCode::usage, "bench: expected the name of a suite before its options; kith bench lists them");
    }
    print_out(list_of_suites());
    return 0;
  }
  const Suite& suite = suite_of(options.suite);
  refuse_options(suite, options);
  if (suite.ladder != nullptr && suite.on_cpu == nullptr) {
    if (options.common.backend == "cpu") {
      throw Error(
          ExitCode::usage,
          fmt::format("kith bench {} runs on GPUs alone; expected --backend cuda or auto, found cpu", suite.name));
    }
    options.common.backend = "cuda";
  }
  if (!Terminal::instance().is_terminal() && set.source("--progress") == Source::none) {
    options.common.progress = "never";
  }
  Job job("bench", options.common);
  const BenchRequest request = request_of(options, suite, job);
  auto backend = choose_backend(job);
  limit_options(set, options, suite);
  job.warn(set);
  if (options.common.dry_run) return 0;
  BenchReport report{.suite = suite.name,
                     .backend = job.report.backend,
                     .device = job.report.device,
                     .threads = job.report.threads,
                     .rows = {}};
  report.rows = suite.rows != nullptr     ? point_rows(suite, options, job, std::move(backend), request)
                : suite.ladder != nullptr ? ladder_rows(suite, job, request)
                                          : limit_rows(options, job, std::move(backend), request);
  job.progress.finish();
  if (options.common.json) {
    print_out(to_json(report));
  } else {
    const auto cells = cells_of(report);
    print_out(options.markdown ? markdown_table(cells) : aligned_table(cells, text_width(Stream::output)));
  }
  finish_out();
  return report.wrong() ? static_cast<int>(ExitCode::internal) : 0;
}

}  // namespace kith::app
