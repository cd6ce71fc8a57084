# Debian packages (./dev package): kith and, where MPI was found, kith-mpi. They depend on the libraries of the
# distribution on which they are built.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kith)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The authors of kith <kith@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL kith)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_KITH_PACKAGE_NAME kith)
set(CPACK_COMPONENT_KITH_DESCRIPTION "exact k-means and nearest neighbours, from files to files
kith clusters data sets and finds nearest neighbours in HDF5, NumPy, CSV and
vector files. Results are exact, and the same bytes on every processor, with
any number of threads.")
if(MPI_C_FOUND)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME kith-mpi)
  set(CPACK_COMPONENT_MPI_DESCRIPTION "kith in several processes, on one host or many
kith-mpi runs the commands of kith in the processes that mpirun or srun
starts, with the same bytes as one process.")
endif()

# What Debian expects of a package: its license by reference, a changelog in Debian's form, what changed for users.
set(debian ${PROJECT_BINARY_DIR}/debian)
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(cmake/debian-changelog.in ${debian}/changelog @ONLY)
find_program(KITH_GZIP gzip)
if(KITH_GZIP)
  execute_process(COMMAND ${KITH_GZIP} -9nc ${debian}/changelog OUTPUT_FILE ${debian}/changelog.gz)
  execute_process(COMMAND ${KITH_GZIP} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${debian}/NEWS.gz)
  foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} key)
    set(folder share/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME})
    install(FILES cmake/debian-copyright DESTINATION ${folder} RENAME copyright COMPONENT ${component})
    install(FILES ${debian}/changelog.gz ${debian}/NEWS.gz DESTINATION ${folder} COMPONENT ${component})
  endforeach()
endif()
include(CPack)
