// kith bench: how fast this machine is, and how near to its limits kith comes. Every number is measured in the run.
#include "app/bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "app/cli/suggest.h"
#include "app/cli/terminal.h"
#include "app/commands.h"

namespace kith::app {
namespace {

using Measure = std::vector<Measurement> (*)(const BenchRequest&);

/// Either a suite over points, or one that the machine itself answers.
struct Suite {
  const char* name;
  const char* summary;
  std::vector<BenchRow> (*rows)(BenchRun&);
  Measure ladder;
  const char* form;  // of a shape
};

constexpr std::array<Suite, 9> kSuites{{
    {"limits", "what the machine gives: bandwidths, latency, matrix products", nullptr, nullptr, ""},
    {"assign", "all rows to their nearest centroids", bench_assign, nullptr, "NxD,K"},
    {"sweep", "assignments over a grid of columns and centroids: what a row costs for each of k d", bench_sweep,
     nullptr, "NxD,K"},
    {"iteration", "whole iterations of k-means", bench_iteration, nullptr, "NxD,K"},
    {"knn", "exact nearest neighbours", bench_knn, nullptr, "NxD,Q,K or NxD,K (a set in itself)"},
    {"distances", "ladder: all distances of two matrices (cuda)", nullptr, cuda::climb_distances, "MxN,K"},
    {"plane", "ladder: all distances of points in a plane (cuda)", nullptr, cuda::climb_plane, "Nx2"},
    {"reduce", "ladder: the sum of many numbers (cuda)", nullptr, cuda::climb_reduce, "Nx1"},
    {"sort", "ladder: radix sort of 32-bit integers (cuda)", nullptr, cuda::climb_sort, "Nx1"},
}};

const Suite& suite_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Suite& suite : kSuites) {
    if (name == suite.name) return suite;
    names.emplace_back(suite.name);
  }
  throw Error(ExitCode::usage, fmt::format("unknown suite '{}'; the nearest is '{}'; kith bench lists them", name,
                                           nearest_name(name, names)));
}

std::string list_of_suites() {
  std::string out = "Suites of kith bench SUITE:\n";
  for (const Suite& suite : kSuites) {
    const std::string shapes = *suite.form != '\0' ? fmt::format("; --shape {}", suite.form) : "";
    out += fmt::format("  {:<11}{}{}\n", suite.name, suite.summary, shapes);
  }
  return out;
}

void declare(OptionSet& set, BenchOptions& options) {
  set.positional({.names = "SUITE", .help = "limits, assign, sweep, iteration, knn, distances, plane, reduce or sort."},
                 options.suite);
  set.positionals({.names = "--shape",
                   .value = "SHAPE",
                   .help = "Sizes to measure instead of the suite's own, such as 1000000x128,1024 (rows x columns, "
                           "centroids); may be repeated."},
                  options.shapes);
  set.choice({.names = "--data", .value = "KIND", .help = "Points of assign, sweep and iteration: normal or clusters."},
             {"normal", "clusters"}, options.data);
  set.text({.names = "--points",
            .value = "FILE",
            .help = "Rows of this file for iteration, to the end of a run, instead of generated ones."},
           options.points);
  set.integer({.names = "-k,--clusters", .value = "K", .help = "Centroids for --points."},
              {1, std::numeric_limits<std::int32_t>::max()}, options.clusters);
  set.choice({.names = "--without",
              .value = "PART",
              .help = "Leave out the certificate, the recheck, integer-sums or all, to measure what exactness costs.",
              .hidden = true},
             {"certificate", "recheck", "integer-sums", "all"}, options.common.without);
  set.choice({.names = "--type",
              .value = "T",
              .help = "Points of assign, sweep, iteration and knn: float32, or uint8, rounded to whole numbers 0 to "
                      "255."},
             {"float32", "uint8"}, options.type);
  set.choice({.names = "--metric", .value = "M", .help = "What is near, for knn: euclidean or inner-product."},
             {"euclidean", "inner-product"}, options.metric);
  set.flag({.names = "--radius",
            .help = "For knn: all rows within the distance that a query, the median one, has to its K-th neighbour."},
           options.radius);
  set.integer({.names = "--repeat", .value = "N", .help = "Timed repetitions; the median is shown."}, {1, 1'000'000},
              options.repeat);
  set.flag({.names = "--markdown", .help = "Print the table as Markdown."}, options.markdown);
  set.begin_common();
  add_backend_options(set, options.common);
  add_thread_option(set, options.common);
  add_message_options(set, options.common);
}

BenchRequest request_of(const BenchOptions& options, const Suite& suite, Invocation& invocation) {
  BenchRequest request;
  request.backend.threads = static_cast<int>(options.common.threads);
  request.backend.device = static_cast<int>(options.common.device);
  request.repeat = static_cast<int>(options.repeat);
  request.on_progress = [&invocation](const std::string& what) { invocation.progress.phase(what, 0); };
  if (suite.ladder != nullptr) {
    const std::size_t counts = std::string(suite.form).find(',') != std::string::npos ? 1 : 0;
    for (const std::string& text : options.shapes) request.shapes.push_back(parse_shape(text, counts, suite.form));
  }
  return request;
}

std::vector<Measurement> limits_of(const Invocation& invocation, const BenchRequest& request) {
  return invocation.report.backend == "cuda" ? cuda::measure_limits(request) : cpu::measure_limits(request);
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
  for (const Measurement& line : lines) rows.push_back(row_of(line, limits));
  return rows;
}

/// The rungs, held against the limits that they name, which are measured right after them.
std::vector<BenchRow> ladder_rows(const Suite& suite, BenchRequest request) {
  const std::vector<Measurement> rungs = suite.ladder(request);
  for (const Measurement& rung : rungs) {
    if (!rung.limit.empty()) request.names.push_back(rung.limit);
  }
  return rows_of(rungs, Limits(cuda::measure_limits(request)));
}

std::vector<BenchRow> point_rows(const Suite& suite, const BenchOptions& options, Invocation& invocation,
                                 std::unique_ptr<Backend> backend, BenchRequest request) {
  const std::string product = invocation.report.backend == "cuda" ? kFp16Limit : cpu::product_limit();
  request.names = {kReadLimit, product};
  const std::vector<Measurement> lines = limits_of(invocation, request);
  for (const Measurement& line : lines) {
    if (!line.missing.empty()) {
      Terminal::instance().say(fmt::format("no share of the limit is shown: {}: {}", line.name, line.missing));
    }
  }
  cpu::Threads threads(static_cast<int>(options.common.threads));
  BenchRun run{options, invocation, std::move(backend), threads, Limits(lines), product};
  return suite.rows(run);
}

void warn_of_options(const OptionSet& set, const BenchOptions& options, const Suite& suite, Invocation& invocation) {
  if (suite.ladder == nullptr && suite.rows == nullptr) {
    invocation.warn_without_effect(set, "--shape", "limits have sizes of their own");
  }
  if (suite.rows == nullptr || options.suite == "knn") {
    invocation.warn_without_effect(set, "--data", "it is for assign, sweep and iteration");
  }
  if (options.suite != "knn") {
    for (const char* option : {"--metric", "--radius"}) invocation.warn_without_effect(set, option, "it is for knn");
  }
  if (options.points.empty()) invocation.warn_without_effect(set, "--clusters", "it is for --points");
  if (suite.rows == nullptr)
    invocation.warn_without_effect(set, "--type", "it is for assign, sweep, iteration and knn");
  if (!options.points.empty()) invocation.warn_without_effect(set, "--type", "the file has its own values");
  if (options.common.json) invocation.warn_without_effect(set, "--markdown", "--json prints no table");
  if (suite.rows == nullptr) invocation.warn_without_effect(set, "--block-rows", "no points are held");
  if (invocation.report.backend != "cpu") return;
  for (const char* option : {"--device", "--device-memory", "--screen"}) {
    invocation.warn_without_effect(set, option, "the backend is cpu");
  }
}

/// Throws Error(usage) for options that this suite cannot take.
void refuse_options(const BenchOptions& options) {
  if (options.suite != "iteration" && !(options.points.empty() && options.common.without.empty())) {
    throw Error(ExitCode::usage, fmt::format("{}: expected the suite iteration, found {}",
                                             options.points.empty() ? "--without" : "--points", options.suite));
  }
  if (!options.points.empty() && !options.shapes.empty()) {
    throw Error(ExitCode::usage, "--points and --shape: expected one of them; the file has a shape, -k sets K");
  }
}

}  // namespace

int run_bench(const Arguments& arguments) {
  BenchOptions options;
  OptionSet set({.command = "bench",
                 .summary = "how fast this machine is, and how near to its limits kith comes.",
                 .usage = "[SUITE] [options]",
                 .examples = {"kith bench                           # lists the suites", "kith bench limits",
                              "kith bench assign --shape 1000000x128,1024 --shape 1000000x64,256 --json",
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
  refuse_options(options);
  if (suite.ladder != nullptr) {
    if (options.common.backend == "cpu") {
      throw Error(ExitCode::usage, fmt::format("kith bench {}: a ladder of kernels for graphics cards; expected "
                                               "--backend cuda or auto, found cpu",
                                               suite.name));
    }
    options.common.backend = "cuda";
  }
  if (!Terminal::instance().is_terminal() && set.source("--progress") == Source::none) {
    options.common.progress = "never";
  }
  Invocation invocation("bench", options.common);
  const BenchRequest request = request_of(options, suite, invocation);
  auto backend = choose_backend(invocation);
  if (!options.common.without.empty() && invocation.report.backend != "cuda") {
    throw Error(ExitCode::usage, fmt::format("--without {}: expected the backend cuda, found {}",
                                             options.common.without, invocation.report.backend));
  }
  warn_of_options(set, options, suite, invocation);
  BenchReport report{.suite = suite.name,
                     .backend = invocation.report.backend,
                     .device = invocation.report.device,
                     .threads = invocation.report.threads,
                     .rows = {}};
  report.rows = suite.rows != nullptr     ? point_rows(suite, options, invocation, std::move(backend), request)
                : suite.ladder != nullptr ? ladder_rows(suite, request)
                                          : rows_of(limits_of(invocation, request), Limits({}));
  invocation.progress.finish();
  if (options.common.json) {
    print_out(to_json(report));
  } else {
    const auto cells = cells_of(report);
    print_out(options.markdown ? markdown_table(cells) : aligned_table(cells));
  }
  finish_out();
  return report.wrong() ? static_cast<int>(ExitCode::internal) : 0;
}

}  // namespace kith::app
