// The exit code of a run that lacks memory, beside those of core/error.h.
#pragma once

#include "core/error.h"

namespace kith {

/// Memory of the host or of a GPU does not suffice, or a limit does not allow it: the same run can succeed with more.
inline constexpr ExitCode kNoMemory = ExitCode{6};

}  // namespace kith
