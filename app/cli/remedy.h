// What a user can do about an error from core/, which knows no options.
#pragma once

#include <string>

#include "core/error.h"

namespace kith::app {

/// The message of the error, followed by the options that help where its cause has some.
std::string message_with_remedy(const Error& error);

}  // namespace kith::app
