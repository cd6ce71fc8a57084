// A class template instantiated for each point type (KITH_FOR_POINT_TYPES of core/points/matrix.h).
//
// Like instructions.h, this header must include nothing that instantiates shared inline code.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kith::cpu {

template <template <class> class Template>
struct ForPointTypes {
  Template<float> f32;
  Template<double> f64;
  Template<std::uint8_t> uint8;
  Template<std::int8_t> int8;

  template <class T>
  const Template<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else if constexpr (std::is_same_v<T, double>) {
      return f64;
    } else if constexpr (std::is_same_v<T, std::uint8_t>) {
      return uint8;
    } else {
      static_assert(std::is_same_v<T, std::int8_t>);
      return int8;
    }
  }
};

}  // namespace kith::cpu
