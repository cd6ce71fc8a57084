// What rows have shown while they were read, and the remarks about it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "data/text/text_head.h"

namespace kith::data {

/// The first value of each kind in the file, whatever the order in which threads read its rows, perhaps several times.
class TextNotes {
 public:
  enum Kind { open_end, of_accounts, rounded, unknown };
  void add(Kind kind, std::int64_t line, std::int64_t column, std::string text);
  /// How many rows have a value that the model does not know.
  std::int64_t unknown_rows() const;
  /// A sentence for each kind. `rows`: of the table.
  std::vector<std::string> remarks(const TextHead& head, std::int64_t rows) const;

 private:
  struct Noted {
    std::int64_t line = 0, column = 0;  // line 0: none
    std::string text = {};
  };
  mutable std::mutex mutex_;
  std::array<Noted, unknown + 1> first_;
  std::set<std::int64_t> unknown_lines_;
};

}  // namespace kith::data
