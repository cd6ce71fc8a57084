// Times the phases of a run for the report and shows them on standard error.
#include "app/run/progress.h"

#include <fmt/format.h>

#include <algorithm>
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
  Done& done = finished_[stage_.name];
  done.steps += stage_.steps;
  done.seconds += seconds;
  done.ended = true;
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
  before_ = last_mark_ = {stage_.started, 0};
  Terminal& terminal = Terminal::instance();
  if (show_ == Show::always && !terminal.is_terminal()) terminal.note(describe(stage_.started));
}

void Progress::enter(const std::string& name) {
  const std::lock_guard lock(mutex_);
  outer_ = stage_;
  report_.phase(outer_.name);  // before the nested phase in the report
  stage_ = {name, 0, 0, bytes_read(), Clock::now()};
  nested_ = true;
}

void Progress::leave() {
  const std::lock_guard lock(mutex_);
  const auto spent = Clock::now() - stage_.started;
  report_.phase(stage_.name).seconds += std::chrono::duration<double>(spent).count();
  stage_ = outer_;
  nested_ = false;
  stage_.started += spent;
  before_.at += spent;
  last_mark_.at += spent;
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

void Progress::expect(const Plan& plan, bool advises) {
  const std::lock_guard lock(mutex_);
  if (!plan.timed) return;
  planned_ = plan.phases;
  if (advises) shortcuts_ = plan.shortcuts;
}

void Progress::show_reads(std::shared_ptr<const data::ReadCounts> counts) {
  const std::lock_guard lock(mutex_);
  reads_ = std::move(counts);
}

void Progress::begin_run(int run, int runs) {
  const std::lock_guard lock(mutex_);
  runs_ = runs;
  if (runs > 1) run_ = fmt::format("run {} of {}", run + 1, runs);
}

void Progress::end_run(const RunRecord& record) {
  const std::lock_guard lock(mutex_);
  if (run_.empty()) return;
  Terminal::instance().detail(fmt::format("{}: inertia {}, {} iterations, stopped by {}", run_, record.inertia,
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

double Progress::share_done(const PlannedPhase& phase) const {
  const auto found = finished_.find(phase.name);
  Done done = found == finished_.end() ? Done{} : found->second;
  std::int64_t all = phase.times;
  if (stage_.name == phase.name) {
    done.steps += stage_.reached;
    all = std::max(all, stage_.steps * runs_);
  }
  if (all == 0 || done.steps == 0) return done.ended && stage_.name != phase.name ? 1.0 : -1.0;
  return std::min(1.0, static_cast<double>(done.steps) / static_cast<double>(all));
}

double Progress::seconds_of(const std::string& name, Clock::time_point now) const {
  const auto found = finished_.find(name);
  const double before = found == finished_.end() ? 0.0 : found->second.seconds;
  return before + (stage_.name == name ? seconds_between(stage_.started, now) : 0.0);
}

double Progress::seconds_of_step(Clock::time_point now) const {
  const Mark from = stage_.reached > before_.reached ? before_ : Mark{stage_.started, 0};
  return seconds_between(from.at, now) / static_cast<double>(std::max<std::int64_t>(stage_.reached - from.reached, 1));
}

double Progress::seconds_left(double share, Clock::time_point now) const {
  const auto done = finished_.find(stage_.name);
  const std::int64_t steps = stage_.reached + (done == finished_.end() ? 0 : done->second.steps);
  return seconds_of_step(now) * static_cast<double>(steps) * (1.0 - share) / share;
}

void Progress::set_mark(Clock::time_point now) {
  if (now - last_mark_.at < 2s) return;
  before_ = std::exchange(last_mark_, {now, stage_.reached});
}

std::string Progress::time_left(Clock::time_point now) const {
  constexpr double kWorth = 0.05;  // seconds of a plan from which a comparison with the run says something
  const auto text = [](double seconds, bool is_limit) {
    if (seconds < 0.05) return std::string("almost done");
    return fmt::format("{} {} left", is_limit ? "at most" : "about", show_seconds(seconds));
  };
  double planned = 0.0, measured = 0.0;  // of what has been computed
  bool is_known = false;                 // whether the plan has the current phase
  for (const PlannedPhase& phase : planned_) {
    is_known |= phase.name == stage_.name;
    const bool computes = phase.bound_by == "computing" || phase.bound_by == "memory";
    const double share = share_done(phase);
    if (!computes || share <= 0.0 || phase.name == "open" || phase.name == "read") continue;
    const bool is_current = phase.name == stage_.name;
    if (is_current && share < 1.0) planned = measured = 0.0;  // it says more than those before it
    planned += is_current && share < 1.0 ? (1.0 - share) * phase.seconds : share * phase.seconds;
    measured += is_current && share < 1.0 ? seconds_left(share, now) : seconds_of(phase.name, now);
  }
  const double slower = planned > kWorth ? std::clamp(measured / planned, 0.1, 30.0) : 1.0;
  double left = 0.0;
  bool is_limit = false;
  for (const PlannedPhase& phase : is_known ? planned_ : std::vector<PlannedPhase>()) {
    const bool is_current = phase.name == stage_.name;
    const double share = share_done(phase), spent = seconds_of(phase.name, now);
    if (share >= 1.0) continue;
    if (share > 0.0) {
      left += is_current ? seconds_left(share, now) : spent / share * (1.0 - share);
    } else if (phase.seconds <= 0.0 && (is_current || phase.times > 0)) {
      return "";  // nobody knows how long it takes
    } else {
      left += std::max(slower * phase.seconds - spent, 0.0);
    }
    is_limit |= phase.at_most;
  }
  if (is_known) return text(left, is_limit);
  if (stage_.reached == 0 || stage_.steps <= stage_.reached) return "";
  return text(seconds_of_step(now) * static_cast<double>(stage_.steps - stage_.reached), stage_.name == "iterate");
}

std::vector<std::string> Progress::places() const {
  constexpr double kShort = 0.01;  // the share of a plan that a phase must take to be counted
  double all = 0.0;
  for (const PlannedPhase& phase : planned_) all += phase.seconds;
  std::vector<std::string> long_ones;
  for (const PlannedPhase& phase : planned_) {
    if (phase.seconds > kShort * all || phase.bound_by.empty()) long_ones.push_back(phase.name);
  }
  const auto found = std::find(long_ones.begin(), long_ones.end(), stage_.name);
  std::string number;
  if (found != long_ones.end() && long_ones.size() > 1) {
    number = fmt::format("{} of {}, ", found - long_ones.begin() + 1, long_ones.size());
  }
  const std::string name = shown_phase(stage_.name);
  std::string steps;
  // No step is reported before the end of the first block; until then "0 of n" would look like a hang.
  if (stage_.steps > 0 && stage_.reached > 0) {
    steps = fmt::format(" {} of {}{}", stage_.reached, stage_.name == "iterate" ? "at most " : "", stage_.steps);
  }
  const std::string run = run_.empty() ? "" : run_ + ", ";
  return {number + run + name + steps, run + name + steps, name + steps, name};
}

std::string Progress::describe(Clock::time_point now) const {
  const double seconds = seconds_between(stage_.started, now);
  const std::string left = time_left(now);
  std::vector<std::string> more;  // the most important first
  if (stage_.name == "iterate" && stage_.reached > 0) {
    more.push_back(fmt::format("{} labels changed", last_.changed));
    more.push_back(fmt::format("inertia {:.6g}", last_.inertia));
  }
  if (const std::int64_t bytes = bytes_read() - stage_.bytes; bytes > 0 && seconds > 0.0) {
    if (reads_->passes > 0) more.push_back(fmt::format("pass {} over the file", reads_->passes.load()));
    more.push_back(fmt::format("{} read", show_bytes(bytes)));
    more.push_back(fmt::format("{:.3g} GB/s", 1e-9 * static_cast<double>(bytes) / seconds));
  }
  if (stage_.reached > 0 && seconds > 0.0) {
    more.push_back(fmt::format("{:.3g} per second", static_cast<double>(stage_.reached) / seconds));
  }
  const std::size_t width = text_width(Stream::error);
  std::string text;
  for (const std::string& place : places()) {
    text = fmt::format("{} ({})", left.empty() ? show_seconds(seconds) + " so far" : left, place);
    if (text.size() < width) break;
  }
  for (const std::string& part : more) {
    if (text.size() + 2 + part.size() < width) text += ", " + part;
  }
  return text;
}

std::string Progress::take_advice(Clock::time_point now) {
  constexpr double kLong = 30.0, kMeasured = 2.0;  // seconds
  constexpr double kMuchShorter = 0.5;             // the share that is left
  for (auto one = shortcuts_.begin(); one != shortcuts_.end(); ++one) {
    const auto phase = std::ranges::find(planned_, one->phase, &PlannedPhase::name);
    if (one->phase != stage_.name || phase == planned_.end() || one->share > kMuchShorter) continue;
    const double share = share_done(*phase), spent = seconds_of(one->phase, now);
    if (share <= 0.0 || spent < kMeasured) continue;
    const double all = spent + seconds_left(share, now);
    if (all < kLong) continue;
    const std::string text = fmt::format("advice: {} takes about {}; {} about {} (--no-advice omits this)",
                                         one->activity, show_seconds(all), one->change, show_seconds(all * one->share));
    shortcuts_.erase(one);
    return text;
  }
  return "";
}

void Progress::watch() {
  Terminal& terminal = Terminal::instance();
  std::unique_lock lock(mutex_);
  std::chrono::milliseconds wait = kFirst;
  while (!wake_.wait_for(lock, wait, [this] { return done_; })) {
    if (!stage_.name.empty() && !nested_) {
      set_mark(Clock::now());
      if (const std::string advice = take_advice(Clock::now()); !advice.empty()) terminal.say(advice);
      const std::string text = describe(Clock::now());
      terminal.is_terminal() ? terminal.status(text) : terminal.note(text);
    }
    wait = terminal.is_terminal() ? kTerminalStep : kLineStep;
  }
}

}  // namespace kith::app
