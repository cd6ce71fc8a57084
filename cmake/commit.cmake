# Writes the commit of the sources as a C++ header, if it changed. Run in every build with -DSOURCE, -DHEADER and, for
# sources without git, -DCOMMIT; with -DTEXT it writes the file that a source archive takes along.
find_package(Git QUIET)
set(text "${COMMIT}")
if(text STREQUAL "" AND GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --exclude=* --abbrev=12 --dirty=\ with\ changes
    OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(text STREQUAL "" AND NOT EXISTS ${SOURCE}/.git AND EXISTS ${SOURCE}/cmake/commit.txt)
  file(READ ${SOURCE}/cmake/commit.txt text)
endif()
if(text STREQUAL "")
  set(text "unknown, built without git")
endif()
if(TEXT)
  file(WRITE ${TEXT} "${text}")
else()
  file(CONFIGURE OUTPUT ${HEADER} CONTENT "// Written by cmake/commit.cmake.\n#define KITH_COMMIT \"${text}\"\n")
endif()
