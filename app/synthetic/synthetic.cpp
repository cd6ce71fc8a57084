// Synthetic points by kind: labels, repeated rows, whole numbers and offsets, which do not depend on the kind.
#include "app/synthetic/synthetic.h"

#include "app/synthetic/draws.h"

namespace kith::app {

Synthetic::Synthetic(const Recipe& recipe) : recipe_(recipe) {
  if (recipe_.clusters == 0) recipe_.clusters = recipe_.kind->clusters;
  if (recipe_.kind->common != nullptr) common_ = recipe_.kind->common(recipe_);
}

std::int64_t Synthetic::original_row(std::int64_t number) const {
  const std::int64_t originals = recipe_.rows - recipe_.duplicates;
  return number < originals ? number : draw_below(recipe_.seed, DrawStream::duplicates, number, originals);
}

std::int32_t Synthetic::label(std::int64_t number) const {
  if (recipe_.kind->clusters == 0) return 0;
  return static_cast<std::int32_t>(
      draw_below(recipe_.seed, DrawStream::labels, original_row(number), recipe_.clusters));
}

void Synthetic::row(std::int64_t number, std::span<double> out) const {
  recipe_.kind->make({recipe_, common_, original_row(number), label(number), out});
  for (double& value : out) {
    if (recipe_.integers) value = whole_number(*recipe_.kind, value);
    value += recipe_.offset;
  }
}

}  // namespace kith::app
