// The processes of a run, which hold different rows and add their results together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace kith {

/// What one process has exchanged with the others.
struct Exchanged {
  std::int64_t messages = 0, bytes = 0;
  double seconds = 0.0;  // including those of waiting for the others
};

/// All processes make the same calls in the same order. What crosses are sums of integers, maxima and copies, so that
/// no result depends on their number. Throws Error(device) if another process does not answer. One caller at a time.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // of this process, from 0
  virtual int size() const = 0;  // number of processes
  /// Each value becomes its sum over all processes.
  virtual void add(std::span<std::int64_t> values) = 0;
  /// Each value becomes its largest over all processes.
  virtual void take_largest(std::span<double> values) = 0;
  /// `all` has a part of bytes[r] bytes for each process r, one after another. Each process has filled its own; all
  /// are filled afterwards.
  virtual void share(std::span<std::byte> all, std::span<const std::int64_t> bytes) = 0;

  virtual Exchanged exchanged() const { return {}; }
  /// The next call may wait as long as another process needs to read its rows.
  virtual void expect_long_wait() {}

  bool is_first() const { return rank() == 0; }
  bool is_alone() const { return size() == 1; }
};

/// A run of one process.
class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void add(std::span<std::int64_t>) override {}
  void take_largest(std::span<double>) override {}
  void share(std::span<std::byte>, std::span<const std::int64_t>) override {}
};

/// (size) One value of each process.
inline std::vector<std::int64_t> gather_value(Communicator& processes, std::int64_t value) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(processes.size()), 0);
  all[static_cast<std::size_t>(processes.rank())] = value;
  processes.add(all);
  return all;
}

/// Values of all processes in the order of their ranks; `values` are those of this one.
template <class T>
std::vector<T> gather(Communicator& processes, std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::int64_t> bytes = gather_value(processes, static_cast<std::int64_t>(values.size_bytes()));
  std::int64_t total = 0, first = 0;
  for (int r = 0; r < processes.size(); ++r) {
    if (r == processes.rank()) first = total;
    total += bytes[static_cast<std::size_t>(r)];
  }
  std::vector<T> all(static_cast<std::size_t>(total) / sizeof(T));
  std::copy(values.begin(), values.end(), all.begin() + first / static_cast<std::int64_t>(sizeof(T)));
  processes.share(std::as_writable_bytes(std::span(all)), bytes);
  return all;
}

/// add() for numbers of which many may be zero in all processes, as the changes of sums in late iterations are.
void add_sparse(Communicator& processes, std::span<std::int64_t> values);

/// A text of each process.
inline std::vector<std::string> gather_texts(Communicator& processes, const std::string& text) {
  const std::vector<std::int64_t> sizes = gather_value(processes, std::ssize(text));
  const std::vector<char> all = gather(processes, std::span<const char>(text));
  std::vector<std::string> texts;
  for (auto at = all.begin(); texts.size() < sizes.size(); at += sizes[texts.size() - 1]) {
    texts.emplace_back(at, at + sizes[texts.size()]);
  }
  return texts;
}

/// The rows of process `rank`, of n: first row, number of rows. Numbers differ by at most one.
struct Shard {
  std::int64_t first = 0, count = 0;
};
inline Shard shard_of(std::int64_t rows, int rank, int size) {
  const std::int64_t each = rows / size, more = rows % size;
  return {rank * each + std::min<std::int64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

}  // namespace kith
