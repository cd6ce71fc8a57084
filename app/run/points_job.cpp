// The order of the steps that all computing commands share.
#include "app/run/points_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

#include "app/cli/signals.h"
#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/run/advice.h"
#include "app/run/dropped_rows.h"
#include "app/run/freshness.h"
#include "app/run/memory.h"
#include "app/run/planning.h"
#include "app/run/processes.h"
#include "data/io/output_bytes.h"

namespace kith::app {
namespace {

constexpr std::int64_t kWorthDirect = std::int64_t{1} << 28;  // bytes of points that a device should read itself

}  // namespace

PointsJob::PointsJob(OptionSet& options, CommonOptions& common_options)
    : Job(options.command(), common_options),
      set(options),
      target(common_options.output),
      output(output_options(common_options, options.inputs())) {
  if (!processes().is_first()) common_options.output.clear();  // the first process writes
  const bool continues = set.could_be_given("--checkpoint"), keeps = set.could_be_given("--keep-best");
  const std::string advice =
      fmt::format("{}{}{}", continues ? "--checkpoint FILE lets a run continue" : "", continues && keeps ? ",\n  " : "",
                  keeps ? "--keep-best keeps its result so far" : "");
  advise_after_signal(advice);
}

int PointsJob::run() {
  const bool prints = target == "-" && std::ranges::count(output.endings, target) > 0;
  const bool checks = is_checking_freshness();
  if (!target.empty() && !prints && !checks) check_target();
  check_report_file();
  if (!processes().is_alone() && std::count(output.inputs.begin(), output.inputs.end(), "-") > 0) {
    throw Error(ExitCode::usage,
                "standard input reaches one process alone; save the input in a file that all can read");
  }
  open();
  if (writes_result() || checks) {
    output.marks = marks_of(output.inputs, [this](const std::string& file) { return mark_of(file); });
  }
  if (checks) {
    check_freshness(stored_command(), output.marks);
    return 0;
  }
  if (!processes().is_alone()) agree();
  try {
    const std::optional<StreamPlan> stream = require_run_memory();
    if (common.dry_run) {
      print_plan(stream);
      return 0;
    }
    run_computation(stream);
    if (!processes().is_alone()) report_processes();
  } catch (const Error& error) {
    throw named(error);
  }
  show();
  if (!target.empty()) {
    progress.phase("write", 0);
    write();
    if (prints) report.output = "standard output";
    if (!prints) wrote(target);
  }
  if (source != nullptr) note_device_memory(held, *this);
  progress.finish();
  if (report.plan) Terminal::instance().detail("plan       " + compared(*report.plan, report, peak_memory()));
  if (!common.json_file.empty()) write_report_file();
  close(next());
  if (checkpoint) checkpoint->close();
  return static_cast<int>(exit_code());
}

void PointsJob::check_report_file() {
  if (!processes().is_first()) common.json_file.clear();  // the first process writes
  if (common.json_file.empty()) return;
  report_output_ = {.force = common.force, .inputs = output.inputs, .endings = {".json"}};
  data::check_output(common.json_file, report_output_);
  if (target.empty() || !data::same_place(common.json_file, target)) return;
  throw Error(ExitCode::usage, fmt::format("--json-file {}: expected another name than that of the output; choose "
                                           "another one",
                                           common.json_file));
}

void PointsJob::write_report_file() {
  data::OutputBytes file(common.json_file, report_output_);
  file.write(to_json(report));
  file.publish();
}

std::optional<StreamPlan> PointsJob::require_run_memory() {
  program_bytes = peak_memory();
  if (source == nullptr) return std::nullopt;
  const data::PointSource *first = inputs.first.get(), *second = inputs.second.get();
  required_bytes = column_state_bytes(prepared_columns(*source, common)) + points_bytes(*first) +
                   (second != nullptr ? points_bytes(*second) : 0) + preparation_bytes(*source, common) +
                   weighting_bytes(weighting, *source) + bytes() - (value_bytes(*source) - own_value_bytes(*source));
  std::optional<StreamPlan> stream = plan_memory();
  if (stream) stream->only_searched = only_searches() && processes().is_alone();
  return stream;
}

void PointsJob::report_processes() {
  progress.phase("write", 0);  // the phases before it are those of all processes
  if (held.own) {
    const StreamReport own = report.streamed.value_or(StreamReport{own_rows(source->rows()).count, 0, 0, 0});
    std::array<std::int64_t, 3> sums{report.streamed ? 1 : 0, own.held_rows, own.bytes};
    auto passes = static_cast<double>(own.passes);
    processes().add(sums);
    processes().take_largest({&passes, 1});
    if (sums[0] > 0) report.streamed = StreamReport{sums[1], static_cast<std::int64_t>(passes), sums[2], 0};
  }
  const Exchanged exchanged = processes().exchanged();
  std::string own = fmt::format("{} {} {} {}", source != nullptr ? own_rows(source->rows()).count : 0,
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

const data::InputMark& PointsJob::mark_of(const std::string& file) {
  const auto found = marks_.find(file);
  return found != marks_.end() ? found->second : marks_.emplace(file, data::mark_of(file)).first->second;
}

void PointsJob::agree() {
  std::string reason = needs_memory();
  if (reason.empty()) reason = why_not_streamed(weighting);
  if (reason.empty()) reason = why_counted(common);
  if (reason.empty() && common.dry_run) reason = "a plan is that of one process";
  if (reason.empty()) {
    std::string run = fmt::format("kith {} {}, {} {}", KITH_VERSION, set.stored_command({}),
                                  show_shape(source->rows(), source->columns()), name_of(source->value_class()));
    for (const std::string& input : output.inputs) {
      const data::InputMark& mark = mark_of(input);
      run += fmt::format(", {} of {} bytes with checksum {:08x}", mark.name, mark.bytes, mark.checksum);
    }
    // What decides how often the processes exchange something.
    run += fmt::format(", --memory {}, --block-rows {}", common.memory, common.block_rows);
    check_agreement(run + (checkpoint ? ", --checkpoint " + checkpoint->began() : ""));
    use_agreed_memory();
    return processes().expect_long_wait();
  }
  throw Error(ExitCode::usage, fmt::format("the rows cannot be divided among {} processes: {}; run kith in one process",
                                           processes().size(), reason));
}

std::int64_t PointsJob::spare_bytes() const {
  return std::max<std::int64_t>(memory_limit(common.memory).bytes - required_bytes, 0);
}

Plan PointsJob::plan_of(const std::optional<StreamPlan>& stream) const {
  MemoryUse use{required_bytes, required_bytes, ""};
  if (common.chosen && !common.chosen->device.has_own_memory) {
    use = memory_use(spare_bytes());
    use.least += required_bytes - bytes();
    use.most += required_bytes - bytes();
  } else if (source != nullptr) {
    use.least = use.most = required_bytes - source->rows() * held_row_bytes();
  }
  return estimate({.source = source,
                   .queries = inputs.second.get() != source ? inputs.second.get() : inputs.first.get(),
                   .work = work(),
                   .stream = stream,
                   .required_bytes = required_bytes,
                   .use = use,
                   .held_row_bytes = held_row_bytes(),
                   .program_bytes = program_bytes,
                   .limit = memory_limit(common.memory),
                   .result_bytes = target.empty() ? 0 : result_bytes()},
                  *this);
}

void PointsJob::print_plan(const std::optional<StreamPlan>& stream) {
  const auto backend = source != nullptr ? choose_backend(*this, source->rows() * source->columns()) : nullptr;
  warn(set);
  progress.finish();
  report.plan = plan_of(stream);
  print_out(common.json ? to_json(report) : as_text(*report.plan, text_width(Stream::output)));
}

void PointsJob::run_computation(const std::optional<StreamPlan>& stream) {
  if (source != nullptr) {
    const auto opened = [&] {
      warn(set);
      if (!common.verbose) return;
      report.plan = plan_of(stream);
      Terminal::instance().detail(as_text(*report.plan, text_width(Stream::error)));
    };
    held = hold_points(*source, *this, opened, weighting, given ? &*given : nullptr, stream);
    if (given) {
      held.preparation = std::move(*given);
    } else if (set.command() != "distances" && set.command() != "evaluate" && processes().is_alone()) {
      advise_on_points(held, *source, common);
    }
  } else {
    warn(set);
  }
  compute();
  if (stream && stream->only_searched && held.reader) report.phase("search").bytes = held.reader->bytes();
  if (held.in_passes) {
    report.streamed = StreamReport{rows_of(held.rows()), held.reader->passes(), held.reader->bytes(),
                                   held.spooled ? held.spooled->stored_bytes() : 0};
  }
}

std::optional<StreamPlan> PointsJob::plan_memory() const {
  const std::int64_t limit = memory_limit(common.memory).bytes;
  const bool fits = required_bytes <= limit;
  if (fits && !processes().is_alone()) return std::nullopt;
  if (fits && (!source->is_shared() || value_bytes(*source) < kWorthDirect)) return std::nullopt;
  std::int64_t in_passes = 0;  // bytes that a run needs which reads its rows in passes
  std::string reason = needs_memory();
  if (reason.empty()) reason = why_not_streamed(weighting);
  const std::string spooled = why_spooled(*source, common, given.has_value());
  if (fits) return reason.empty() && spooled.empty() ? std::optional(optional_stream()) : std::nullopt;
  if (reason.empty() && common.scratch.empty() && !spooled.empty()) {
    reason = spooled + "; give --scratch DIR, a folder for temporary files";
  }
  if (reason.empty()) {
    // Without --memory a tenth is left to the system, which also keeps the file's pages.
    const auto usable =
        std::min(limit, static_cast<std::int64_t>(0.9 * static_cast<double>(data::free_memory().bytes)));
    const std::int64_t rows = own_rows(source->rows()).count;
    const std::int64_t rest = required_bytes - own_value_bytes(*source) - held_row_bytes() * source->rows();
    auto stream = plan_stream(*source, rows, held_row_bytes(), usable - rest);
    if (stream && stream->held_rows < rows) {
      stream->spools = !spooled.empty() || (source->is_compressed() && !common.scratch.empty());
      return stream;
    }
    in_passes = rest + least_stream_bytes(*source);
    reason = fmt::format("the memory does not suffice for the run without them, which needs {}", show_bytes(in_passes));
  }
  const data::PointSource* second = inputs.second.get();
  if (in_passes >= required_bytes) reason.clear();  // buffers for few rows take more than the rows
  const std::string name =
      second != nullptr ? fmt::format("{} and {}", inputs.first->name(), second->name()) : inputs.first->name();
  try {
    require_memory(required_bytes, name, common.memory);
  } catch (const Error& error) {
    if (reason.empty()) throw;
    throw Error(error.code(), fmt::format("{} (the rows cannot stay in the file: {})", error.what(), reason));
  }
  return std::nullopt;
}

Error PointsJob::named(const Error& error) const {
  const std::string message = error.what();
  if (error.code() != ExitCode::data || source == nullptr) return error;
  for (const data::PointSource* input : {inputs.first.get(), inputs.second.get()}) {
    if (input != nullptr && message.find(data::parse_location(input->name()).file) != message.npos) return error;
  }
  for (const std::string& file : set.inputs()) {
    if (message.find(data::parse_location(file).file) != message.npos) return error;
  }
  return {error.code(), fmt::format("{}: {}", source->name(), message), error.cause()};
}

void PointsJob::open_points(const std::string& location) {
  inputs.first = open_input(location, common, given ? &*given : nullptr);
  source = inputs.first.get();
  report.points = describe(*source);
}

void PointsJob::read_weights() {
  weighting = read_weighting(common, *source);
  if (weighting) report.weights = describe(*weighting);
}

void PointsJob::open_checkpoint(const CheckpointOptions& options, const std::vector<std::string>& words,
                                const std::string& stored) {
  if (!options.given()) return;
  checkpoint.emplace(options, progress);
  if (options.file.empty()) return;
  data::Checkpoint run{KITH_VERSION, {set.command()}, std::filesystem::current_path().string(), stored, {}, {}, {}, {}};
  std::ranges::copy_if(words, std::back_inserter(run.words), [](const auto& word) { return word != "--same-inputs"; });
  run.points = fmt::format("{} {}", show_shape(source->rows(), source->columns()), name_of(source->value_class()));
  for (const std::string& input : output.inputs) {
    if (input == common.config) continue;
    if (input == "-") {
      throw Error(ExitCode::usage,
                  "--checkpoint cannot be combined with standard input, which cannot be read again; "
                  "save the input in a file");
    }
    run.inputs.push_back(mark_of(input));
  }
  checkpoint->open(run, output.inputs, target, common.dry_run || is_checking_freshness());
}

void PointsJob::complete(KMeansResult& result) {
  if (held.weighed) held.weighed->label_absent_rows(result, *held.backend);
  restore_rows(result, *held.values);
}

void PointsJob::print(const std::string& text) const {
  // A quiet run that writes a file has nothing to say.
  const bool is_written = !target.empty() && target != "-";
  if (!common.json && !(common.quiet && is_written)) print_out(text);
}

}  // namespace kith::app
