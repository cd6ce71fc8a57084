// What signals do: remove unfinished output, then end the process as the signal would have.
#include "app/cli/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "data/io/temporary_file.h"

namespace kith::app {
namespace {

/// Only async-signal-safe calls. The default action is restored first, so that a second signal ends the process at
/// once.
extern "C" void end_by_signal(int number) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  // Only what was removed is known to be unwritten: a file may have taken its name a moment before.
  const bool removed = data::remove_temporary_files_from_signal();
  // A closed pipe is how `kith ... | head` ends: nothing to say, nobody to hear it.
  if (number != SIGPIPE) {
    const std::string_view text =
        removed ? "\nkith: stopped by a signal; no output was written\n" : "\nkith: stopped by a signal\n";
    [[maybe_unused]] const ssize_t unheard = write(STDERR_FILENO, text.data(), text.size());
  }
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, number);
  sigprocmask(SIG_UNBLOCK, &own, nullptr);
  raise(number);
  _exit(128 + number);
}

void handle(int number) {
  struct sigaction before {};
  if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN && number != SIGPIPE) return;
  struct sigaction action {};
  action.sa_handler = end_by_signal;
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

void prepare_process() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) hold_open(stream);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error of writing like any other
  for (const int number :
       {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGABRT}) {
    handle(number);
  }
}

}  // namespace kith::app
