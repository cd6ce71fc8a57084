// Says that rows of two files were matched by their identifiers, since their order differs.
#pragma once

#include <fmt/format.h>

#include <string>

#include "app/cli/terminal.h"
#include "data/io/quoted.h"

namespace kith::app {

/// `read` are data::Labels or data::RowNumbers for the rows of the file `of`.
template <class Read>
void say_matched(const Read& read, const std::string& of) {
  if (read.matched_by.empty()) return;
  Terminal::instance().say(fmt::format("note: rows of {} are matched with those of {} by the column '{}'",
                                       visible(read.name), visible(of), visible(read.matched_by)));
}

}  // namespace kith::app
