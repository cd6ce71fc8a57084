// kith-mpi: the processes that mpirun or srun has started, on one host or several, by MPI 3.0.
//
// A process that fails sends its message to process 0, which shows it and ends all of them. Process 0 looks for such
// messages while it waits for others. MPI is called by one thread, never by a signal handler.
#define OMPI_SKIP_MPICXX
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "app/cli/failure.h"
#include "app/cli/signals.h"
#include "app/cli/terminal.h"
#include "app/program.h"
#include "app/run/processes.h"
#include "core/runtime/clock.h"
#include "data/io/temporary_file.h"
#include "data/io/utf8.h"

namespace kith::app {
namespace {

using namespace std::chrono_literals;

constexpr int kFailed = 1, kWaiting = 2;                  // tags of messages to process 0
constexpr std::int64_t kPiece = std::int64_t{256} << 20;  // bytes of a message; counts of MPI are 32-bit
constexpr double kInterval = 1.0;                         // seconds between the messages of a process that waits
constexpr double kDeadline = 600.0;                       // seconds; KITH_MPI_DEADLINE
constexpr double kSlower = 10.0;                          // than the longest wait so far is suspicious
constexpr double kAnswer = 3.0;                           // seconds for process 0 to show the message of another
constexpr const char* kDeadlineVariable = "KITH_MPI_DEADLINE";

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

class MpiProcesses final : public Communicator {
 public:
  MpiProcesses() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &control_);
    host_ = host_name();
  }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  /// Takes the deadline of the environment. Throws Error(usage) if it is no number.
  void read_deadline() {
    const char* given = std::getenv(kDeadlineVariable);
    if (given == nullptr) return;
    char* end = nullptr;
    deadline_ = std::strtod(given, &end);
    is_given_ = true;
    if (end != given && *end == '\0' && deadline_ >= 0.0 && std::isfinite(deadline_)) return;
    throw Error(ExitCode::usage, fmt::format("{}: expected a number of seconds, or 0 for no deadline, found {}",
                                             kDeadlineVariable, quoted(given)));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void add(std::span<std::int64_t> values) override {
    for_pieces(values, [](std::int64_t* at, int count, MPI_Request* request) {
      MPI_Iallreduce(MPI_IN_PLACE, at, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, request);
    });
  }
  void take_largest(std::span<double> values) override {
    for_pieces(values, [](double* at, int count, MPI_Request* request) {
      MPI_Iallreduce(MPI_IN_PLACE, at, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, request);
    });
  }
  void share(std::span<std::byte> all, std::span<const std::int64_t> bytes) override {
    for (int owner = 0; owner < size_; ++owner) {
      const auto count = static_cast<std::size_t>(bytes[static_cast<std::size_t>(owner)]);
      for_pieces(all.first(count), [owner](std::byte* at, int some, MPI_Request* request) {
        MPI_Ibcast(at, some, MPI_BYTE, owner, MPI_COMM_WORLD, request);
      });
      all = all.subspan(count);
    }
  }

  Exchanged exchanged() const override { return exchanged_; }
  void expect_long_wait() override { is_patient_ = true; }

  /// Waits for all processes, however long they take.
  void meet_at_end() {
    deadline_ = 0.0;
    std::int64_t none = 0;
    add({&none, 1});
  }

  /// "process 2 on host n17: "
  std::string place() const { return fmt::format("process {} on host {}: ", rank_, host_); }

  /// Sends the failure of this process to process 0, and waits for a while to be ended by it.
  void report_failure(ExitCode code, const std::string& message) {
    const std::string text = std::string(1, static_cast<char>(code)) + message;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, kFailed, control_, &request);
    int done = 0;
    for (const auto begin = Clock::now(); seconds_since(begin) < kAnswer; std::this_thread::sleep_for(5ms)) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
  }

 private:
  template <class T, class Begin>
  void for_pieces(std::span<T> values, const Begin& begin) {
    constexpr auto kCount = static_cast<std::size_t>(kPiece) / sizeof(T);
    for (std::size_t first = 0; first < values.size(); first += kCount) {
      MPI_Request request = MPI_REQUEST_NULL;
      const std::size_t count = std::min(kCount, values.size() - first);
      begin(values.data() + first, static_cast<int>(count), &request);
      exchanged_.bytes += static_cast<std::int64_t>(count * sizeof(T));
      wait(request);
    }
  }

  /// Waits for one collective call. Throws the error of another process that has failed, or Error(device) for
  /// one that does not come. Only process 0 throws, and then ends at once: the memory of the call is still in use.
  void wait(MPI_Request request) {
    try {
      wait_or_throw(request);
    } catch (const Error& error) {
      if (rank_ == 0) throw;
      data::remove_temporary_files_from_signal();
      static_cast<void>(fail_processes(error.code(), message_with_remedy(error)));  // does not return
    }
    is_patient_ = false;
  }

  void wait_or_throw(MPI_Request request) {
    ++exchanged_.messages;
    const auto begin = Clock::now();
    const char none = 0;
    double said = 0.0;  // seconds
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) break;
      const double waited = seconds_since(begin);
      if (waited < 1e-3) {
        sched_yield();
        continue;
      }
      std::this_thread::sleep_for(waited < 0.1 ? 50us : 2ms);
      if (rank_ == 0) look_for_failures();
      const double limit = deadline();
      const double interval = limit > 0.0 ? std::min(kInterval, limit / 4) : kInterval;
      if (rank_ != 0 && waited > said + interval) {
        said = waited;
        MPI_Send(&none, 0, MPI_CHAR, 0, kWaiting, control_);
      }
      if (limit > 0.0 && waited > limit + grace()) refuse_to_wait(waited, interval);
    }
    const double waited = seconds_since(begin);
    longest_ = std::max(longest_, waited);
    exchanged_.seconds += waited;
  }

  /// Seconds beyond the deadline: process 0 speaks first, then process 1, which names process 0.
  double grace() const { return rank_ == 0 ? 0.0 : rank_ == 1 ? kAnswer : 3 * kAnswer; }
  /// 0: there is none.
  double deadline() const {
    if (is_given_ || deadline_ == 0.0) return deadline_;
    return is_patient_ ? 0.0 : std::max(deadline_, kSlower * longest_);
  }

  /// Process 0: takes the messages of the others.
  void look_for_failures() {
    MPI_Status status;
    for (int found = 1; found != 0;) {
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, control_, &found, &status);
      if (found == 0) return;
      if (status.MPI_TAG == kWaiting) {
        char none = 0;
        MPI_Recv(&none, 0, MPI_CHAR, status.MPI_SOURCE, kWaiting, control_, MPI_STATUS_IGNORE);
        heard_[status.MPI_SOURCE] = Clock::now();
        continue;
      }
      int count = 0;
      MPI_Get_count(&status, MPI_CHAR, &count);
      std::string text(static_cast<std::size_t>(count), '\0');
      MPI_Recv(text.data(), count, MPI_CHAR, status.MPI_SOURCE, kFailed, control_, MPI_STATUS_IGNORE);
      throw Error(static_cast<ExitCode>(text[0]), text.substr(1));
    }
  }

  /// interval: seconds between two messages of a process that waits, too.
  [[noreturn]] void refuse_to_wait(double waited, double interval) {
    std::string missing = "process 0";
    if (rank_ == 0) {
      look_for_failures();
      std::vector<std::string> names;
      for (int r = 1; r < size_; ++r) {
        if (!heard_.contains(r) || seconds_since(heard_[r]) > 2 * interval) names.push_back(std::to_string(r));
      }
      missing = fmt::format("process{} {}", names.size() == 1 ? "" : "es", fmt::join(names, ", "));
    }
    throw Error(ExitCode::device,
                fmt::format("expected an answer of {} within {:.3g} s, found none; look at the host, or raise "
                            "{} (seconds) if it is only slow",
                            missing, waited, kDeadlineVariable));
  }

  int rank_ = 0, size_ = 1;
  MPI_Comm control_ = MPI_COMM_NULL;
  std::string host_;
  Exchanged exchanged_;
  double deadline_ = kDeadline, longest_ = 0.0;
  bool is_given_ = false;                   // the deadline, by the environment
  bool is_patient_ = false;                 // the next wait may be long
  std::map<int, Clock::time_point> heard_;  // process 0: when another said last that it waits
};

std::optional<MpiProcesses> group;

/// How many processes share this machine, and how many of them the same threads.
Sharing shared_by(const Communicator& processes) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, processes.rank(), MPI_INFO_NULL, &host);
  Sharing sharing;
  MPI_Comm_size(host, &sharing.memory);
  MPI_Comm_rank(host, &sharing.place);
  cpu_set_t own;
  CPU_ZERO(&own);
  sched_getaffinity(0, sizeof own, &own);
  std::vector<cpu_set_t> all(static_cast<std::size_t>(sharing.memory));
  MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, host);
  const auto is_same = [&own](const cpu_set_t& other) { return CPU_EQUAL(&own, &other) != 0; };
  sharing.threads = static_cast<int>(std::count_if(all.begin(), all.end(), is_same));
  MPI_Comm_free(&host);
  return sharing;
}

/// Throws if a launcher has started several processes of which each is alone: it does not speak this MPI's protocol.
void check_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || std::strtol(value, nullptr, 10) <= 1) continue;
    throw Error(ExitCode::usage, fmt::format("expected {} processes, by the variable {}, found this one alone; start "
                                             "kith-mpi with mpirun, or with srun --mpi=pmix",
                                             value, name));
  }
}

[[noreturn]] void abort_all(ExitCode code) {
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace

void start_processes() {
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  group.emplace();
  if (group->is_alone()) return check_launcher();
  group->read_deadline();
  use_processes(*group, shared_by(*group));
  if (group->is_first()) return;
  Terminal::instance().mute();
  end_silently();
}

int end_processes(int code) {
  if (!group) return code;
  group->meet_at_end();
  MPI_Finalize();
  return code;
}

int end_processes_by(int signal) { return end_processes(128 + signal); }

int fail_processes(ExitCode code, const std::string& message) {
  Terminal& terminal = Terminal::instance();
  if (!group || group->is_alone()) {
    show_failure(code, message);
    if (group) MPI_Finalize();
    return static_cast<int>(code);
  }
  const std::string placed = message.starts_with("process ") ? message : group->place() + message;
  if (!group->is_first()) {
    group->report_failure(code, placed);  // which usually ends here
    terminal.mute(false);
  }
  show_failure(code, placed);
  abort_all(code);
}

}  // namespace kith::app
