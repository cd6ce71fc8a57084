// What signals do: remove unfinished output, then end the process as the signal would have.
#pragma once

namespace kith::app {

/// Handlers for the signals that end a process from outside and for SIGABRT, each unless it is ignored (nohup); a limit
/// on file sizes becomes an error of writing. Also makes sure that the three standard streams are open, so that no data
/// file takes their place.
void prepare_process();

}  // namespace kith::app
