// A radius by its cosine: cosine distances of kith are Euclidean distances between rows scaled to length 1.
#include "app/run/radius.h"

#include <cmath>

#include "app/cli/terminal.h"
#include "app/run/model.h"
#include "core/neighbors/radius.h"

namespace kith::app {

bool RadiusChoice::given() const { return !std::isnan(radius) || !std::isnan(min_cosine); }

double RadiusChoice::value() const { return std::isnan(min_cosine) ? radius : radius_of_cosine(min_cosine); }

double RadiusChoice::limit(Metric metric) const { return limit_of_radius(value(), metric); }

void add_radius_options(OptionSet& set, CommonOptions& common, RadiusChoice& choice, const char* help,
                        std::vector<const char*> excludes) {
  Option radius{.names = "--radius",
                .value = "R",
                .help = help,
                .shown_default = "none",
                .stored = Stored::if_changed,
                .excludes = excludes};
  set.number(radius, choice.radius);
  Option cosine{.names = "--min-cosine",
                .value = "C",
                .help =
                    "The --radius of all pairs of rows whose cosine is C or more, with --metric cosine, which it "
                    "sets.",
                .shown_default = "none",
                .stored = Stored::if_changed,
                .excludes = std::move(excludes)};
  cosine.excludes.push_back("--radius");
  cosine.refused = {when([&choice] { return !(std::abs(choice.min_cosine) <= 1.0); },
                         "--min-cosine: expected a cosine, from -1 to 1"),
                    when([&] { return set.source("--metric") != Source::none && metric_of(common) != Metric::cosine; },
                         "--min-cosine: expected --metric cosine, which it sets; leave --metric out, or give --radius, "
                         "in the unit of that metric")};
  set.number(cosine, choice.min_cosine);
}

void take_metric_of_radius(const RadiusChoice& choice, const std::vector<std::string>& points, const OptionSet& set,
                           CommonOptions& common) {
  if (std::isnan(choice.min_cosine)) return take_file_metric(points, set, common);
  if (metric_of(common) == Metric::cosine) return;
  common.metric = name_of(Metric::cosine);
  Terminal::instance().say("metric     cosine, which --min-cosine sets");
}

RadiusReport report_of(const RadiusChoice& choice, Metric metric) {
  RadiusReport report{choice.value(), {}};
  if (metric == Metric::cosine) {
    report.cosine = std::isnan(choice.min_cosine) ? cosine_of_radius(choice.radius) : choice.min_cosine;
  }
  return report;
}

}  // namespace kith::app
