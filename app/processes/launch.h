// How the program starts and ends together with the other processes of its run: alone.cpp for kith, mpi.cpp for
// kith-mpi.
#pragma once

#include <string>

#include "core/error.h"

namespace kith::app {

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
