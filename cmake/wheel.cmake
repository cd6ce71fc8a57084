# The wheel (pyproject.toml): the programs among the scripts, their pages where man finds them. With KITH_BUILT both are
# taken from a finished build, so that the test of packages (./dev package-test) compiles nothing again; the module
# too, if that has it.
if(KITH_BUILT)
  add_custom_target(kith)
  add_custom_target(kith-bench)
  add_custom_target(manual)
  add_custom_target(_native)
  set(programs ${KITH_BUILT}/static)  # which need no library, if they were built
  if(NOT EXISTS ${programs}/kith-bench)
    set(programs ${KITH_BUILT})
  endif()
  install(PROGRAMS ${programs}/kith ${programs}/kith-bench DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
  file(GLOB one_version ${KITH_BUILT}/python/kith/_native.cpython-*.so)
  if(SKBUILD_SABI_VERSION AND one_version)
    message(FATAL_ERROR "expected a module for Python ${SKBUILD_SABI_VERSION} and all later ones, found ${one_version}; "
      "remove it and build the target _native again")
  endif()
  install(DIRECTORY ${KITH_BUILT}/python/kith/ DESTINATION kith COMPONENT wheel FILES_MATCHING PATTERN "_native*.so")
  set(manual ${KITH_BUILT}/man)
else()
  install(TARGETS kith kith-bench RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
  set(manual ${PROJECT_BINARY_DIR}/man)
endif()
install(DIRECTORY ${manual}/ DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1 COMPONENT wheel
  FILES_MATCHING PATTERN "*.1.gz" PATTERN "kith-mpi.1.gz" EXCLUDE)
