// Threads claim blocks from a shared counter; the exception of the lowest block that failed is kept.
#include "data/io/block_readers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace kith::data {

void read_in_blocks(std::int64_t blocks, int threads, const std::function<void(std::int64_t, Matrix<std::byte>&)>& read,
                    std::int64_t least) {
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> lowest_failed{blocks};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto take_blocks = [&] {
    Matrix<std::byte> buffer;
    for (std::int64_t block = next++; block < lowest_failed; block = next++) {
      try {
        read(block, buffer);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (block >= lowest_failed) continue;
        lowest_failed = block;
        failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  const std::int64_t requested = std::min<std::int64_t>(threads, blocks / least);
  try {
    for (std::int64_t thread = 1; thread < requested; ++thread) others.emplace_back(take_blocks);
  } catch (const std::system_error&) {  // the threads that did start read everything
  }
  take_blocks();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kith::data
