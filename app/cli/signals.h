// What signals do: remove unfinished output, then end the process as the signal would have; or ask a run to end itself.
#pragma once

#include <string>

namespace kith::app {

/// Handlers for the signals that end a process from outside and for SIGABRT, each unless it is ignored (nohup); a limit
/// on file sizes becomes an error of writing. Also makes sure that the three standard streams are open, so that no data
/// file takes their place.
void prepare_process();

/// While an object of this class exists, the first SIGINT, SIGTERM or SIGUSR1 only sets requested_signal(): the run
/// ends itself. The second one ends the process as usual.
class DeferredSignals {
 public:
  DeferredSignals();
  ~DeferredSignals();
  DeferredSignals(const DeferredSignals&) = delete;
  DeferredSignals& operator=(const DeferredSignals&) = delete;
};

/// The number of the signal that asked the run to end, or 0.
int requested_signal();

/// What the message about a signal ends with, from now on: what continues the run, or would have kept it.
void advise_after_signal(const std::string& advice);

/// From now on a signal ends the process without a message: another process says why.
void end_silently();

/// Ends the process by this signal, so that a shell sees 128 + its number.
[[noreturn]] void end_by(int number);

}  // namespace kith::app
