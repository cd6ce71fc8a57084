# The wheel (pyproject.toml): the program among the scripts, its pages where man finds them. With KITH_BUILT both are
# taken from a finished build, so that the test of packages (./dev package-test) compiles nothing again.
if(KITH_BUILT)
  add_custom_target(kith)
  add_custom_target(manual)
  install(PROGRAMS ${KITH_BUILT}/kith DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
  set(manual ${KITH_BUILT}/man)
else()
  install(TARGETS kith RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
endif()
install(DIRECTORY ${manual}/ DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1 COMPONENT wheel
  FILES_MATCHING PATTERN "*.1.gz" PATTERN "kith-mpi.1.gz" EXCLUDE)
