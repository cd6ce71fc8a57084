// The page of kith --version --verbose.
#pragma once

#include <string>

namespace kith::app {

/// Version, commit, compiler, libraries, instruction sets and GPU architectures that this program was built with.
std::string version_page();
/// The commit that this program was built from.
std::string commit();
std::string hdf5_version();
/// Empty if it was built without CUDA.
std::string cuda_version();

}  // namespace kith::app
