// NUMA nodes through Linux system calls, without libnuma.
#include "core/runtime/large_pages.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>

namespace kith {
namespace {

constexpr int kMaxNodes = 1024;  // the largest number that Linux supports

/// The numbers in a file like "0-3,8,10-11"; none if it cannot be read.
std::vector<int> numbers_in(const std::string& path) {
  std::vector<int> numbers;
  std::ifstream file(path);
  for (int first = 0; file >> first; file.ignore()) {  // the comma
    int last = first;
    if (file.peek() == '-') file.ignore() >> last;
    for (; first <= last; ++first) numbers.push_back(first);
  }
  return numbers;
}

bool policy_from_outside() {
  int policy = MPOL_DEFAULT;
  return syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0) == 0 && policy != MPOL_DEFAULT;
}

std::vector<int> find_nodes() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return {};
  std::vector<int> nodes = numa_nodes_of(processors, "/sys/devices/system/node");
  if (nodes.size() > 1 && policy_from_outside()) nodes.clear();
  return nodes;
}

const std::vector<int>& nodes() {
  static const std::vector<int> usable = find_nodes();
  return usable;
}

}  // namespace

std::vector<int> numa_nodes_of(const cpu_set_t& processors, const std::string& folder) {
  std::vector<int> nodes;
  for (const int node : numbers_in(folder + "/has_cpu")) {
    const std::vector<int> near = numbers_in(folder + "/node" + std::to_string(node) + "/cpulist");
    const auto usable = [&](int processor) { return CPU_ISSET(static_cast<std::size_t>(processor), &processors); };
    if (node < kMaxNodes && std::any_of(near.begin(), near.end(), usable)) nodes.push_back(node);
  }
  return nodes;
}

int numa_nodes() { return std::max(static_cast<int>(nodes().size()), 1); }

int current_numa_node() {
  unsigned node = 0;
  if (getcpu(nullptr, &node) != 0) return 0;
  const auto at = std::find(nodes().begin(), nodes().end(), static_cast<int>(node));
  return at == nodes().end() ? 0 : static_cast<int>(at - nodes().begin());
}

void spread_over_numa_nodes(void* memory, std::size_t bytes, std::size_t page) {
  const std::size_t parts = nodes().size();
  if (parts < 2) return;
  const std::size_t pages = (bytes + page - 1) / page;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = pages * part / parts, last = pages * (part + 1) / parts;
    constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
    unsigned long mask[kMaxNodes / kBits] = {};
    mask[nodes()[part] / kBits] = 1UL << nodes()[part] % kBits;
    // The kernel uses one bit fewer than the given size. Errors are ignored, since this is a hint.
    syscall(SYS_mbind, static_cast<std::byte*>(memory) + first * page, (last - first) * page, MPOL_PREFERRED, mask,
            kMaxNodes + 1, 0);
  }
}

}  // namespace kith
