// Dispatch from a measure at run time to a kernel that is compiled for it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/error.h"
#include "core/numbers/distance.h"

namespace kith::cuda {

/// Calls launch(measure), where measure.value is a compile-time constant, for rows of type T. Rows of bits are bytes.
template <class T, class Launch>
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
    case Measure::hamming:
    case Measure::jaccard:
      if constexpr (std::is_same_v<T, std::uint8_t>) {
        return measure == Measure::hamming ? launch(std::integral_constant<Measure, Measure::hamming>())
                                           : launch(std::integral_constant<Measure, Measure::jaccard>());
      }
      throw Error(ExitCode::internal, "rows of bits must be held as bytes");
  }
}

}  // namespace kith::cuda
