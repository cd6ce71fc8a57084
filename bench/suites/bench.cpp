// kith bench: measures the limits of this machine and how close kith comes to them, all in one run.
#include "bench/suites/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "data/results/other_formats.h"

namespace kith::app {
namespace {

using LadderFunction = std::vector<Measurement> (*)(const BenchRequest&);

/// `rows` is set for a suite over points, `ladder` for a ladder of kernels, neither for the limits and for all.
struct Suite {
  const char* name;
  const char* summary;
  std::vector<BenchRow> (*rows)(BenchRun&);
  LadderFunction ladder;
  const char* form;                 // form of its shapes
  LadderFunction on_cpu = nullptr;  // the same ladder on the processor

  bool is(const char* other) const { return std::string(name) == other; }
};

constexpr std::array<Suite, 13> kSuites{{
    {"limits", "limits of the machine: bandwidths, latency, matrix products", nullptr, nullptr, ""},
    {"assign", "one assignment of all rows to their nearest centroids", bench_assign, nullptr, "NxD,K"},
    {"sweep", "assignments over a grid of columns and centroids: time per row and multiply-add", bench_sweep, nullptr,
     "NxD,K"},
    {"iteration", "whole iterations of k-means", bench_iteration, nullptr, "NxD,K"},
    {"scale", "iterations and searches on 1, 2, 4 ... GPUs, or threads of the processor", bench_scale, nullptr,
     "NxD,K or NxD,Q,K"},
    {"knn", "exact nearest neighbours", bench_knn, nullptr, "NxD,Q,K or NxD,K (the points are the queries)"},
    {"distances", "ladder of kernels: all distances of two matrices", nullptr, cuda::climb_distances, "MxN,K",
     cpu::climb_distances},
    {"plane", "ladder of kernels: all distances of points in a plane (cuda)", nullptr, cuda::climb_plane, "Nx2"},
    {"reduce", "ladder of kernels: the sum of many numbers (cuda)", nullptr, cuda::climb_reduce, "Nx1"},
    {"sort", "ladder of kernels: radix sort of integers and pairs (cuda)", nullptr, cuda::climb_sort, "Nx1"},
    {"sobel", "ladder of kernels: edges of an 8-bit picture", nullptr, cuda::climb_sobel, "WIDTHxHEIGHT",
     cpu::climb_sobel},
    {"vector", "ladder of kernels: sums of vectors; on a GPU also streams, atomics and shared memory", nullptr,
     cuda::climb_vector, "Nx1", cpu::climb_vector},
    {"all", "all of these that the backend has, except sweep and scale", nullptr, nullptr, ""},
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
  set.positional(
      {.names = "SUITE",
       .help = "limits, assign, sweep, iteration, scale, knn, distances, plane, reduce, sort, sobel, vector or "
               "all."},
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
  set.choice({.names = "--metric",
              .value = "M",
              .help = "Metric for knn: euclidean or inner-product; with --type uint8 also hamming or jaccard, of the "
                      "eight bits of each value."},
             {"euclidean", "inner-product", "hamming", "jaccard"}, options.metric);
  set.flag({.names = "--radius",
            .help = "For knn: find all rows within the median distance of the queries to their K-th neighbours."},
           options.radius);
  set.integer({.names = "--repeat", .value = "N", .help = "Timed repetitions. The table shows the median."},
              {1, 1'000'000}, options.repeat);
  set.flag({.names = "--markdown", .help = "Print the table as Markdown.", .section = Section::output},
           options.markdown);
  set.begin_common();
  set.text({.names = "-o,--output",
            .value = "FILE",
            .help = "Also write a page with bars against the limits to this file, as in -o bench.html.",
            .section = Section::output,
            .shown_default = "none"},
           options.common.output);
  set.flag({.names = "-f,--force", .help = "Replace an existing output file.", .section = Section::output},
           options.common.force);
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

/// The limits that this run has measured: each is measured once.
class MeasuredLimits {
 public:
  explicit MeasuredLimits(const Job& job) : job_(job) {}

  /// request.names: the limits to measure, all if empty.
  const std::vector<Measurement>& of(BenchRequest request) {
    const bool all = request.names.empty();
    std::erase_if(request.names, [&](const std::string& name) { return name.empty() || is_measured(name); });
    if (!all && request.names.empty()) return lines_;
    const bool on_gpu = job_.device->has_own_memory;
    for (Measurement& line : on_gpu ? cuda::measure_limits(request) : cpu::measure_limits(request)) {
      lines_.push_back(std::move(line));
    }
    return lines_;
  }

 private:
  bool is_measured(const std::string& name) const {
    return std::any_of(lines_.begin(), lines_.end(), [&](const Measurement& line) { return line.name == name; });
  }

  const Job& job_;
  std::vector<Measurement> lines_;
};

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
std::vector<BenchRow> ladder_rows(const Suite& suite, const Job& job, MeasuredLimits& limits, BenchRequest request) {
  const bool on_gpu = job.device->has_own_memory;
  const std::vector<Measurement> kernels = on_gpu ? suite.ladder(request) : suite.on_cpu(request);
  for (const Measurement& kernel : kernels) request.names.push_back(kernel.limit);
  return rows_of(kernels, Limits(limits.of(request)));
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
                                 std::unique_ptr<Backend>& backend, MeasuredLimits& limits, BenchRequest request) {
  const std::string product = job.device->has_own_memory ? kFp16Limit : cpu::product_limit();
  request.names = {kReadLimit, product};
  const std::vector<Measurement>& lines = limits.of(request);
  for (const Measurement& line : lines) {
    if (line.name == product && !line.missing.empty()) {
      Terminal::instance().say(fmt::format("the share of the limit is not shown: {}: {}", line.name, line.missing));
    }
  }
  Threads threads(static_cast<int>(options.common.threads));
  BenchRun run{options, job, std::move(backend), threads, Limits(lines), product, kinds_of(options)};
  std::vector<BenchRow> rows = suite.rows(run);
  compare_with_noise(rows);
  backend = std::move(run.backend);
  return rows;
}

/// The suite, or for all those that the backend has and that compare with limits.
std::vector<const Suite*> suites_to_run(const Suite& suite, bool on_gpu) {
  if (!suite.is("all")) return {&suite};
  std::vector<const Suite*> suites;
  for (const Suite& other : kSuites) {
    const bool is_missing = other.ladder != nullptr && !on_gpu && other.on_cpu == nullptr;
    if (!is_missing && !other.is("sweep") && !other.is("scale") && !other.is("all")) suites.push_back(&other);
  }
  return suites;
}

std::vector<TitledReport> run_suites(const Suite& suite, const BenchOptions& options, Job& job,
                                     std::unique_ptr<Backend> backend) {
  std::vector<TitledReport> reports;
  MeasuredLimits limits(job);
  for (const Suite* each : suites_to_run(suite, job.device->has_own_memory)) {
    const BenchRequest request = request_of(options, *each, job);
    BenchReport report{.suite = each->name,
                       .backend = job.report.backend,
                       .device = job.report.device,
                       .threads = job.report.threads,
                       .rows = {}};
    report.rows = each->rows != nullptr     ? point_rows(*each, options, job, backend, limits, request)
                  : each->ladder != nullptr ? ladder_rows(*each, job, limits, request)
                                            : rows_of(limits.of(request), Limits({}));
    reports.push_back({each->summary, std::move(report)});
  }
  job.progress.finish();
  return reports;
}

/// The tables, with a heading for each of several, or JSON.
void print_reports(const std::vector<TitledReport>& reports, const Suite& suite, const BenchOptions& options) {
  if (options.common.json) {
    std::vector<BenchReport> bare;
    for (const TitledReport& titled : reports) bare.push_back(titled.report);
    print_out(suite.is("all") ? to_json(bare) : to_json(bare.front()));
  }
  for (std::size_t i = 0; i < reports.size() && !options.common.json; ++i) {
    const auto& [title, report] = reports[i];
    if (suite.is("all")) {
      print_out(fmt::format("{}{}{}: {}\n\n", i > 0 ? "\n" : "", options.markdown ? "## " : "", report.suite, title));
    }
    const auto cells = cells_of(report);
    print_out(options.markdown ? markdown_table(cells) : aligned_table(cells, text_width(Stream::output)));
  }
  finish_out();
}

std::string command_of(const Arguments& arguments) {
  std::string command = "kith bench";
  for (const std::string& word : arguments) command += " " + shell_word(word);
  return command;
}

/// Options that do not apply to the suite have no effect.
void limit_options(OptionSet& set, const BenchOptions& options, const Suite& suite) {
  const bool is_all = suite.is("all"), holds_points = suite.rows != nullptr || is_all;
  const bool is_knn = suite.is("knn") || is_all;
  const auto unless = [&set](const char* name, bool applies, const std::string& reason) {
    set[name].no_effect.push_back(when([applies] { return !applies; }, reason));
  };
  unless("--shape", !is_all && (holds_points || suite.ladder != nullptr),
         fmt::format("the suite {} chooses its own sizes", suite.name));
  unless("--force", !options.common.output.empty(), "there is no --output");
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

int measure(const Arguments& arguments) {
  BenchOptions options;
  OptionSet set({.command = "bench",
                 .summary = "the limits of this machine, and how close kith comes to them.",
                 .usage = "[SUITE] [options]",
                 .examples = {"kith bench                           # lists the suites", "kith bench limits",
                              "kith bench assign --shape 1000000x128,1024 --shape 1000000x64,256 --json",
                              "kith bench iteration --data noise,blobs-0.1,outliers",
                              "kith bench plane --backend cuda --markdown", "kith bench all -o bench.html"}});
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
  request_of(options, suite, job);  // refuses shapes
  auto backend = choose_backend(job);
  limit_options(set, options, suite);
  data::OutputOptions output = output_options(options.common, {options.points});
  output.endings = {".html", ".htm"};
  if (!options.common.output.empty()) data::check_output(options.common.output, output);
  job.warn(set);
  if (options.common.dry_run) return 0;
  const std::vector<TitledReport> reports = run_suites(suite, options, job, std::move(backend));
  print_reports(reports, suite, options);
  if (const std::string busy = busy_warning(reports); !busy.empty()) job.progress.warning(busy);
  if (!options.common.output.empty()) {
    data::write_text_file(options.common.output, output, pictures::html(bench_page(reports, command_of(arguments))));
    Terminal::instance().say(fmt::format("page: {}", options.common.output));
  }
  const bool wrong = std::any_of(reports.begin(), reports.end(), [](const auto& each) { return each.report.wrong(); });
  return wrong ? static_cast<int>(ExitCode::internal) : 0;
}

}  // namespace kith::app
