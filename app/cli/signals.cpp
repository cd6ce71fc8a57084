// What signals and a library that ends the program do: remove unfinished output, then end as without this. A run with
// checkpoints is asked to end itself.
#include "app/cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <exception>
#include <new>
#include <string_view>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "core/error.h"
#include "data/io/temporary_file.h"

namespace kith::app {
namespace {

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t unheard = write(STDERR_FILENO, text.data(), text.size());
}

std::atomic<bool> deferred{false};
std::atomic<int> requested{0};
std::atomic<bool> silent{false};
/// What is said at the end, laid out before, since a handler cannot.
struct LastWords {
  std::string nothing_written, other;
};
std::atomic<const LastWords*> last_words{nullptr};
static_assert(std::atomic<const LastWords*>::is_always_lock_free, "signal handlers use it");
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers use them");

[[noreturn]] void end_by_default(int number) {
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, number);
  sigprocmask(SIG_UNBLOCK, &own, nullptr);
  raise(number);
  _exit(128 + number);
}

/// Whether the run ends itself: the first time that one of these signals asks it to.
bool is_request(int number) {
  if (!deferred.load() || (number != SIGINT && number != SIGTERM && number != SIGUSR1)) return false;
  int none = 0;
  if (!requested.compare_exchange_strong(none, number)) return false;
  if (!silent.load()) say("\nkith: stopping after this step; a second signal stops at once\n");
  return true;
}

/// Only async-signal-safe calls. The default action is restored first, so that a second signal ends the process at
/// once.
extern "C" void end_by_signal(int number) {
  if (is_request(number)) return;
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  data::remove_temporary_files_from_signal();
  // A closed pipe is how `kith ... | head` ends: nothing to say, nobody to hear it.
  if (number != SIGPIPE && !silent.load()) {
    // A file may have taken its name a moment before.
    const bool wrote = has_printed() || data::has_named_files();
    const LastWords* words = last_words.load();
    say("\n");
    if (words != nullptr) {
      say(wrote ? words->other : words->nothing_written);
    } else {
      say(wrote ? "kith: stopped\n" : "kith: stopped; nothing was written\n");
    }
  }
  end_by_default(number);
}

/// The HDF5 library crashes in some of its functions when it gets no memory.
extern "C" void end_by_crash(int number) {
  const bool removed = data::remove_temporary_files_from_signal();
  say(removed ? "\nkith: crashed, perhaps out of memory; no output was written;\n"
                "  please report it if memory is free\n"
              : "\nkith: crashed, perhaps out of memory; please report it if memory is\n  free\n");
  raise(number);  // with SA_RESETHAND this is the default action
}

/// On a stack of its own, since a full stack is one reason for a crash. Sanitizers keep their own handlers.
void handle_crash(int number) {
  struct sigaction before {};
  if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_DFL) return;
  static char memory[1 << 14];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  if (sigaltstack(&stack, nullptr) != 0) return;
  struct sigaction action {};
  action.sa_handler = end_by_crash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  sigaction(number, &action, nullptr);
}

/// The HDF5 library calls exit(-1) in some of its functions when it gets no memory. kith itself exits with documented
/// codes.
void end_by_library(int status, void*) {
  if (status != -1 && status != 255) return;
  data::remove_temporary_files_from_signal();
  say("kith: the HDF5 library ended the program, out of memory; no output was written;\n  free some memory\n");
  _exit(static_cast<int>(ExitCode::memory));
}

/// Out of memory where nothing catches it: in a destructor, or before main() in a library's variables.
[[noreturn]] void end_by_exception() {
  data::remove_temporary_files_from_signal();
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    say("kith: out of memory; no output was written; free some memory\n");
    _exit(static_cast<int>(ExitCode::memory));
  } catch (...) {  // which the message below names
  }
  say("kith: out of memory, or an error where none may occur; no output was written;\n"
      "  please report it if memory is free\n");
  _exit(static_cast<int>(ExitCode::internal));
}
__attribute__((constructor(200))) void prepare_for_exceptions() { std::set_terminate(end_by_exception); }

void handle(int number) {
  struct sigaction before {};
  if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN && number != SIGPIPE) return;
  struct sigaction action {};
  action.sa_handler = end_by_signal;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

/// A closed standard stream is opened so that using it fails: reading from a write-only, writing to a read-only one.
void hold_open(int stream) {
  if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) return;
  const int opened = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  if (opened != stream) std::abort();  // a lower stream is closed: it was handled before this one
}

}  // namespace

DeferredSignals::DeferredSignals() { deferred.store(true); }
DeferredSignals::~DeferredSignals() { deferred.store(false); }

int requested_signal() { return requested.load(); }

void advise_after_signal(const std::string& text) {
  static std::deque<LastWords> all;  // a handler may read any of them
  const auto words = [&text](const char* begin) { return lay_out_message("kith: ", begin + text, message_width()); };
  last_words.store(text.empty()
                       ? nullptr
                       : &all.emplace_back(LastWords{words("stopped; nothing was written. "), words("stopped. ")}));
}

void end_silently() { silent.store(true); }

void end_by(int number) {
  signal(number, SIG_DFL);
  end_by_default(number);
}

void prepare_process() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) hold_open(stream);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error of writing like any other
  for (const int number :
       {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGABRT}) {
    handle(number);
  }
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) handle_crash(number);
  on_exit(end_by_library, nullptr);
}

}  // namespace kith::app
