// Whether a result is still the one that its inputs and options give.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/results/checkpoint_file.h"
#include "data/results/stored_result.h"

namespace kith::app {

/// A line for each regular file among the inputs: CRC-32 of its samples, bytes, name without folders. mark_of: makes
/// the mark of a file, as data::mark_of() does.
using MarkOf = std::function<data::InputMark(const std::string& file)>;
std::vector<std::string> marks_of(const std::vector<std::string>& inputs, const MarkOf& mark_of);
/// Those of the files that a stored command names, each once.
std::vector<std::string> marks_in(const std::string& command, const std::vector<std::string>& marks);

/// The files and folders of --inputs: one, or several between commas. Throws Error(usage) if one does not exist.
std::vector<std::string> named_inputs(const std::string& option);
/// Why `result` is not known to be what its inputs give now; empty: it is. Its inputs are beside it, or are or lie in
/// `places`, which the user names. No other file is opened, whatever a result says. Throws Error(data) if it is no
/// result.
std::string why_stale(const std::string& result, const std::vector<std::string>& places);
/// The same for its inputs and options: why the command that `run` runs, with the result as --output, would not write
/// it again. It ends before it reads values.
std::string why_stale(const std::string& result, const std::function<void()>& run);

/// Whether a command runs for why_stale().
bool is_checking_freshness();
/// While a command runs for why_stale(), to be called when its inputs are open: compares what it would store.
void check_freshness(const std::string& command, const std::vector<std::string>& marks);

}  // namespace kith::app
