// Progress of a run: times its phases for the report and shows them on standard error.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/plan/plan.h"
#include "app/run/report.h"
#include "core/points/observer.h"
#include "core/runtime/clock.h"
#include "data/file_rows.h"

namespace kith::app {

/// When progress is shown: after the first second, always, or never.
enum class Show { late, always, never };

/// Core and the commands report the phases as they begin; their times are added to the report. A separate thread shows
/// the state after the first second: a status line on a terminal, a line every few seconds elsewhere. It begins with
/// the time that is left of the whole run: that of the plan, corrected by what has been measured so far.
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
  /// Whether anything is shown.
  bool is_shown() const { return show_ != Show::never; }
  /// What the run is expected to do. advises: to say once, if a phase takes long, what would make it much shorter.
  void expect(const Plan& plan, bool advises);
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

  /// How many steps of the current phase had been done at a time.
  struct Mark {
    Clock::time_point at;
    std::int64_t reached = 0;
  };

  /// What has been done of the phases of a name.
  struct Done {
    std::int64_t steps = 0;  // of stages that have ended, with those that they did not need
    double seconds = 0.0;    // of these stages; those of the report belong to other threads
    bool ended = false;      // a stage of this name
  };

  void end_stage();
  void watch();
  /// Bytes that a run in passes has read so far.
  std::int64_t bytes_read() const;
  std::string describe(Clock::time_point now) const;
  /// The share of a phase that is done, by its steps; negative if it has none that are known.
  double share_done(const PlannedPhase& phase) const;
  /// Seconds until the current phase, of which a share is done, has ended, if it goes on as it does now.
  double seconds_left(double share, Clock::time_point now) const;
  double seconds_of(const std::string& name, Clock::time_point now) const;
  /// Seconds of a step of the current phase, from its last ones: the first steps of many phases take longer.
  double seconds_of_step(Clock::time_point now) const;
  void set_mark(Clock::time_point now);
  /// The time left of the whole run, "at most 25.0 s left"; of the current phase without a plan; empty if not known.
  std::string time_left(Clock::time_point now) const;
  /// "2 of 3, iterate 77 of at most 300", and shorter forms of it, the longest first.
  std::vector<std::string> places() const;
  /// Advice that has not been given, if the current phase takes long and something makes it much shorter.
  std::string take_advice(Clock::time_point now);

  Report& report_;
  Show show_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  bool nested_ = false;  // between enter() and leave(); what is shown is then that of the outer phase
  Stage stage_;
  Stage outer_;
  Mark before_, last_mark_;  // of the current phase; two to four seconds ago, and at most two
  IterationRecord last_;
  std::shared_ptr<const data::ReadCounts> reads_;  // null: rows are not read in passes
  std::string run_;                                // "run 2 of 10" if there are several
  std::int64_t runs_ = 1;
  std::map<std::string, Done> finished_;
  std::vector<PlannedPhase> planned_;
  std::vector<Shortcut> shortcuts_;
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
