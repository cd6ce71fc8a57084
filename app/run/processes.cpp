// Which processes run a command together, and whether they run the same one.
#include "app/run/processes.h"

#include <fmt/format.h>

#include "core/error.h"

namespace kith::app {
namespace {

SingleProcess alone;
Communicator* together = &alone;
Sharing shared;

}  // namespace

Communicator& processes() { return *together; }

void use_processes(Communicator& processes, const Sharing& sharing) {
  together = &processes;
  shared = sharing;
}

Sharing sharing() { return shared; }

void check_agreement(const std::string& words) {
  if (processes().is_alone()) return;
  const std::vector<std::string> all = gather_texts(processes(), words);
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    throw Error(ExitCode::usage, fmt::format("the processes run different commands or see different files: expected "
                                             "'{}', as process 0 has, found '{}' in process {}; give all of them the "
                                             "same options, program and files",
                                             all[0], all[r], r));
  }
}

}  // namespace kith::app
