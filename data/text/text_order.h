// Texts whose order is known: answers of questionnaires, texts that begin with numbers, and ranges.
#pragma once

#include <string>
#include <vector>

namespace kith::data {

/// Different texts from the least to the most.
struct TextOrder {
  std::vector<std::string> texts = {};  // empty: no order is known
  /// Whether the order means something. Numbers alone may be codes: 1 = Lyon, 2 = Paris.
  bool is_sure = false;
};

/// The order of at least two different texts: answers of one scale (never, often, always), texts that begin with
/// different numbers (1 = bad, 2, 10 - good), or ranges that do not overlap (<18, 18-24, 65+).
TextOrder known_order(const std::vector<std::string>& texts);

}  // namespace kith::data
