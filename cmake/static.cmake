# static/kith and static/kith-bench (target `portable`, ./dev static): each is one file that needs no library of the
# system, not even glibc's, and so runs in an empty container and on every distribution. They are linked from the objects
# of kith and kith-bench in a second. With CUDA, whose driver is a shared library, KITH_RELOCATABLE takes their place.
# Beside each program is a map of what was linked, of which packaging/sbom.py makes the list of components.
add_custom_target(portable)
add_dependencies(portable manual)
function(kith_map target)
  target_link_options(${target} PRIVATE -Wl,-Map=$<TARGET_FILE:${target}>.map)
endfunction()

# The libraries of the system as files of code; Debian has no libfmt.a, for which app/static/fmt.cpp stands.
function(kith_static_libraries result)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(names "hdf5_serial|hdf5" sz aec png jpeg z)  # static HDF5 needs libaec
  if(ZSTD_LIBRARY)
    list(APPEND names zstd)
  endif()
  set(libraries "")
  foreach(choice IN LISTS names)
    string(REPLACE "|" ";" choice "${choice}")
    list(GET choice 0 name)
    find_library(KITH_STATIC_${name} NAMES ${choice})
    if(NOT KITH_STATIC_${name})
      message(STATUS "The programs of one file cannot be linked: lib${name}.a was not found")
      return()
    endif()
    list(APPEND libraries ${KITH_STATIC_${name}})
  endforeach()
  set(${result} ${libraries} PARENT_SCOPE)
endfunction()

function(kith_static program)  # program libraries...: static/program
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE own)
  add_executable(${program}-static EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${program}> $<TARGET_OBJECTS:kith_fmt>)
  # HDF5 can load filters with dlopen(), of which the linker warns; kith has turned that off (data/hdf5/hdf5_file.cpp).
  target_link_options(${program}-static PRIVATE -static-pie -s)
  target_link_libraries(${program}-static PRIVATE -Wl,--start-group ${own} ${libraries} -Wl,--end-group)
  add_dependencies(${program}-static ${ARGN})
  set_target_properties(${program}-static PROPERTIES OUTPUT_NAME ${program} LINK_DEPENDS "${own}"
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/static)
  kith_map(${program}-static)
  add_dependencies(portable ${program}-static)
endfunction()

if(KITH_RELOCATABLE AND KITH_HAS_CUDA)
  foreach(program kith kith-bench)
    kith_map(${program})
    add_dependencies(portable ${program})
  endforeach()
elseif(NOT KITH_HAS_CUDA AND NOT KITH_SANITIZE)
  kith_static_libraries(libraries)
  if(libraries)
    set(parts kith_app kith_kernels kith_cpu kith_cuda kith_pictures kith_data kith_core)
    kith_static(kith ${parts})
    kith_static(kith-bench ${parts} kith_bench kith_ladders)
  endif()
endif()
