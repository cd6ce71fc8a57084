// The main function of the tests where Catch2 version 2 does not bring one.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
