# Compiler flags that the numeric contract requires, warnings and sanitizers.
add_library(kith_flags INTERFACE)
target_include_directories(kith_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_definitions(kith_flags INTERFACE KITH_VERSION="${PROJECT_VERSION}")

# No implicit contraction and no fast-math: every fma in kith is explicit (docs/contract.md, Build rules).
target_compile_options(kith_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-fno-math-errno;-Wall;-Wextra;-Wpedantic;-Wno-pedantic>)
# GCC 12 reports std::string::replace by mistake (GCC bug 105651).
target_compile_options(kith_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>>)
if(KITH_WERROR)
  target_compile_options(kith_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(KITH_SANITIZE)
  string(REPLACE "address" "address,undefined" _sanitizers "${KITH_SANITIZE}")
  target_compile_options(kith_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${_sanitizers};-fno-sanitize-recover=all;-fno-omit-frame-pointer;-g>)
  target_link_options(kith_flags INTERFACE -fsanitize=${_sanitizers})
endif()
if(KITH_FUZZ)
  target_compile_options(kith_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link;-Wno-unknown-pragmas>)
endif()
if(KITH_RELOCATABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
  target_compile_definitions(kith_flags INTERFACE FMT_HEADER_ONLY)
  # Not for the Python module: the libgcc of GCC 12 needs a later glibc than all else.
  target_link_options(kith_flags INTERFACE -static-libstdc++ -Wl,--as-needed
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static-libgcc>)
endif()
string(REGEX REPLACE "-O2|-O3" "" _release "${CMAKE_CXX_FLAGS_RELEASE}")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 ${_release}")
foreach(_flags CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE})
  if("${${_flags}}" MATCHES "fast-math|Ofast|unsafe-math")
    message(FATAL_ERROR "kith cannot be built with ${${_flags}}: its results are proven for IEEE arithmetic only. Remove the flag.")
  endif()
endforeach()
