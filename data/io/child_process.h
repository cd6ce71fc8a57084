// Runs functions in a child process, because a library that they use may crash, hang or take too much memory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/io/temporary_file.h"

namespace kith::data {

// Messages over the sockets between processes: bytes of a known number, and open files. All return false if the other
// process has closed its end.

bool send_all(int socket, const void* data, std::size_t size);
bool receive_all(int socket, void* data, std::size_t size);
/// Receives as much as really arrives, so that a wrong size cannot take memory.
bool receive_text(int socket, std::uint64_t size, std::string& text);

/// The number of its bytes, and a text.
bool send_sized(int socket, const std::string& text);
bool receive_sized(int socket, std::string& text);

constexpr std::size_t kMostDescriptors = 3;  // of a message

/// Sends a message with open files, at most kMostDescriptors. The socket keeps the borders of messages.
bool send_with(int socket, const void* data, std::size_t size, std::span<const int> descriptors);
/// Receives a message of this size, and the files that came with it.
bool receive_with(int socket, void* data, std::size_t size, std::vector<int>& descriptors);

/// Throws Error(internal): `what` ("a process that reads HDF5 files") cannot be started, since an action has failed,
/// for the reason in errno.
[[noreturn]] void fail_to_start(const char* what, const char* action);

/// Two connected sockets of this type. Throws as fail_to_start() does.
struct SocketPair {
  SocketPair(int type, const char* what);
  Descriptor ours, theirs;
};

/// What one call may use.
struct ChildLimits {
  std::int64_t memory = 0;  // bytes, beyond what the process had when it started
  double seconds = 1;       // of processor time; SIGPROF ends a longer call
};

/// How a child ended that did not reply.
struct ChildDeath {
  int signal = 0;  // that killed it; 0: it exited by itself
  int code = 0;    // its exit code, if no signal killed it

  static ChildDeath of(int status);  // of waitpid()
};
std::string describe(const ChildDeath& death);  // "crashed (signal 11)"

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
  Descriptor socket_;  // none: dead
  ChildDeath death_;
};

/// Makes the server now: a process that is about to have threads calls this first. Throws Error(internal).
void start_child_server();

/// Whether this process is such a child.
bool is_child_process();

}  // namespace kith::data
