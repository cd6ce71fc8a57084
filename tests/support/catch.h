// Includes Catch2 version 2 or 3.
#pragma once

#define CATCH_CONFIG_FAST_COMPILE  // assertions without a handler of exceptions each; the test case has one

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // as in version 2
#else
#include <catch2/catch.hpp>
#endif
