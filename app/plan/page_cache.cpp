// Asks the system which pages of a mapped file are in memory.
#include "app/plan/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace kith::app {

double cached_share(const std::string& file) {
  constexpr std::int64_t kSamples = 64;
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (opened < 0) return 1.0;
  const bool is_file = fstat(opened, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  const auto bytes = static_cast<std::size_t>(is_file ? status.st_size : 0);
  void* mapped = is_file ? mmap(nullptr, bytes, PROT_READ, MAP_SHARED, opened, 0) : MAP_FAILED;
  close(opened);
  if (mapped == MAP_FAILED) return 1.0;
  const std::int64_t page = sysconf(_SC_PAGESIZE), pages = (status.st_size + page - 1) / page;
  const std::int64_t samples = std::min(pages, kSamples);
  std::int64_t cached = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    unsigned char here = 1;
    mincore(static_cast<char*>(mapped) + i * pages / samples * page, static_cast<std::size_t>(page), &here);
    cached += here & 1;
  }
  munmap(mapped, bytes);
  return static_cast<double>(cached) / static_cast<double>(samples);
}

}  // namespace kith::app
