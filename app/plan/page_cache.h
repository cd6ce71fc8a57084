// Which share of a file is in the page cache of the system.
#pragma once

#include <string>

namespace kith::app {

/// From a sample of its pages, without reading them; 1 if the system does not say.
double cached_share(const std::string& file);

}  // namespace kith::app
