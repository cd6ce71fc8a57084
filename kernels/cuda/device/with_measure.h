// A measure that is known when the program runs becomes one that is known when a kernel is compiled.
#pragma once

#include <type_traits>

#include "core/measure.h"

namespace kith::cuda {

/// launch(measure): measure.value is a constant.
template <class Launch>
void with_measure(Measure measure, const Launch& launch) {
  switch (measure) {
    case Measure::squared_euclidean:
      return launch(std::integral_constant<Measure, Measure::squared_euclidean>());
    case Measure::inner_product:
      return launch(std::integral_constant<Measure, Measure::inner_product>());
    case Measure::manhattan:
      return launch(std::integral_constant<Measure, Measure::manhattan>());
    case Measure::chebyshev:
      return launch(std::integral_constant<Measure, Measure::chebyshev>());
  }
}

}  // namespace kith::cuda
