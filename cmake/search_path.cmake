# Where programs search for shared libraries at run time (RUNPATH): in the folders that the build found outside of the
# system's, such as an environment of conda, as absolute paths. By default CMake appends empty elements to the RUNPATH in
# the build tree, so that a longer one fits in their place, and an empty element is the current folder: a program started in a folder
# of a stranger would load the stranger's libraries. So the build tree has the RUNPATH of the installed programs.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# Debian keeps links to HDF5 and MPI in folders of their own (hdf5/serial, openmpi/lib). The libraries themselves are
# where the system finds them, so that these folders need no RUNPATH.
foreach(library IN LISTS HDF5_C_LIBRARIES MPI_C_LIBRARIES)
  if(IS_ABSOLUTE "${library}" AND EXISTS "${library}")
    cmake_path(GET library PARENT_PATH folder)
    file(REAL_PATH "${library}" real)
    cmake_path(GET real PARENT_PATH real_folder)
    if(real_folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
      list(APPEND CMAKE_PLATFORM_IMPLICIT_LINK_DIRECTORIES "${folder}")
    endif()
  endif()
endforeach()
