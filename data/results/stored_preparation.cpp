// Reads the parameters of a preparation, and compares their sizes.
#include "data/results/stored_preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"

namespace kith::data {
namespace {

/// All stored parameters, not yet checked.
Preparation stored_parameters(const StoredResult& result, const std::string& scale, std::int64_t components) {
  Preparation parameters;
  const Scaling known[] = {Scaling::none, Scaling::zscore, Scaling::minmax, Scaling::unit};
  const auto* scaling = std::find_if(std::begin(known), std::end(known), [&scale](Scaling s) {
    return (scale.empty() ? name_of(Scaling::none) : scale) == name_of(s);
  });
  if (scaling == std::end(known)) {
    throw Error(ExitCode::data, fmt::format("{}: its points were prepared with --scale {}, which this version of kith "
                                            "does not support; use the version that wrote it, {}",
                                            result.file(), scale, result.text("kith_version")));
  }
  parameters.scaling = *scaling;
  if (result.has("preparation/center")) {
    parameters.columns = {result.vector("preparation/center"), result.vector("preparation/scale")};
  }
  if (components > 0) {
    parameters.pca = {result.vector("preparation/mean"), result.matrix("preparation/components"),
                      result.vector("preparation/explained_variance"),
                      result.vector("preparation/explained_variance_ratio")};
  }
  return parameters;
}

void check(const Preparation& parameters, std::int64_t components, const std::string& file) {
  const auto& [center, scale] = parameters.columns;
  const PrincipalComponents& pca = parameters.pca;
  const bool fits = center.size() == scale.size() && std::find(scale.begin(), scale.end(), 0.0) == scale.end() &&
                    pca.size() == components && std::ssize(pca.mean) == pca.components.columns() &&
                    (center.empty() || pca.mean.empty() || center.size() == pca.mean.size());
  if (fits) return;
  throw Error(ExitCode::data, fmt::format("{}: damaged: the datasets in /preparation do not match; compute the result "
                                          "again",
                                          file));
}

}  // namespace

std::optional<Preparation> read_preparation(const StoredResult& result) {
  const std::string scale = result.text("scale");
  const std::int64_t components = result.whole("pca").value_or(0);
  const bool is_prepared = !scale.empty() || components > 0 || result.has("preparation/center");
  if (!is_prepared) return std::nullopt;
  Preparation parameters = stored_parameters(result, scale, components);
  check(parameters, components, result.file());
  return parameters;
}

}  // namespace kith::data
