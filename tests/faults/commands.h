// The commands that are run while calls of the system fail, and their inputs.
#pragma once

#include <string>
#include <vector>

#include "tests/support/program.h"

namespace kith::testing {

struct FaultyCommand {
  const char* name;
  Words words;
  Words outputs;
  bool replaces = false;  // the outputs exist before
  bool is_large = false;  // reads the points that do not fit in its memory
  bool resumes = false;   // a stopped run has left a checkpoint
};

const std::vector<FaultyCommand>& faulty_commands();

std::string points_as_csv();

/// A matrix /X and obs with an index of texts, as anndata writes them, without what kith does not read.
void make_cells(const std::string& name);

/// The inputs of a command, in a folder of its own.
void make_inputs(const Scratch& folder, const FaultyCommand& command);

}  // namespace kith::testing
