// Threads that take the place of processes.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/points/communicator.h"

namespace kith::test {

/// What the threads share.
struct Meeting {
  explicit Meeting(int count) : size(count), barrier(count) {}
  int size;
  std::barrier<> barrier;
  std::mutex mutex;
  std::vector<std::int64_t> sums;
  std::vector<double> largest;
  std::vector<std::byte> bytes;
};

class ThreadProcess final : public Communicator {
 public:
  ThreadProcess(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return meeting_.size; }
  Exchanged exchanged() const override { return exchanged_; }
  void add(std::span<std::int64_t> values) override {
    exchanged_.bytes += static_cast<std::int64_t>(values.size_bytes());
    meet(
        [&] {
          meeting_.sums.resize(values.size(), 0);
          for (std::size_t i = 0; i < values.size(); ++i) meeting_.sums[i] += values[i];
        },
        [&] { std::copy(meeting_.sums.begin(), meeting_.sums.end(), values.begin()); });
  }
  void take_largest(std::span<double> values) override {
    meet(
        [&] {
          if (meeting_.largest.empty()) meeting_.largest.assign(values.begin(), values.end());
          for (std::size_t i = 0; i < values.size(); ++i)
            meeting_.largest[i] = std::max(meeting_.largest[i], values[i]);
        },
        [&] { std::copy(meeting_.largest.begin(), meeting_.largest.end(), values.begin()); });
  }
  void share(std::span<std::byte> all, std::span<const std::int64_t> bytes) override {
    exchanged_.bytes += static_cast<std::int64_t>(all.size());
    std::int64_t first = 0;
    for (int r = 0; r < rank_; ++r) first += bytes[static_cast<std::size_t>(r)];
    meet(
        [&] {
          meeting_.bytes.resize(all.size());
          std::copy_n(all.begin() + first, bytes[static_cast<std::size_t>(rank_)], meeting_.bytes.begin() + first);
        },
        [&] { std::copy(meeting_.bytes.begin(), meeting_.bytes.end(), all.begin()); });
  }

 private:
  /// Every process gives, then every process takes.
  void meet(const std::function<void()>& give, const std::function<void()>& take) {
    {
      const std::lock_guard lock(meeting_.mutex);
      give();
    }
    meeting_.barrier.arrive_and_wait();
    take();
    meeting_.barrier.arrive_and_wait();
    if (rank_ == 0) {
      meeting_.sums.clear();
      meeting_.largest.clear();
      meeting_.bytes.clear();
    }
    meeting_.barrier.arrive_and_wait();
  }

  Meeting& meeting_;
  int rank_;
  Exchanged exchanged_;
};

/// Runs work(process) in `count` threads. An error in one of them ends the test program.
inline void run_processes(int count, const std::function<void(Communicator&)>& work) {
  Meeting meeting(count);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&meeting, &work, rank] {
      ThreadProcess process(meeting, rank);
      work(process);
    });
  }
}

}  // namespace kith::test
