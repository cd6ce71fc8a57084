// The kith program: prepares the process, runs a command, and turns every failure into one message and an exit code.
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/cli/failure.h"
#include "app/cli/remedy.h"
#include "app/cli/selftest.h"
#include "app/cli/signals.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "app/processes/launch.h"
#include "app/run/checkpointing.h"
#include "core/no_memory.h"
#include "data/hdf5/hdf5_child.h"

namespace {

constexpr const char* kOutOfMemory = "out of memory; free some, or give fewer rows, columns or clusters";

/// Runs the command. Returns the exit code, or ends the process by the signal that has asked the run to stop.
int run_to_end(const std::vector<std::string>& arguments) {
  using namespace kith::app;
  int signal = 0, code = static_cast<int>(kith::ExitCode::time_limit);
  try {
    code = run_program(arguments);
    finish_out();
  } catch (const Stopped& stopped) {
    signal = stopped.signal;
    if (!stopped.message.empty()) {
      Terminal::instance().note(stopped.message);
      print_failure(signal != 0 ? 128 + signal : code, stopped.message);
    }
  }
  // Outside the handler, since another process may have failed meanwhile.
  return signal != 0 ? end_processes_by(signal) : end_processes(code);
}

int run(int count, char** words) {
  using namespace kith;
  app::note_words({words + 1, words + count});
  try {
    app::start_processes();
    if (const std::string defect = app::arithmetic_defect(); !defect.empty()) {
      return app::fail_processes(ExitCode::internal,
                                 "this process does not compute by IEEE 754, answers would not be exact: " + defect +
                                     "; build kith without -ffast-math, and start it without preloaded libraries");
    }
    const std::vector<std::string> arguments = app::planned({words + 1, words + count});
    data::prepare_hdf5_children(arguments);
    return run_to_end(arguments);
  } catch (const Error& error) {
    return app::fail_processes(error.code(), app::message_with_remedy(error));
  } catch (const std::bad_alloc&) {
    return app::fail_processes(kNoMemory, kOutOfMemory);
  } catch (const std::length_error&) {  // more elements than addresses
    return app::fail_processes(kNoMemory, kOutOfMemory);
  } catch (const std::exception& error) {
    return app::fail_processes(ExitCode::internal,
                               std::string("internal error: ") + error.what() + "; please report it");
  }
}

}  // namespace

int main(int count, char** words) {
  kith::app::prepare_process();
  return run(count, words);
}
