// What a run is doing, as it goes: times its phases for the report and shows them on standard error.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "app/run/report.h"
#include "core/observer.h"

namespace kith::app {

/// When progress is shown: what takes longer than a second, everything, nothing.
enum class Show { late, always, never };

/// Core and the commands tell it what begins; it adds the time between to the report's phases. A thread of its own
/// shows the state after the first second: one animated line on a terminal, a line every few seconds elsewhere.
class Progress : public Observer {
 public:
  Progress(Report& report, Show show);
  ~Progress() override;

  /// Ends the phase before and begins this one; the same phase again goes on.
  void phase(const std::string& name, std::int64_t steps) override;
  void progress(std::int64_t done) override;
  void iteration(const IterationRecord& record) override;
  void begin_run(int run, int runs) override;
  void end_run(const RunRecord& record) override;
  void warning(const std::string& message) override;
  /// A phase inside the present one, which goes on at leave(): writing between two blocks of a search.
  void enter(const std::string& name);
  void leave();
  /// Ends the last phase.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  struct Stage {
    std::string name;        // empty when nothing goes on
    std::int64_t steps = 0;  // 0: unknown
    std::int64_t reached = 0;
    Clock::time_point started;  // moved forward by the time spent in phases inside it
  };

  void end_stage();
  void watch();
  std::string describe(Clock::time_point now) const;

  Report& report_;
  Show show_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  Stage stage_;
  Stage outer_;
  IterationRecord last_;
  std::string run_;  // "run 2 of 10: " while there are several
  std::thread watcher_;
};

/// Enters a phase for as long as the object lives.
class PhaseWithin {
 public:
  PhaseWithin(Progress& progress, const std::string& name) : progress_(progress) { progress_.enter(name); }
  ~PhaseWithin() { progress_.leave(); }
  PhaseWithin(const PhaseWithin&) = delete;
  PhaseWithin& operator=(const PhaseWithin&) = delete;

 private:
  Progress& progress_;
};

}  // namespace kith::app
