# Debian packages (./dev package), kith and, where MPI was found, kith-mpi, depend on the libraries of the distribution
# on which they are built; with CUDA they are kith-cuda and kith-mpi-cuda.
set(CPACK_PACKAGE_NAME kith)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The authors of kith <kith@example.org>")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL kith)
set(CPACK_COMPONENT_KITH_DESCRIPTION "exact k-means and nearest neighbours, from files to files
kith clusters data sets and finds nearest neighbours in HDF5, NumPy, CSV and
vector files. Results are exact, and the same bytes on every processor, with
any number of threads.")
set(CPACK_COMPONENT_MPI_DESCRIPTION "kith in several processes, on one host or many
kith-mpi runs the commands of kith in the processes that mpirun or srun
starts, with the same bytes as one process.")

# What the examples of the README read.
set(documents share/doc/kith)
if(KITH_HAS_CUDA)
  set(documents share/doc/kith-cuda)
endif()
install(FILES samples/digits.h5 samples/README.md DESTINATION ${documents}/examples COMPONENT kith)

if(NOT KITH_RELOCATABLE)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_KITH_PACKAGE_NAME kith)
  if(MPI_C_FOUND)
    list(APPEND CPACK_COMPONENTS_ALL mpi)
    set(CPACK_DEBIAN_MPI_PACKAGE_NAME kith-mpi)
    set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "kith, openmpi-bin")  # manual pages, mpirun
  endif()
  if(TARGET kith-arrow)
    list(APPEND CPACK_COMPONENTS_ALL arrow)
    set(CPACK_DEBIAN_ARROW_PACKAGE_NAME kith-arrow)
    set(CPACK_COMPONENT_ARROW_DESCRIPTION "Parquet and Arrow files for kith
kith-arrow is the program that kith starts to read and write Parquet and Arrow
files. It contains the libraries of Arrow C++, which Debian does not have.")
    set(CPACK_DEBIAN_ARROW_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${KITH_ARROW_FOLDER})
    set(CPACK_DEBIAN_KITH_PACKAGE_SUGGESTS kith-arrow)
  endif()
  # What Debian expects of a package: its license by reference, a changelog in Debian's form, what changed for users.
  set(debian ${PROJECT_BINARY_DIR}/debian)
  string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
  find_program(KITH_GZIP gzip)
  foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} key)
    set(name ${CPACK_DEBIAN_${key}_PACKAGE_NAME})
    if(KITH_HAS_CUDA)  # it takes the place of the one without
      foreach(field CONFLICTS REPLACES PROVIDES)
        set(CPACK_DEBIAN_${key}_PACKAGE_${field} ${name})
      endforeach()
      string(APPEND name -cuda)
      set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
    endif()
    if(KITH_GZIP)
      configure_file(cmake/debian-changelog.in ${debian}/${name}/changelog @ONLY)
      execute_process(COMMAND ${KITH_GZIP} -9n INPUT_FILE ${debian}/${name}/changelog
        OUTPUT_FILE ${debian}/${name}/changelog.gz)
      execute_process(COMMAND ${KITH_GZIP} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${debian}/${name}/NEWS.gz)
      install(FILES ${debian}/${name}/changelog.gz ${debian}/${name}/NEWS.gz DESTINATION share/doc/${name}
        COMPONENT ${component})
    endif()
    install(FILES cmake/debian-copyright DESTINATION share/doc/${name} RENAME copyright COMPONENT ${component})
  endforeach()
endif()
include(CPack)
