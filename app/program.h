// What the programs kith and kith-bench have in common: from the first words to the exit code.
#pragma once

#include <string>

#include "app/commands.h"
#include "core/error.h"

namespace kith::app {

/// Runs the command of `words`, and turns every failure into one message and an exit code, which it returns.
int run_process(const Arguments& words, int (*run)(const Arguments&));

// How the program starts and ends together with the other processes of its run: processes/alone.cpp for kith, mpi.cpp
// for kith-mpi.

/// Before all else: joins the processes that a launcher has started, if it has, and makes them processes(). Throws
/// Error(usage) if it seems to have started others that cannot be reached.
void start_processes();
/// At the end of a run, by all processes: waits for the others. Returns the exit code of this one.
int end_processes(int code);
/// The same for a run that a signal has asked to stop, and that has ended itself.
int end_processes_by(int signal);
/// Shows the error of this process, once for all, and ends the others. Returns the exit code of this one.
int fail_processes(ExitCode code, const std::string& message);

}  // namespace kith::app
