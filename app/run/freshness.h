// Whether a result is still the one that its inputs and options give.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/results/stored_result.h"

namespace kith::app {

/// A line for each regular file among the inputs: CRC-32 of its samples (data::mark_of), bytes, name without folders.
/// Throws Error(data) if one cannot be read.
std::vector<std::string> marks_of(const std::vector<std::string>& inputs);
/// Those of the files that a stored command names, each once.
std::vector<std::string> marks_in(const std::string& command, const std::vector<std::string>& marks);

/// Why `result` is not what its inputs give now; empty: it is. They are looked for in this folder and beside the
/// result. Throws Error(data) if it is no result.
std::string why_stale(const std::string& result);
/// The same for its inputs and options: why the command that `run` runs, with the result as --output, would not write
/// it again. It ends before it reads values.
std::string why_stale(const std::string& result, const std::function<void()>& run);

/// Whether a command runs for why_stale().
bool is_checking_freshness();
/// While a command runs for why_stale(), to be called when its inputs are open: compares what it would store.
void check_freshness(const std::string& command, const std::vector<std::string>& marks);

}  // namespace kith::app
