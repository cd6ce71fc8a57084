# Builds for arm64 on another machine (./dev static --arm64 and others): the compiler is Debian's, the libraries are
# Debian's packages of arm64, unpacked in build-arm64/sysroot, and an emulator runs what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;/usr/aarch64-linux-gnu)
get_filename_component(arm64_root ${CMAKE_CURRENT_LIST_DIR}/../build-arm64/sysroot ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${arm64_root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# Headers that differ from machine to machine are in a folder of their own; those of Python name it.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${arm64_root}/usr/include/aarch64-linux-gnu ${arm64_root}/usr/include)
# h5cc, by which CMake finds HDF5, would be that of this machine.
set(HDF5_C_COMPILER_EXECUTABLE HDF5_C_COMPILER_EXECUTABLE-NOTFOUND CACHE FILEPATH "")
set(HDF5_ROOT ${arm64_root}/usr/lib/aarch64-linux-gnu/hdf5/serial)
