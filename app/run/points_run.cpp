// The steps that all commands share which compute with points.
#include "app/run/points_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

#include "app/cli/signals.h"
#include "app/cli/units.h"
#include "app/run/dropped_rows.h"
#include "app/run/freshness.h"
#include "app/run/preparation.h"
#include "app/run/processes.h"
#include "app/run/report.h"
#include "data/file_set.h"
#include "data/format/column_choice.h"
#include "data/io/output_file.h"
#include "data/results/table_file.h"

namespace kith::app {
namespace {

constexpr std::int64_t kWorthDirect = std::int64_t{1} << 28;  // bytes of points that a device should read itself

/// The inputs whose names errors of the computation need: name_errors() sets them, end_computation() clears them.
struct ErrorNames {
  std::string points;
  std::vector<std::string> files;
};
std::optional<ErrorNames> error_names;

void name_errors(const PointsRun& run) {
  error_names = ErrorNames{run.source->name(), run.set.inputs()};
  for (const data::PointSource* input : {run.inputs.first.get(), run.inputs.second.get()}) {
    if (input != nullptr) error_names->files.push_back(input->name());
  }
}

data::OutputOptions report_output(const PointsRun& run) {
  return {
      .force = run.common.force, .inputs = run.output.inputs, .files_of = run.output.files_of, .endings = {".json"}};
}

/// Host bytes of a run whose command needs `bytes` besides its points.
std::int64_t required_by(const PointsRun& run, std::int64_t bytes) {
  const data::PointSource &source = *run.source, *second = run.inputs.second.get();
  return column_state_bytes(prepared_columns(source, run.common)) + points_bytes(*run.inputs.first) +
         (second != nullptr ? points_bytes(*second) : 0) + preparation_bytes(source, run.common) +
         weighting_bytes(run.weighting, source) + bytes - (value_bytes(source) - own_value_bytes(source));
}

/// How the rows are kept if the run does not fit into memory. Throws as require_memory() does if they cannot be read in
/// passes.
std::optional<StreamPlan> plan_memory(const PointsRun& run) {
  const data::PointSource& source = *run.source;
  const CommonOptions& common = run.common;
  const std::int64_t required = run.required_bytes, held_row_bytes = run.needs.held_row_bytes;
  const std::int64_t limit = memory_limit(common.memory).bytes;
  const bool fits = required <= limit;
  if (fits && !processes().is_alone()) return std::nullopt;
  if (fits && (!source.is_shared() || value_bytes(source) < kWorthDirect)) return std::nullopt;
  std::int64_t in_passes = 0;  // bytes that a run needs which reads its rows in passes
  std::string reason = run.needs.all_rows;
  if (reason.empty()) reason = why_not_streamed(run.weighting);
  const std::string spooled = why_spooled(source, common, run.given.has_value());
  if (fits) return reason.empty() && spooled.empty() ? std::optional(optional_stream()) : std::nullopt;
  if (reason.empty() && common.scratch.empty() && !spooled.empty()) {
    reason = spooled + "; give --scratch DIR, a folder for temporary files";
  }
  if (reason.empty()) {
    // Without --memory a tenth is left to the system, which also keeps the file's pages.
    const auto usable =
        std::min(limit, static_cast<std::int64_t>(0.9 * static_cast<double>(data::free_memory().bytes)));
    const std::int64_t rows = own_rows(source.rows()).count;
    const std::int64_t rest = required - own_value_bytes(source) - held_row_bytes * source.rows();
    auto stream = plan_stream(source, rows, held_row_bytes, usable - rest);
    if (stream && stream->held_rows < rows) {
      stream->spools = !spooled.empty() || (source.is_compressed() && !common.scratch.empty());
      return stream;
    }
    in_passes = rest + least_stream_bytes(source);
    in_passes += in_passes / 16;  // so that what is shown, which is rounded, suffices
    reason = fmt::format("the memory does not suffice for the run without them, which needs {}", show_bytes(in_passes));
  }
  if (in_passes >= required) reason.clear();  // buffers for few rows take more than the rows
  const data::PointSource &first = *run.inputs.first, *second = run.inputs.second.get();
  const std::string name = second != nullptr ? fmt::format("{} and {}", first.name(), second->name()) : first.name();
  try {
    require_memory(required, name, common.memory);
  } catch (const Error& error) {
    if (reason.empty()) throw;
    throw Error(error.code(), fmt::format("{} (the rows cannot stay in the file: {})", error.what(), reason));
  }
  return std::nullopt;
}

/// Throws Error(usage) if the rows cannot be divided among the processes, or if these do not run the same command with
/// the same files.
void agree(PointsRun& run) {
  std::string reason = run.needs.all_rows;
  if (reason.empty()) reason = why_not_streamed(run.weighting);
  if (reason.empty()) reason = why_counted(run.common);
  if (reason.empty() && run.common.dry_run) reason = "a plan is made for one process";
  if (!reason.empty()) {
    throw Error(ExitCode::usage, fmt::format("the rows cannot be divided among {} processes: {}; run kith in one "
                                             "process",
                                             processes().size(), reason));
  }
  const data::PointSource& source = *run.source;
  std::string words = fmt::format("kith {} {}, {} {}", KITH_VERSION, run.set.stored_command({}),
                                  show_shape(source.rows(), source.columns()), name_of(source.value_class()));
  for (const std::string& input : run.output.inputs) {
    const data::InputMark& mark = run.mark_of(input);
    words += fmt::format(", {} of {} bytes with checksum {:08x}", mark.name, mark.bytes, mark.checksum);
  }
  // What decides how often the processes exchange something.
  words += fmt::format(", --memory {}, --block-rows {}", run.common.memory, run.common.block_rows);
  check_agreement(words + (run.checkpoint ? ", --checkpoint " + run.checkpoint->began() : ""));
  use_agreed_memory();
  processes().expect_long_wait();
}

/// The class of values, which follows from their type in the file.
Decision precision_decision(const data::PointSource& source, const CommonOptions& common) {
  const std::string type = source.element_type();
  const bool is_narrow = source.value_class() == ValueClass::f32;
  const bool is_bytes = data::size_of(source.held_as()) == 1 && !compares_bits(common);
  Decision decision{.subject = "precision", .method = name_of(source.value_class()), .reason = {}};
  decision.reason = common.precision != "auto"            ? "--precision " + common.precision
                    : takes_directions(metric_of(common)) ? "directions are float64"
                    : compares_bits(common)               ? "distances of bits are counts, or fractions of them"
                    : is_narrow ? fmt::format("float32 represents every value of type {}", type)
                                : fmt::format("float32 does not represent every value of type {}", type);
  if (is_bytes) decision.reason += ", which take a byte each in memory";
  return decision;
}

PlanRequest plan_request(const PointsRun& run, std::int64_t program_bytes) {
  const Needs& needs = run.needs;
  MemoryUse use = needs.use.value_or(MemoryUse{needs.bytes, needs.bytes, ""});
  use.least += run.required_bytes - needs.bytes;
  use.most += run.required_bytes - needs.bytes;
  const bool searches_itself = run.inputs.second.get() == run.source;
  return {.source = run.source,
          .queries = searches_itself ? run.inputs.first.get() : run.inputs.second.get(),
          .work = needs.is_all_work ? needs.work : std::vector<Work>(),
          .stream = run.stream,
          .required_bytes = run.required_bytes,
          .use = use,
          .held_row_bytes = needs.held_row_bytes,
          .program_bytes = program_bytes,
          .limit = memory_limit(run.common.memory),
          .result_bytes = run.target.empty() ? 0 : needs.result_bytes};
}

void print_plan(PointsRun& run) {
  if (run.source != nullptr) choose_backend(run, shape_of(*run.source, run.needs.work));
  run.warn(run.set);
  run.progress.finish();
  run.report.plan = estimate(run.plan, run);
  print_out(run.common.json ? to_json(run.report) : as_text(*run.report.plan, text_width(Stream::output)));
}

/// Collects what each process held and how long its phases took.
void report_processes(PointsRun& run) {
  Report& report = run.report;
  run.progress.phase("write", 0);  // the phases before it are those of all processes
  if (run.held.own) {
    const StreamReport own = report.streamed.value_or(StreamReport{own_rows(run.source->rows()).count, 0, 0, 0});
    std::array<std::int64_t, 3> sums{report.streamed ? 1 : 0, own.held_rows, own.bytes};
    auto passes = static_cast<double>(own.passes);
    processes().add(sums);
    processes().take_largest({&passes, 1});
    if (sums[0] > 0) report.streamed = StreamReport{sums[1], static_cast<std::int64_t>(passes), sums[2], 0};
  }
  const Exchanged exchanged = processes().exchanged();
  std::string own = fmt::format("{} {} {} {}", run.source != nullptr ? own_rows(run.source->rows()).count : 0,
                                exchanged.messages, exchanged.bytes, exchanged.seconds);
  for (const Phase& phase : report.phases) own += fmt::format(" {} {}", phase.name, phase.seconds);
  for (const std::string& text : gather_texts(processes(), own)) {
    std::istringstream words(text);
    ProcessReport process;
    words >> process.rows >> process.messages >> process.bytes >> process.waiting;
    for (std::pair<std::string, double> phase; words >> phase.first >> phase.second;) process.phases.push_back(phase);
    report.processes.push_back(std::move(process));
  }
}

/// Keeps the points until the process ends, which takes the memory and the device back faster than destructors, piece
/// by piece, do.
void leave_to_system(HeldPoints&& held) {
  static std::vector<HeldPoints>& kept = *new std::vector<HeldPoints>;
  kept.push_back(std::move(held));
}

}  // namespace

PointsRun::PointsRun(const OptionSet& options, const CommonOptions& common_options, std::vector<std::string> endings)
    : Job(options.command(), common_options),
      set(options),
      target(processes().is_first() ? common.output : ""),  // the first process writes
      report_file(processes().is_first() ? common.json_file : ""),
      output(output_options(common, options.inputs())) {
  output.endings = std::move(endings);
  const bool continues = set.could_be_given("--checkpoint"), keeps = set.could_be_given("--keep-best");
  advise_after_signal(fmt::format("{}{}{}", continues ? "--checkpoint FILE lets a run continue" : "",
                                  continues && keeps ? ", " : "", keeps ? "--keep-best keeps its result so far" : ""));
}

const data::InputMark& PointsRun::mark_of(const std::string& file) {
  const auto found = marks_.find(file);
  return found != marks_.end() ? found->second : marks_.emplace(file, data::mark_of_input(file)).first->second;
}

void PointsRun::print(const std::string& text, Styles styles) const {
  // A quiet run that writes a file has nothing to say.
  const bool is_written = !target.empty() && target != "-";
  if (!common.json && !(common.quiet && is_written)) print_out(text, styles);
}

bool PointsRun::prints_result() const { return target == "-" && std::ranges::count(output.endings, target) > 0; }

std::string PointsRun::side_file(const char* option) const {
  for (const SideOutput& side : side_outputs) {
    if (side.option == std::string_view(option) && processes().is_first()) return side.file;
  }
  return "";
}

data::OutputOptions PointsRun::side_output(const char* option) const {
  data::OutputOptions options{.force = common.force, .inputs = output.inputs, .files_of = output.files_of};
  for (const SideOutput& side : side_outputs) {
    if (side.option == std::string_view(option)) options.endings = side.endings;
  }
  return options;
}

namespace {

/// Throws Error(output) if the file, or the files of the folder, would be among the points of the next run.
void refuse_in_set(const std::string& file, bool is_folder, const std::vector<std::string>& inputs) {
  std::filesystem::path place(file);
  if (!is_folder) place = place.has_parent_path() ? place.parent_path() : ".";
  std::error_code failure;
  std::string folder = std::filesystem::weakly_canonical(place, failure).string();
  if (!folder.ends_with('/')) folder += '/';
  for (const std::string& input : inputs) {
    if (!data::named_set(input) || !std::filesystem::is_directory(input, failure)) continue;
    const std::string set_folder = std::filesystem::weakly_canonical(input, failure).string();
    if (!folder.starts_with(set_folder.ends_with('/') ? set_folder : set_folder + "/")) continue;
    throw Error(ExitCode::output, fmt::format("{}: lies in the folder of the points, {}, of which the next run would "
                                              "take it as points; choose another folder",
                                              file, input));
  }
}

/// Throws Error(usage) if an option names the same file as another one.
void refuse_same_place(const char* option, const std::string& file, const char* other, const std::string& other_file) {
  if (other_file.empty() || !data::same_place(file, other_file)) return;
  throw Error(ExitCode::usage,
              fmt::format("{} {}: expected another name than that of {}; choose another one", option, file, other));
}

}  // namespace

bool names_folder(const std::string& path) {
  std::error_code failure;
  return path.ends_with('/') || (!path.empty() && std::filesystem::is_directory(path, failure));
}

void check_outputs(PointsRun& run, const std::vector<SideOutput>& beside) {
  const auto check = [&](const std::string& path, const data::OutputOptions& options) {
    if (is_checking_freshness()) return;
    // What lies in a folder of labels is checked once the files of the points are known.
    const bool is_folder = names_folder(path) && std::ranges::count(options.endings, "/") > 0;
    if (!is_folder) data::check_output(path, options);
    refuse_in_set(path, is_folder, run.output.inputs);
  };
  if (!run.target.empty() && !run.prints_result()) check(run.target, run.output);
  data::check_table_file(run.target);
  run.side_outputs = beside;
  for (const SideOutput& side : beside) {
    const std::string file = run.side_file(side.option);
    if (file.empty()) continue;
    data::check_table_file(file);
    check(file, run.side_output(side.option));
    refuse_same_place(side.option, file, "the output", run.prints_result() ? "" : run.target);
    refuse_same_place(side.option, file, "--json-file", run.report_file);
    for (const SideOutput& other : beside) {
      if (other.option != side.option) refuse_same_place(side.option, file, other.option, other.file);
    }
  }
  check_report_file(run);
}

void check_report_file(PointsRun& run) {
  if (!run.report_file.empty()) {
    data::check_output(run.report_file, report_output(run));
    refuse_same_place("--json-file", run.report_file, "the output", run.target);
  }
  if (!processes().is_alone() && std::ranges::count(run.output.inputs, "-") > 0) {
    throw Error(ExitCode::usage,
                "standard input reaches one process alone; save the input in a file that all can read");
  }
}

OptionSet::Replacements stored_words(const std::string& word, const data::PointSource& points, ValueClass value_class,
                                     const CommonOptions& common) {
  return {{word, stored_name(points.name())},
          {"--precision", compares_bits(common) ? "" : fmt::format("--precision {}", name_of(value_class))}};
}

void open_points(PointsRun& run, const std::string& location, const ExpectedColumns& expected) {
  run.inputs.first = open_input(location, run.common, run.given ? &*run.given : nullptr, expected);
  run.source = run.inputs.first.get();
  name_errors(run);
  run.report.points = describe(*run.source);
  say_set(*run.source);
  say_numeric(*run.source, run.common);
  say_bits(*run.source);
  preparation_request(run.common, *run.source);  // throws for weights of columns that the points lack
}

void read_weights(PointsRun& run) {
  run.weighting = read_weighting(run.common, *run.source);
  if (run.weighting) run.report.weights = describe(*run.weighting);
}

void open_checkpoint(PointsRun& run, const CheckpointOptions& options, const std::vector<std::string>& words,
                     const std::string& stored) {
  if (!options.given()) return;
  run.checkpoint.emplace(options, run.progress);
  if (options.file.empty()) return;
  data::Checkpoint state{
      KITH_VERSION, {run.set.command()}, std::filesystem::current_path().string(), stored, {}, {}, {}, {}};
  std::ranges::copy_if(words, std::back_inserter(state.words),
                       [](const auto& word) { return word != "--same-inputs"; });
  const data::PointSource& source = *run.source;
  state.points = fmt::format("{} {}", show_shape(source.rows(), source.columns()), name_of(source.value_class()));
  for (const std::string& input : run.output.inputs) {
    if (input == run.common.config) continue;
    if (input == "-") {
      throw Error(ExitCode::usage,
                  "--checkpoint cannot be combined with standard input, which cannot be read again; "
                  "save the input in a file");
    }
    state.inputs.push_back(run.mark_of(input));
  }
  run.checkpoint->open(state, run.output.inputs, run.target, run.common.dry_run || is_checking_freshness());
}

std::int64_t spare_bytes(const PointsRun& run, std::int64_t bytes) {
  return std::max<std::int64_t>(memory_limit(run.common.memory).bytes - required_by(run, bytes), 0);
}

bool begin(PointsRun& run, Needs needs) {
  run.needs = std::move(needs);
  const bool checks = is_checking_freshness();
  if (run.needs.writes_result || checks) {
    run.output.marks = marks_of(run.output.inputs, [&](const std::string& file) { return run.mark_of(file); });
  }
  if (checks) {
    check_freshness(run.needs.stored_command, run.output.marks);
    return false;
  }
  if (!processes().is_alone()) agree(run);
  const std::int64_t program_bytes = peak_memory();
  if (run.source != nullptr) {
    name_errors(run);
    run.required_bytes = required_by(run, run.needs.bytes);
    run.stream = plan_memory(run);
    run.report.decisions.push_back(precision_decision(*run.source, run.common));
    if (run.stream) run.stream->only_searched = run.needs.only_searches && processes().is_alone();
  }
  run.plan = plan_request(run, program_bytes);
  if (run.common.dry_run) {
    print_plan(run);
    return false;
  }
  if (run.source == nullptr) run.warn(run.set);
  return true;
}

void hold_points(PointsRun& run) {
  run.held = hold_points({.source = *run.source,
                          .weighting = run.weighting ? &*run.weighting : nullptr,
                          .given = run.given ? &*run.given : nullptr,
                          .stream = run.stream,
                          .work = run.needs.work,
                          .set = &run.set,
                          .plan = &run.plan},
                         run);
  if (run.given) run.held.preparation = std::move(*run.given);
}

std::int64_t search_bytes_left(const PointsRun& run) {
  return run.common.memory > 0 ? spare_bytes(run, run.needs.bytes) : memory_limit(run.common.memory).bytes / 2;
}

void complete(KMeansResult& result, const PointsRun& run) {
  if (run.held.weighed) run.held.weighed->label_absent_rows(result, *run.held.backend);
  restore_rows(result, *run.held.values);
}

void end_computation(PointsRun& run) {
  const HeldPoints& held = run.held;
  if (run.stream && run.stream->only_searched && held.reader) {
    run.report.phase("search").bytes = held.reader->bytes();
  }
  if (held.in_passes) {
    run.report.streamed = StreamReport{rows_of(held.rows()), held.reader->passes(), held.reader->bytes(),
                                       held.spooled ? held.spooled->stored_bytes() : 0};
  }
  if (!processes().is_alone()) report_processes(run);
  error_names.reset();
}

bool begin_write(PointsRun& run) {
  if (run.target.empty()) return false;
  run.progress.phase("write", 0);
  return true;
}

int finish(PointsRun& run, const std::string& next, ExitCode code) {
  if (run.prints_result()) {
    run.report.output = "standard output";
  } else if (!run.target.empty()) {
    run.wrote(run.target);
  }
  for (const SideOutput& side : run.side_outputs) {
    if (!run.side_file(side.option).empty()) run.report.beside.emplace_back(side.option + 2, side.file);
  }
  if (run.held.backend) note_device_memory(run.held, run);
  run.progress.finish();
  run.report.host_memory = peak_memory();
  if (run.report.plan) Terminal::instance().detail("plan       " + compared(*run.report.plan, run.report));
  if (run.held.backend) {
    const std::vector<Decision> taken = run.held.backend->decisions();
    run.report.decisions.insert(run.report.decisions.end(), taken.begin(), taken.end());
  }
  for (const std::string& line : decision_lines(run.report.decisions)) Terminal::instance().detail(line);
  if (!run.report_file.empty()) {
    data::OutputBytes file(run.report_file, report_output(run));
    file.write(to_json(run.report));
    file.publish();
  }
  run.close(next);
  if (run.checkpoint) run.checkpoint->close();
  leave_to_system(std::move(run.held));
  return static_cast<int>(code);
}

Error named(const Error& error) {
  if (error.code() != ExitCode::data || !error_names) return error;
  const std::string message = error.what();
  const bool names_one = std::ranges::any_of(error_names->files, [&](const std::string& file) {
    return message.find(data::parse_location(file).file) != message.npos;
  });
  if (names_one) return error;
  return {error.code(), fmt::format("{}: {}", error_names->points, message), error.cause()};
}

}  // namespace kith::app
