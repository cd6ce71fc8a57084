// Progress of a run: times its phases for the report and shows them on standard error.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "app/run/report.h"
#include "core/points/observer.h"
#include "core/runtime/clock.h"
#include "data/file_rows.h"

namespace kith::app {

/// When progress is shown: after the first second, always, or never.
enum class Show { late, always, never };

/// Core and the commands report the phases as they begin; their times are added to the report. A separate thread shows
/// the state after the first second: a status line on a terminal, a line every few seconds elsewhere.
class Progress : public Observer {
 public:
  Progress(Report& report, Show show);
  ~Progress() override;

  /// Ends the current phase and begins this one, unless it is the same phase.
  void phase(const std::string& name, std::int64_t steps) override;
  void progress(std::int64_t done) override;
  void iteration(const IterationRecord& record) override;
  void begin_run(int run, int runs) override;
  void end_run(const RunRecord& record) override;
  void warning(const std::string& message) override;
  /// From now on the state also says what a run in passes has read.
  void show_reads(std::shared_ptr<const data::ReadCounts> counts);
  /// Begins a phase inside the current one, which resumes at leave(): writing between two blocks of a search.
  void enter(const std::string& name);
  void leave();
  /// Ends the last phase.
  void finish();

 private:
  struct Stage {
    std::string name;        // empty: no phase
    std::int64_t steps = 0;  // 0: unknown
    std::int64_t reached = 0;
    std::int64_t bytes = 0;     // that had been read when it began
    Clock::time_point started;  // moved forward by the time of nested phases
  };

  void end_stage();
  void watch();
  /// By a run in passes, so far.
  std::int64_t bytes_read() const;
  std::string describe(Clock::time_point now) const;

  Report& report_;
  Show show_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  Stage stage_;
  Stage outer_;
  IterationRecord last_;
  std::shared_ptr<const data::ReadCounts> reads_;  // null: rows are not read in passes
  std::string run_;                                // "run 2 of 10: " if there are several
  std::thread watcher_;
};

/// Enters a phase for the lifetime of the object.
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
