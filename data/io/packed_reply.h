// Replies of other processes: what a function packs, or the error that it throws.
#pragma once

#include <functional>
#include <string>

#include "data/io/packed.h"

namespace kith::data {

/// The bytes that compute() packs, or the error that it throws, behind a mark that says which.
std::string packed_reply(const std::function<void(Packer&)>& compute);

/// The bytes that compute() packed. Throws the error that the reply holds: one about memory with this message, others
/// as they are. Throws UnpackError if the bytes are no reply.
std::string unpacked_reply(std::string reply, const std::string& no_memory);

}  // namespace kith::data
