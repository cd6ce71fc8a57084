// What the programs kith and kith-bench have in common: from the first words to the exit code.
#pragma once

#include "app/commands.h"

namespace kith::app {

/// Runs the command of `words`, and turns every failure into one message and an exit code, which it returns.
int run_process(const Arguments& words, int (*run)(const Arguments&));

}  // namespace kith::app
