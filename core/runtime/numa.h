// NUMA: the memory nodes of this process, and memory spread over them.
#pragma once

#include <sched.h>

#include <cstddef>
#include <string>
#include <vector>

namespace kith {

/// The NUMA nodes of these processors, ascending, read from `folder` (/sys/devices/system/node). Empty if the system
/// lists none.
std::vector<int> numa_nodes_of(const cpu_set_t& processors, const std::string& folder);

/// The number of NUMA nodes whose processors this process may use, as of the first call. 1 if the system reports no
/// nodes, and if a memory policy was set from outside (numactl), which then takes precedence.
int numa_nodes();

/// The node of the processor that the calling thread currently runs on, 0 <= node < numa_nodes().
int current_numa_node();

/// Asks the system to place the untouched pages of `memory` on the nodes in equal contiguous parts, whichever thread
/// touches them first. This is only a hint: if a node is full or a container forbids it, only speed changes. memory: a
/// multiple of `page`. Does nothing if numa_nodes() is 1.
void spread_over_numa_nodes(void* memory, std::size_t bytes, std::size_t page);

}  // namespace kith
