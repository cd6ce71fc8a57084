// Packs results and errors, and throws the errors again.
#include "data/io/packed.h"

#include <exception>
#include <new>

#include "core/error.h"

namespace kith::data {
namespace {

/// What the bytes of a reply begin with.
enum class ReplyStatus : std::uint8_t { done, error, no_memory, other };
constexpr ReplyStatus last_value(ReplyStatus) { return ReplyStatus::other; }

}  // namespace

std::string packed_reply(const std::function<void(Packer&)>& compute) {
  Packer reply;
  try {
    reply(ReplyStatus::done);
    compute(reply);
    return reply.take();
  } catch (const Error& error) {
    reply = {};
    reply(ReplyStatus::error, static_cast<std::uint8_t>(error.code()), std::string(error.what()));
  } catch (const std::bad_alloc&) {
    reply = {};
    reply(ReplyStatus::no_memory);
  } catch (const std::exception& error) {
    reply = {};
    reply(ReplyStatus::other, std::string(error.what()));
  }
  return reply.take();
}

std::string unpacked_reply(std::string reply, const std::string& no_memory, const std::function<void()>& refuse) {
  try {
    Unpacker in(reply);
    const auto status = in.take<ReplyStatus>();
    if (status == ReplyStatus::done) return reply.substr(sizeof(ReplyStatus));
    if (status == ReplyStatus::no_memory) throw Error(ExitCode::memory, no_memory);
    const auto code = status == ReplyStatus::error ? ExitCode{in.take<std::uint8_t>()} : ExitCode::internal;
    if (code < ExitCode::internal || code > ExitCode::memory) throw UnpackError();
    throw Error(code, in.take<std::string>());
  } catch (const UnpackError&) {
    refuse();
    throw;
  }
}

}  // namespace kith::data
