// The main function of the tests with Catch2 version 2.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
