// Finds the first copies of equal rows by hashing: O(n d), once for each held set.
#include "kernels/cpu/search/first_copies.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "kernels/cpu/choice/search.h"

namespace kith::cpu {
namespace {

template <class T>
class CopyFinder {
 public:
  explicit CopyFinder(const HeldRows<T>& held)
      : held_(held), n_(held.rows()), row_bytes_(held.columns() * static_cast<std::int64_t>(sizeof(T))) {}

  double equal_share() const {
    constexpr std::int64_t kSample = 1024;
    const std::int64_t count = std::min(kSample, n_);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) rows[i] = n_ * i / count;
    std::sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) { return compare(a, b) < 0; });
    double pairs = 0.0, run = 0.0;
    for (std::int64_t i = 1; i < count; ++i) {
      run = compare(rows[i - 1], rows[i]) == 0 ? run + 1 : 0.0;
      pairs += run;
    }
    return 2 * pairs / (static_cast<double>(count) * static_cast<double>(count - 1));
  }

  /// The first copies, or null if they are more than half of the rows.
  std::shared_ptr<const FirstCopies<T>> find(std::int64_t copies) const {
    std::vector<std::int64_t> first;
    if (!list_first(copies, first)) return nullptr;
    const std::int64_t count = std::ssize(first), d = held_.columns();
    Matrix<T> values(count, d);
    for (std::int64_t i = 0; i < count; ++i) std::copy_n(held_.row(first[i]), d, values.row(i).data());
    const MatrixView<const T> view = std::as_const(values).view();
    return std::make_shared<FirstCopies<T>>(FirstCopies<T>{copies,
                                                           std::move(values),
                                                           std::move(first),
                                                           {.values = view,
                                                            .set = held_.set,
                                                            .threads = held_.threads,
                                                            .block_rows = held_.block_rows,
                                                            .forced = held_.forced,
                                                            .decisions = held_.decisions,
                                                            .plan = held_.plan}});
  }

 private:
  /// Rows that are equal, and how many there were so far.
  struct Group {
    std::uint64_t hash = 0;
    std::int64_t row = 0, count = 0;
  };

  int compare(std::int64_t a, std::int64_t b) const {
    return std::memcmp(held_.row(a), held_.row(b), static_cast<std::size_t>(row_bytes_));
  }
  std::uint64_t hash_of(std::int64_t row) const {
    const auto* bytes = reinterpret_cast<const char*>(held_.row(row));
    std::uint64_t hash = 0;
    for (std::int64_t at = 0; at < row_bytes_; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, static_cast<std::size_t>(std::min<std::int64_t>(8, row_bytes_ - at)));
      hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29;
    }
    return hash;
  }

  bool list_first(std::int64_t copies, std::vector<std::int64_t>& first) const {
    std::vector<std::uint64_t> hashes(static_cast<std::size_t>(n_));
    held_.for_ranges(held_.rows_per_task(held_.columns() + 8),
                     [&](std::int64_t from, std::int64_t to, std::int64_t, int) {
                       for (std::int64_t i = from; i < to; ++i) hashes[i] = hash_of(i);
                     });
    std::vector<Group> groups(std::bit_ceil(static_cast<std::size_t>(n_)));  // at most half of them are used
    for (std::int64_t i = 0; i < n_; ++i) {
      std::size_t at = hashes[i] & (groups.size() - 1);
      while (groups[at].count > 0 && (groups[at].hash != hashes[i] || compare(groups[at].row, i) != 0))
        at = (at + 1) & (groups.size() - 1);
      Group& group = groups[at];
      if (group.count++ == 0) group.hash = hashes[i], group.row = i;
      if (group.count > copies) continue;
      if (2 * std::ssize(first) >= n_) return false;
      first.push_back(i);
    }
    return true;
  }

  const HeldRows<T>& held_;
  std::int64_t n_, row_bytes_;
};

}  // namespace

template <class T>
double equal_share(const HeldRows<T>& held) {
  return CopyFinder<T>(held).equal_share();
}

template <class T>
std::shared_ptr<const FirstCopies<T>> find_first_copies(const HeldRows<T>& held, std::int64_t copies) {
  constexpr std::int64_t kLeastCopies = 16;  // so that lists that grow a little find them
  if (held.first_copies != nullptr && held.first_copies->copies >= copies) return held.first_copies;
  try {
    held.first_copies = CopyFinder<T>(held).find(std::max(copies, kLeastCopies));
  } catch (const std::bad_alloc&) {  // other searches need less memory
    return nullptr;
  }
  if (held.first_copies == nullptr) held.observed.copies.too_many = copies;
  return held.first_copies;
}

#define KITH_INSTANTIATE(T)                        \
  template double equal_share(const HeldRows<T>&); \
  template std::shared_ptr<const FirstCopies<T>> find_first_copies(const HeldRows<T>&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
