// The server, its children, and the messages between them and the process that uses them.
#include "data/io/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "core/error.h"

namespace kith::data {

bool send_all(int socket, const void* data, std::size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = recv(socket, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool receive_text(int socket, std::uint64_t size, std::string& text) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  text.clear();
  while (text.size() < size) {
    const std::size_t at = text.size();
    text.resize(at + static_cast<std::size_t>(std::min(size - at, kStep)));
    if (!receive_all(socket, text.data() + at, text.size() - at)) return false;
  }
  return true;
}

bool send_sized(int socket, const std::string& text) {
  const std::uint64_t bytes = text.size();
  return send_all(socket, &bytes, sizeof bytes) && send_all(socket, text.data(), text.size());
}

bool receive_sized(int socket, std::string& text) {
  std::uint64_t bytes = 0;
  return receive_all(socket, &bytes, sizeof bytes) && receive_text(socket, bytes, text);
}

bool send_with(int socket, const void* data, std::size_t size, std::span<const int> descriptors) {
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

bool receive_with(int socket, void* data, std::size_t size, std::vector<int>& descriptors) {
  descriptors.clear();
  iovec part{data, size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    descriptors.resize((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(descriptors.data(), CMSG_DATA(header), descriptors.size() * sizeof(int));
  }
  return got == static_cast<ssize_t>(size);
}

void fail_to_start(const char* what, const char* action) {
  throw Error(ExitCode::internal, fmt::format("cannot start {}: {} failed: {}; end other processes, or raise the limit "
                                              "that `ulimit -u` or `ulimit -n` shows",
                                              what, action, std::strerror(errno)));
}

SocketPair::SocketPair(int type, const char* what) {
  int ends[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) fail_to_start(what, "socketpair");
  ours = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
}

ChildDeath ChildDeath::of(int status) {
  return WIFSIGNALED(status) ? ChildDeath{WTERMSIG(status), 0} : ChildDeath{0, WEXITSTATUS(status)};
}

std::string describe(const ChildDeath& death) {
  if (death.signal == SIGPROF) return "took too long";
  if (death.signal == SIGKILL) return "was killed, as the system does when memory runs out,";
  if (death.signal != 0) return fmt::format("crashed (signal {})", death.signal);
  return fmt::format("ended (code {})", death.code);
}

namespace {

bool in_child = false;

/// Precedes the bytes of a request.
struct RequestHeader {
  ChildFunction function;
  ChildLimits limits;
  std::uint64_t bytes;
};

// ---- in the server and its children

/// Pages of the address space and of its writable part.
struct Pages {
  unsigned long all = 0, writable = 0;
};

Pages pages_of_this_process() {
  Pages pages;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return pages;
  if (std::fscanf(file, "%lu %*u %*u %*u %*u %lu", &pages.all, &pages.writable) != 2) pages = {};
  std::fclose(file);
  return pages;
}

void set_soft_limit(int resource, rlim_t value) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limit.rlim_cur = std::min(value, limit.rlim_max);
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

/// Bytes for a function that may use `memory`. A sanitizer adds to every allocation, and keeps those that are freed.
rlim_t allowance_of(std::int64_t memory) {
#if defined(__SANITIZE_ADDRESS__)
  return 4 * static_cast<rlim_t>(memory) + (rlim_t{1} << 30);
#else
  return static_cast<rlim_t>(memory);
#endif
}

void set_limits(const ChildLimits& limits, const Pages& at_start) {
  const auto page = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlim_t memory = allowance_of(limits.memory);
  if (at_start.all > 0) {
    set_soft_limit(RLIMIT_AS, at_start.all * page + memory);
    set_soft_limit(RLIMIT_DATA, at_start.writable * page + memory);
  }
  itimerval timer{};  // finer than RLIMIT_CPU, and begins again with every call
  timer.it_value.tv_sec = static_cast<time_t>(limits.seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((limits.seconds - std::floor(limits.seconds)) * 1e6);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

[[noreturn]] void serve_calls(int socket) {
  in_child = true;
  const Pages at_start = pages_of_this_process();
  RequestHeader header{};
  std::string request;
  while (receive_all(socket, &header, sizeof header) && receive_text(socket, header.bytes, request)) {
    set_limits(header.limits, at_start);
    const std::string reply = header.function(request);
    if (!send_sized(socket, reply)) break;
  }
  _exit(0);
}

/// Signals do what they do by default, and the terminal's do nothing: the process that uses the child decides.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void close_all_but(int kept) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0) dup2(null, stream);
  }
  const auto close_range_of = [](unsigned first, unsigned last) {
    if (first > last || close_range(first, last, 0) == 0) return;
    for (unsigned d = first; d <= std::min(last, 65535U); ++d) close(static_cast<int>(d));
  };
  close_range_of(3, static_cast<unsigned>(kept) - 1);
  close_range_of(static_cast<unsigned>(kept) + 1, ~0U);
}

/// What the server is asked for, and with `start` the socket of the new child.
struct ServerRequest {
  enum Kind : int { start, wait, forget } kind;
  pid_t process;
};

[[noreturn]] void serve_children(int control) {
  reset_signals();
  setpgid(0, 0);  // the terminal's signals do not come here, and one kill ends all children
  close_all_but(control);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  ServerRequest request{};
  std::vector<int> descriptors;
  while (receive_with(control, &request, sizeof request, descriptors)) {
    const int socket = descriptors.empty() ? -1 : descriptors.front();
    int reply = -1;
    if (request.kind == ServerRequest::start) {
      reply = fork();
      if (reply == 0) {
        close(control);
        serve_calls(socket);
      }
      if (reply < 0) reply = -errno;
      close(socket);
    } else {
      kill(request.process, SIGKILL);  // does nothing to one that has died
      while (waitpid(request.process, &reply, 0) < 0 && errno == EINTR) {
      }
      if (request.kind == ServerRequest::forget) continue;
    }
    if (!send_all(control, &reply, sizeof reply)) break;
  }
  if (getpgrp() == getpid()) kill(0, SIGKILL);  // the process that used them has ended
  _exit(0);
}

// ---- in the process that uses the children

constexpr const char* kStarted = "a process that reads HDF5 files";

class Server {
 public:
  /// Starts it at the first use, also in a copy of the process that used one.
  void require() {
    const std::lock_guard lock(mutex_);
    if (owner_ != getpid()) start();
  }

  /// Asks for something and returns the answer, -1 if there is none, as for `forget`.
  int ask(const ServerRequest& request, int descriptor) {
    require();
    const std::lock_guard lock(mutex_);
    if (const auto answer = try_to_ask(request, descriptor)) return *answer;
    if (request.kind != ServerRequest::start) return -1;
    start();  // somebody killed it
    return try_to_ask(request, descriptor).value_or(-1);
  }

 private:
  std::optional<int> try_to_ask(const ServerRequest& request, int descriptor) const {
    int answer = -1;
    const std::span<const int> descriptors(&descriptor, descriptor < 0 ? 0 : 1);
    if (!send_with(socket_.get(), &request, sizeof request, descriptors)) return std::nullopt;
    if (request.kind == ServerRequest::forget) return answer;
    if (!receive_all(socket_.get(), &answer, sizeof answer)) return std::nullopt;
    return answer;
  }

  void start() {
    socket_ = Descriptor();
    SocketPair sockets(SOCK_SEQPACKET, kStarted);
    // A signal that ends this process now must not reach the handlers in the child, which would speak, too.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t process = fork();
    if (process == 0) serve_children(sockets.theirs.get());
    const int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = reason;
    if (process < 0) fail_to_start(kStarted, "fork");
    socket_ = std::move(sockets.ours);
    owner_ = getpid();
  }

  std::mutex mutex_;
  pid_t owner_ = -1;
  Descriptor socket_;
};

/// Never destroyed: it ends with the process.
Server& server() {
  static auto* const only = new Server;
  return *only;
}

}  // namespace

void start_child_server() { server().require(); }

ChildProcess::ChildProcess() {
  SocketPair sockets(SOCK_STREAM, kStarted);
  process_ = server().ask({ServerRequest::start, 0}, sockets.theirs.get());
  if (process_ < 0) errno = -process_;
  if (process_ <= 0) fail_to_start(kStarted, "fork");
  socket_ = std::move(sockets.ours);
}

ChildProcess::~ChildProcess() {
  if (!socket_) return;
  socket_ = Descriptor();
  server().ask({ServerRequest::forget, process_}, -1);
}

std::string ChildProcess::call(ChildFunction function, std::string_view request, const ChildLimits& limits) {
  const std::lock_guard lock(mutex_);
  if (!socket_) throw death_;
  const RequestHeader header{function, limits, request.size()};
  std::string reply;
  if (send_all(socket_.get(), &header, sizeof header) && send_all(socket_.get(), request.data(), request.size()) &&
      receive_sized(socket_.get(), reply)) {
    return reply;
  }
  socket_ = Descriptor();
  death_ = ChildDeath::of(server().ask({ServerRequest::wait, process_}, -1));
  throw death_;
}

bool is_child_process() { return in_child; }

}  // namespace kith::data
