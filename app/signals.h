// What signals do: remove unfinished output, then end the process as the signal would have.
#pragma once

namespace kith::app {

/// Handlers for SIGINT, SIGTERM, SIGHUP and SIGPIPE, each unless it is ignored (nohup). Also makes sure that the three
/// standard streams are open, so that no data file takes their place.
void prepare_process();

}  // namespace kith::app
