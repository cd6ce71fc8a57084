// Bars of measured rates as shares of a limit.
#include <fmt/format.h>

#include <algorithm>

#include "pictures/axes.h"
#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr double kBar = 18.0;  // height of a bar with its spacing
constexpr double kLeft = 232.0, kFull = 200.0;
constexpr double kMostShown = 1.1;  // longer bars are cut

std::string shown(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

}  // namespace

Picture limit_bars(const std::string& name, const std::string& title, const std::vector<LimitBar>& bars) {
  Canvas canvas(600, 10);
  double y = 8;
  std::vector<std::string> limits;  // a colour for each
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const LimitBar& bar = bars[i];
    if (i == 0 || bar.group != bars[i - 1].group) {
      canvas.text({4, y + 14}, shortened(bar.group, 70));
      y += kBar + 4;
    }
    const auto limit = std::find(limits.begin(), limits.end(), bar.limit) - limits.begin();
    if (limit == std::ssize(limits)) limits.push_back(bar.limit);
    const double length = kFull * std::clamp(bar.share, 0.0, kMostShown);
    canvas.text({kLeft - 6, y + 13}, shortened(bar.label, 36), "small end");
    canvas.box({kLeft, y + 2, length, kBar - 4}, colour_of(limit));
    canvas.line({kLeft + kFull, y}, {kLeft + kFull, y + kBar}, "mark");
    const double at = kLeft + length + 6, behind_line = kLeft + kFull + 6;
    const bool meets_line = at < behind_line && at + 150 > behind_line && length > kFull / 4;
    canvas.text({meets_line ? behind_line : at, y + 13},
                shortened(fmt::format("{} of {}", shown(bar.share), bar.limit), meets_line ? 25 : 40), "small soft");
    y += kBar;
  }
  canvas.height(y + 8);
  const auto best = std::max_element(bars.begin(), bars.end(),
                                     [](const LimitBar& a, const LimitBar& b) { return a.share < b.share; });
  std::string caption = "Shares of the limits of this machine, measured in the same run. Dashed: the limit.";
  if (best != bars.end()) {
    caption += fmt::format(" The largest share is {} of {}: {}, {}.", shown(best->share), best->limit, best->label,
                           best->group);
  }
  return {name, title, caption, canvas};
}

}  // namespace kith::pictures
