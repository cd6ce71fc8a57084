// Runs a command as a process: starts and ends it with the other processes of its run, and shows what ends it early.
#include "app/program.h"

#include <exception>
#include <new>
#include <stdexcept>

#include "app/cli/failure.h"
#include "app/cli/selftest.h"
#include "app/cli/terminal.h"
#include "app/run/checkpointing.h"
#include "app/run/points_run.h"

namespace kith::app {
namespace {

constexpr const char* kOutOfMemory = "out of memory; free some, or give fewer rows, columns or clusters";

}  // namespace

int run_process(const Arguments& words, int (*run)(const Arguments&)) {
  note_words(words);
  try {
    start_processes();
    if (const std::string defect = arithmetic_defect(); !defect.empty()) {
      return fail_processes(ExitCode::internal,
                            "this process does not compute by IEEE 754, answers would not be exact: " + defect +
                                "; build kith without -ffast-math, and start it without preloaded libraries");
    }
    int signal = 0, code = static_cast<int>(ExitCode::time_limit);
    try {
      code = run(words);
      finish_out();
    } catch (const Stopped& stopped) {  // a signal, or the time limit, has asked the run to stop
      signal = stopped.signal;
      if (!stopped.message.empty()) {
        Terminal::instance().error(stopped.message);
        print_failure(signal != 0 ? 128 + signal : code, stopped.message);
      }
    }
    // Outside the handler, since another process may have failed meanwhile.
    return signal != 0 ? end_processes_by(signal) : end_processes(code);
  } catch (const Error& error) {
    return fail_processes(error.code(), message_with_remedy(named(error)));
  } catch (const std::bad_alloc&) {
    return fail_processes(ExitCode::memory, kOutOfMemory);
  } catch (const std::length_error&) {  // more elements than addresses
    return fail_processes(ExitCode::memory, kOutOfMemory);
  } catch (const std::exception& error) {
    return fail_processes(ExitCode::internal, std::string("internal error: ") + error.what() + "; please report it");
  }
}

}  // namespace kith::app
