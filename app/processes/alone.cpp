// kith: one process.
#include "app/cli/failure.h"
#include "app/cli/signals.h"
#include "app/program.h"

namespace kith::app {

void start_processes() {}

int end_processes(int code) { return code; }

int end_processes_by(int signal) { end_by(signal); }

int fail_processes(ExitCode code, const std::string& message) {
  show_failure(code, message);
  return static_cast<int>(code);
}

}  // namespace kith::app
