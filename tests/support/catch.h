// Catch2 version 2 or 3, whichever the distribution has.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // as version 2 declares it
#else
#include <catch2/catch.hpp>
#endif
