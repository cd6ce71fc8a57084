// Sums of mostly zeros: only blocks of numbers that are not all zero are exchanged.
#include "core/points/communicator.h"

namespace kith {
namespace {

constexpr std::size_t kBlock = 64;                           // numbers
constexpr std::size_t kWorthLooking = std::size_t{1} << 15;  // numbers from which on a second message costs little

bool all_zero(std::span<const std::int64_t> values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value == 0; });
}

}  // namespace

void add_sparse(Communicator& processes, std::span<std::int64_t> values) {
  if (processes.is_alone()) return;
  if (values.size() < kWorthLooking) return processes.add(values);
  const auto block_at = [&](std::size_t first) {
    return values.subspan(first, std::min(kBlock, values.size() - first));
  };
  std::vector<std::int64_t> filled;  // the first numbers of the blocks
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    if (!all_zero(block_at(first))) filled.push_back(static_cast<std::int64_t>(first));
  }
  // Every process receives all of these blocks, where a sum of all numbers sends each of them about twice.
  std::int64_t total = std::ssize(filled);
  processes.add({&total, 1});
  if (static_cast<std::size_t>(total) * kBlock > values.size()) return processes.add(values);
  std::vector<std::int64_t> packed;  // first number, then the block
  for (const std::int64_t first : filled) {
    const std::span<std::int64_t> block = block_at(static_cast<std::size_t>(first));
    packed.push_back(first);
    packed.insert(packed.end(), block.begin(), block.end());
    std::fill(block.begin(), block.end(), 0);
  }
  const std::vector<std::int64_t> all = gather(processes, std::span<const std::int64_t>(packed));
  for (std::size_t at = 0; at < all.size();) {
    const std::span<std::int64_t> block = block_at(static_cast<std::size_t>(all[at++]));
    for (std::int64_t& value : block) value += all[at++];
  }
}

}  // namespace kith
