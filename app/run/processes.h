// The processes that run a command together: one, or those that a launcher has started.
#pragma once

#include <string>

#include "core/points/communicator.h"

namespace kith::app {

/// Those of this run; one unless use_processes() has said otherwise.
Communicator& processes();
/// What processes share, this one included.
struct Sharing {
  int memory = 1;   // processes on this machine
  int threads = 1;  // those of them that may use the same threads
  int place = 0;    // of this process among those on this machine
};
/// Before any command runs. The processes must outlive the run.
void use_processes(Communicator& processes, const Sharing& sharing);
Sharing sharing();

/// The rows of n that this process holds.
inline Shard own_rows(std::int64_t rows) { return shard_of(rows, processes().rank(), processes().size()); }

/// Throws Error(usage) unless all processes have given the same words, which describe the run.
void check_agreement(const std::string& words);

}  // namespace kith::app
