// Runs functions in a child process, because a library that they use may crash, hang or take too much memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace kith::data {

/// What one call may use.
struct ChildLimits {
  std::int64_t memory = 0;  // bytes, beyond what the process had when it started
  double seconds = 1;       // of processor time; SIGPROF ends a longer call
};

/// How a child ended that did not reply.
struct ChildDeath {
  int signal = 0;  // that killed it; 0: it exited by itself
  int code = 0;    // its exit code, if no signal killed it
};

/// Runs in the child: takes the bytes of a request and returns those of a reply. Must not throw.
using ChildFunction = std::string (*)(std::string_view request);

/// A child process that runs one call after another and keeps its state between them. It is a copy of a server, a copy
/// of this process that is made at the first use and does nothing but start children: so no child is made by a
/// process with threads or with gigabytes of memory, as long as the first use comes before those. Children end with
/// this process, however it ends. They have no standard streams and no open files of this process.
class ChildProcess {
 public:
  /// Throws Error(internal) with the system's reason.
  ChildProcess();
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Runs function(request) in the child and returns its reply. Throws ChildDeath if the child dies; every later call
  /// throws it again. Thread-safe.
  std::string call(ChildFunction function, std::string_view request, const ChildLimits& limits);

 private:
  std::mutex mutex_;
  pid_t process_ = -1;
  int socket_ = -1;  // -1: dead
  ChildDeath death_;
};

/// Makes the server now: a process that is about to have threads calls this first. Throws Error(internal).
void start_child_server();

/// Whether this process is such a child.
bool is_child_process();

}  // namespace kith::data
