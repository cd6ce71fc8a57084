// --prepare auto: chooses from what the columns of a text table hold how each of them becomes points.
#pragma once

#include <string>

#include "app/cli/options.h"

namespace kith::app {

struct CommonOptions;

/// --prepare, of commands that fill in missing values.
void add_prepare_option(OptionSet& set, CommonOptions& common);

/// With --prepare auto: reads the table, sets the options that prepare it (--drop-columns, --encode, --nan, --scale,
/// --column-weights, --decimal), as far as they are not given, and prints what becomes of each column, and the command
/// with these options, which does the same. Throws Error(usage) if the points are no text table, Error(data) if no
/// column can be used.
void choose_preparation(const std::string& points, const OptionSet& set, CommonOptions& common);

}  // namespace kith::app
