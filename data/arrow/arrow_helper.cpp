// Finds and starts the program kith-arrow, and exchanges messages with it.
#include "data/arrow/arrow_helper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/io/child_process.h"
#include "data/io/input_error.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

constexpr const char* kProgram = "kith-arrow";
constexpr const char* kStarted = "kith-arrow, which reads and writes Parquet and Arrow files";
constexpr const char* kNotLoaded = "ended (code 127)";  // by the dynamic linker

/// The running program; it ends when the last socket to it is closed.
class Server {
 public:
  /// Sends the end of a connection to the program, which is started if it does not run.
  void connect(bool has_input, const std::vector<int>& files) {
    const std::lock_guard lock(mutex_);
    const ArrowGreeting greeting{.has_input = has_input};
    if (socket_ && owner_ == getpid() && send_with(socket_.get(), &greeting, sizeof greeting, files)) return;
    start();  // for the first time, in a copy of the process that did, or because it has died
    if (!send_with(socket_.get(), &greeting, sizeof greeting, files)) fail_to_start(kStarted, "sendmsg");
  }

  /// How it ended, in words; "" if it has not.
  std::string death() {
    const std::lock_guard lock(mutex_);
    int status = 0;
    if (process_ > 0 && owner_ == getpid()) kill(process_, SIGKILL);  // does nothing to one that has died
    if (process_ < 0 || owner_ != getpid() || waitpid(process_, &status, 0) != process_) return last_death_;
    process_ = -1;
    socket_ = Descriptor();
    return last_death_ = describe(ChildDeath::of(status));
  }

 private:
  void start() {
    if (process_ > 0 && owner_ == getpid()) waitpid(process_, nullptr, WNOHANG);
    SocketPair sockets(SOCK_SEQPACKET, kStarted);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, sockets.theirs.get(), kArrowSocket);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);  // signals of the terminal do not come there
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    std::string name = kProgram;
    const std::array<char*, 2> words{name.data(), nullptr};
    const std::string file = arrow_program();
    const int failure = posix_spawn(&process_, file.c_str(), &actions, &attributes, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    errno = failure;
    if (failure != 0) fail_to_start(kStarted, "posix_spawn");
    socket_ = std::move(sockets.ours);
    owner_ = getpid();
    last_death_ = "ended";
  }

  std::mutex mutex_;
  Descriptor socket_;
  pid_t process_ = -1, owner_ = -1;
  std::string last_death_;
};

/// Never destroyed: the program ends when this process has ended.
Server& server() {
  static auto* const only = new Server;
  return *only;
}

bool is_program(const std::filesystem::path& file) { return access(file.c_str(), X_OK) == 0; }

}  // namespace

std::string arrow_program() {
  static const std::string found = [] {
    std::error_code failure;
    const auto beside = std::filesystem::read_symlink("/proc/self/exe", failure).replace_filename(kProgram);
    if (is_program(beside)) return beside.string();
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const auto file = std::filesystem::path(folder) / kProgram;
      if (file.is_absolute() && is_program(file)) return file.string();
    }
    return std::string();
  }();
  return found;
}

void refuse_without_arrow(const std::string& what) {
  throw Error(ExitCode::usage,
              fmt::format("{} needs the program {}, which was found neither beside kith nor on PATH; a build has it "
                          "where Arrow C++ is found, which pyarrow contains: pip install pyarrow, then ./dev build",
                          what, kProgram));
}

ArrowConnection::ArrowConnection(std::string name, const InputBytes* input) : name_(std::move(name)) {
  if (arrow_program().empty()) refuse_without_arrow(name_ + ": a Parquet or Arrow file");
  SocketPair sockets(SOCK_STREAM, kStarted);
  socket_ = std::move(sockets.ours);
  // The seal keeps the other process from making the memory shorter, which would end this one by a signal.
  memory_ = Descriptor(memfd_create("kith-arrow", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory_ || fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) fail_to_start(kStarted, "memfd_create");
  std::vector<int> files{sockets.theirs.get(), memory_.get()};
  Descriptor file;
  if (input != nullptr) {
    input_bytes_ = input->size();
    file = input->shared();
    files.push_back(file.get());
  }
  server().connect(input != nullptr, files);
}

ArrowConnection::~ArrowConnection() {
  if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
}

std::span<std::byte> ArrowConnection::shared(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (size <= mapped_.size()) return mapped_;
  if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
  mapped_ = {};
  void* at = MAP_FAILED;
  if (ftruncate(memory_.get(), bytes) == 0) {
    at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  }
  if (at == MAP_FAILED && errno == EFBIG) {  // the memory is a file without a name
    throw Error(ExitCode::output,
                fmt::format("{}: reading it takes a file of {} bytes in memory, more than the limit of "
                            "the size of files allows; raise that limit (ulimit -f)",
                            name_, bytes));
  }
  if (at == MAP_FAILED) require_memory(bytes, name_);
  if (at == MAP_FAILED) throw Error(ExitCode::memory, fmt::format("{}: {}", name_, std::strerror(errno)));
  mapped_ = {static_cast<std::byte*>(at), size};
  return mapped_;
}

ArrowLimits ArrowConnection::limits_for(std::int64_t bytes) const {
  constexpr std::int64_t kSeconds = 10, kBytesPerSecond = 2'000'000;
  return {requested_memory(), kSeconds + (bytes + input_bytes_) / kBytesPerSecond};
}

void ArrowConnection::send_request(const std::string& request) {
  if (!send_sized(socket_.get(), request)) refuse_death();
}

std::string ArrowConnection::receive_reply() {
  std::string reply;
  if (!receive_sized(socket_.get(), reply)) refuse_death();
  return unpacked_reply(std::move(reply),
                        fmt::format("{}: it takes more memory than this run may use; give a larger --memory, or write "
                                    "it with smaller row groups",
                                    name_),
                        [this] { refuse_reply(); });
}

void ArrowConnection::refuse_reply() const {
  refuse_input(name_, fmt::format("{} gave a description of the file that cannot be right; the file is damaged, or the "
                                  "program is of another version: copy or create the file again",
                                  kProgram));
}

void ArrowConnection::refuse_death() const {
  const std::string death = server().death();
  if (death == kNotLoaded) {
    refuse_input(name_, fmt::format("cannot be read, because {} does not find the libraries that it needs; install it "
                                    "again",
                                    kProgram));
  }
  refuse_input(
      name_, fmt::format("{} {} while it worked on it; the file is damaged: copy or create it again", kProgram, death));
}

}  // namespace kith::data
