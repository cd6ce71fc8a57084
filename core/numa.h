// The memory nodes of machines with several sockets: which of them this process runs near, and pages spread over them.
#pragma once

#include <sched.h>

#include <cstddef>
#include <string>
#include <vector>

namespace kith {

/// Numbers of the nodes that have a processor among these, ascending, as the system lists them in `folder`
/// (/sys/devices/system/node). Empty where it does not.
std::vector<int> numa_nodes_of(const cpu_set_t& processors, const std::string& folder);

/// Nodes that the processors of this process belong to, as they were at the first call. 1 where the machine has one or
/// says nothing of nodes, and where memory was given a policy from outside (numactl), which is then followed.
int numa_nodes();

/// The node of the processor that the calling thread runs on at this moment, 0 <= node < numa_nodes().
int current_numa_node();

/// Asks that pages which nobody has touched come to lie on these nodes in equal parts, one after another, whoever
/// touches them. Only a hint: a full node, or a container that forbids it, changes nothing but speed. memory: a
/// multiple of `page`, as are the parts. Does nothing where numa_nodes() is 1.
void spread_over_numa_nodes(void* memory, std::size_t bytes, std::size_t page);

}  // namespace kith
