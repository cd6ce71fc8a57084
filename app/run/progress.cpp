// Times the phases of a run for the report and shows them on standard error.
#include "app/run/progress.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "app/cli/terminal.h"
#include "app/cli/units.h"

namespace kith::app {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirst = 1s;            // before anything is shown
constexpr auto kTerminalStep = 200ms;  // between two updates of the status line
constexpr auto kLineStep = 5s;         // between two lines elsewhere

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Progress::Progress(Report& report, Show show) : report_(report), show_(show) {
  if (show == Show::never) return;
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // the system provides no thread: nothing is shown
  }
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void Progress::end_stage() {
  if (stage_.name.empty()) return;
  const double seconds = seconds_between(stage_.started, Clock::now());
  report_.phase(stage_.name).seconds += seconds;
  Terminal::instance().detail(fmt::format("{:<9}{}", stage_.name, show_seconds(seconds)));
  stage_ = {};
}

void Progress::phase(const std::string& name, std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  if (stage_.name == name) {
    stage_.steps = steps;
    return;
  }
  end_stage();
  stage_ = {name, steps, 0, bytes_read(), Clock::now()};
  Terminal& terminal = Terminal::instance();
  if (show_ == Show::always && !terminal.is_terminal()) terminal.note(describe(stage_.started));
}

void Progress::enter(const std::string& name) {
  const std::lock_guard lock(mutex_);
  outer_ = stage_;
  report_.phase(outer_.name);  // before the nested phase in the report
  stage_ = {name, 0, 0, bytes_read(), Clock::now()};
}

void Progress::leave() {
  const std::lock_guard lock(mutex_);
  const auto spent = Clock::now() - stage_.started;
  report_.phase(stage_.name).seconds += std::chrono::duration<double>(spent).count();
  stage_ = outer_;
  stage_.started += spent;
}

void Progress::progress(std::int64_t done) {
  const std::lock_guard lock(mutex_);
  stage_.reached = done;
}

void Progress::iteration(const IterationRecord& record) {
  const std::lock_guard lock(mutex_);
  last_ = record;
  ++stage_.reached;
  const double pruned = 100 * record.pruned();
  Terminal::instance().detail(fmt::format("iteration {}: inertia {:.9g}, {} labels changed, {}{}", stage_.reached,
                                          record.inertia, record.changed, show_seconds(record.seconds),
                                          pruned >= 1 ? fmt::format(", {:.0f} % of the products pruned", pruned) : ""));
}

void Progress::show_reads(std::shared_ptr<const data::ReadCounts> counts) {
  const std::lock_guard lock(mutex_);
  reads_ = std::move(counts);
}

void Progress::begin_run(int run, int runs) {
  const std::lock_guard lock(mutex_);
  if (runs > 1) run_ = fmt::format("run {} of {}: ", run + 1, runs);
}

void Progress::end_run(const RunRecord& record) {
  const std::lock_guard lock(mutex_);
  if (run_.empty()) return;
  Terminal::instance().detail(fmt::format("{}inertia {}, {} iterations, stopped by {}", run_, record.inertia,
                                          record.iterations, record.stopped_by));
  run_.clear();
}

void Progress::warning(const std::string& message) {
  report_.warnings.push_back(message);
  Terminal::instance().warn(message);
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  end_stage();
  Terminal::instance().status("");
}

std::int64_t Progress::bytes_read() const { return reads_ ? reads_->bytes + reads_->shared_bytes : 0; }

std::string Progress::describe(Clock::time_point now) const {
  std::string text = run_ + stage_.name;
  // No step is reported before the end of the first block; until then "0 of n" would look like a hang.
  if (stage_.steps > 0 && stage_.reached > 0) {
    text += fmt::format(" {} of {}{}", stage_.reached, stage_.name == "iterate" ? "at most " : "", stage_.steps);
  }
  if (stage_.name == "iterate" && stage_.reached > 0) {
    text += fmt::format(", inertia {:.6g}, {} labels changed", last_.inertia, last_.changed);
  }
  const double seconds = seconds_between(stage_.started, now);
  if (stage_.reached > 0 && seconds > 0.0) {
    const double rate = static_cast<double>(stage_.reached) / seconds;
    text += fmt::format(", {:.3g} per second", rate);
    if (stage_.steps > stage_.reached) {
      const double left = static_cast<double>(stage_.steps - stage_.reached) / rate;
      text += fmt::format(", {}{} left", stage_.name == "iterate" ? "at most " : "", show_seconds(left));
    }
  } else {
    text += fmt::format(", {}", show_seconds(seconds));
  }
  if (const std::int64_t bytes = bytes_read() - stage_.bytes; bytes > 0 && seconds > 0.0) {
    if (reads_->passes > 0) text += fmt::format(", pass {} over the file", reads_->passes.load());
    text += fmt::format(", {} read, {:.3g} GB/s", show_bytes(bytes), 1e-9 * static_cast<double>(bytes) / seconds);
  }
  return text;
}

void Progress::watch() {
  Terminal& terminal = Terminal::instance();
  std::unique_lock lock(mutex_);
  std::chrono::milliseconds wait = kFirst;
  while (!wake_.wait_for(lock, wait, [this] { return done_; })) {
    if (!stage_.name.empty()) {
      const std::string text = describe(Clock::now());
      terminal.is_terminal() ? terminal.status(text) : terminal.note(text);
    }
    wait = terminal.is_terminal() ? kTerminalStep : kLineStep;
  }
}

}  // namespace kith::app
