// The C++ interface: points from files. Programs that read none need no library of a file format.
#include <kith/points.h>

#include <memory>
#include <string>
#include <utility>

#include "data/source.h"
#include "library/held_points.h"

namespace kith {

PointData PointData::from_file(const std::string& location) {
  auto held = std::make_shared<Held>();
  held->own = data::read_all(*data::open_points(location, {.keep_bytes = true}));
  held->view = view_of(std::get<PointsMatrix>(held->own));
  return of(std::move(held));
}

}  // namespace kith
