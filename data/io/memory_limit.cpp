// Reads the limits of the machine and of control groups, and how much this process holds.
#include "data/io/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/error.h"

namespace kith::data {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// The number in a file; `otherwise` if the file is absent or contains "max".
std::int64_t number_in(const std::string& path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : otherwise;
}

/// The number after `key` in a file of "key number" lines, 0 when absent.
std::int64_t field_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::int64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return 0;
}

/// Names of one version's files in a control group's directory.
struct GroupFiles {
  const char* root;
  const char* limit;
  const char* usage;
  const char* cache;  // reclaimable page cache, in memory.stat
};

constexpr GroupFiles kVersion2{"/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                               "total_inactive_file"};

/// Bytes available within the limits of the group at `path` and all groups above it.
std::int64_t available_in_groups(const GroupFiles& files, std::string path) {
  std::int64_t least = kUnlimited;
  while (true) {
    const std::string folder = files.root + (path == "/" ? "" : path);
    const std::int64_t limit = number_in(folder + files.limit, kUnlimited);
    const std::int64_t used = number_in(folder + files.usage, 0) - field_in(folder + "/memory.stat", files.cache);
    // Version 1 says "no limit" with a number near 2^63.
    if (limit < kUnlimited / 2)
      least = std::min(least, std::max<std::int64_t>(limit - std::max<std::int64_t>(used, 0), 0));
    const auto slash = path.rfind('/');
    if (slash == std::string::npos || path == "/") return least;
    path = slash == 0 ? "/" : path.substr(0, slash);
  }
}

std::int64_t available_in_all_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  std::int64_t least = kUnlimited;
  while (std::getline(file, line)) {  // "0::/path" or "4:memory:/path"
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, available_in_groups(kVersion2, path));
    if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, available_in_groups(kVersion1, path));
  }
  return least;
}

/// Resident bytes of this process that belong to no file.
std::int64_t held_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0, resident = 0, shared = 0;
  return file >> pages >> resident >> shared ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

/// The limit of this run.
struct RunLimit {
  MemoryLimit limit;
  std::int64_t held_before = 0;  // not counted: the program itself
  bool requested = false;
};

RunLimit new_limit(std::int64_t requested) {
  return {requested > 0 ? MemoryLimit{requested, "allowed by --memory"} : free_memory(), held_bytes(), requested > 0};
}

RunLimit& run_limit() {
  static RunLimit limit = new_limit(0);
  return limit;
}

}  // namespace

MemoryLimit free_memory() {
  const std::int64_t kilobytes = field_in("/proc/meminfo", "MemAvailable:");
  // A root without /proc: the free pages, without those of files that the system would give back.
  const std::int64_t machine =
      kilobytes > 0 ? kilobytes * 1024 : sysconf(_SC_AVPHYS_PAGES) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  const std::int64_t group = available_in_all_groups();
  if (group < machine) return {group, "left of the control group's limit"};
  return {machine, "free on this machine"};
}

void set_memory_limit(std::int64_t requested) { run_limit() = new_limit(requested); }

std::int64_t requested_memory() { return run_limit().requested ? run_limit().limit.bytes : 0; }

std::int64_t memory_limit() {
  const RunLimit& run = run_limit();
  return std::max<std::int64_t>(run.limit.bytes - std::max<std::int64_t>(held_bytes() - run.held_before, 0), 0);
}

void require_memory(std::int64_t needed, const std::string& what) {
  const std::int64_t left = memory_limit();
  if (needed > left) require_memory(needed, what, {left, run_limit().limit.source});
}

void require_memory(std::int64_t needed, const std::string& what, const MemoryLimit& limit) {
  if (needed <= limit.bytes) return;
  std::int64_t unit = 1;
  while (needed / unit >= 1024) unit *= 1024;
  // Rounded up, so that a limit of what is shown suffices.
  const std::int64_t half_a_digit = needed / 100 < unit ? unit / 20 : unit / 2;
  const std::string shown = show_bytes(needed + std::min(half_a_digit, kUnlimited - needed));
  const bool requested = run_limit().requested;
  throw Error(ExitCode::memory,
              fmt::format("{}: needs about {} of memory, but only {} are {}; {}", what, shown, show_bytes(limit.bytes),
                          limit.source,
                          requested ? "give a larger --memory, or fewer rows"
                                    : "free some, run where there is more, or override the estimate with --memory"));
}

std::string show_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> names{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < names.size(); ++unit) value /= 1024.0;
  return fmt::format("{:.{}f} {}", value, value < 100.0 ? 1 : 0, names[unit]);
}

}  // namespace kith::data
