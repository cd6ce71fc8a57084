// The options that describe the form of text files.
#pragma once

#include "app/cli/common_options.h"

namespace kith::app {

/// Puts --delimiter, --decimal, --thousands, --header, --quote, --skip-lines and --comment into the options of readers.
/// Throws Error(usage) if they cannot be meant.
void read_text_options(const CommonOptions& common, data::ReadOptions& options);
/// What --header says.
data::Header header_of(const CommonOptions& common);
/// Options for readers of labels, with these alone: labels and classes are separate columns, and --columns applies to
/// the points.
data::ReadOptions text_form(const CommonOptions& common);

}  // namespace kith::app
