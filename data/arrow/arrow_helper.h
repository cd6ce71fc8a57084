// The program kith-arrow as kith uses it: whether it is there, and connections to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "data/arrow/arrow_calls.h"
#include "data/io/input_bytes.h"
#include "data/io/packed.h"
#include "data/io/temporary_file.h"

namespace kith::data {

/// The program's file, beside this program or on PATH; empty if there is none.
std::string arrow_program();
/// Throws Error(usage): `what` ("x.parquet: a Parquet file") needs the program, which is missing; how to get it.
[[noreturn]] void refuse_without_arrow(const std::string& what);

/// A connection. Calls of one connection come one after another; several connections work at the same time. Errors of
/// the program are rethrown; its death and wrong replies are errors of the file.
class ArrowConnection {
 public:
  /// Starts the program at the first use. input: null: none. Throws Error(internal) if it cannot be started.
  ArrowConnection(std::string name, const InputBytes* input);
  ~ArrowConnection();
  ArrowConnection(const ArrowConnection&) = delete;
  ArrowConnection& operator=(const ArrowConnection&) = delete;

  const std::string& name() const { return name_; }
  /// Makes a call that handles about this many bytes.
  template <class Result, class... Arguments>
  Result call(ArrowCall call, std::int64_t bytes, const Arguments&... arguments) {
    send(call, bytes, arguments...);
    return receive<Result>();
  }
  /// The same in two steps: replies come in the order of the requests.
  template <class... Arguments>
  void send(ArrowCall call, std::int64_t bytes, const Arguments&... arguments) {
    Packer request;
    request(call, limits_for(bytes), arguments...);
    send_request(request.bytes());
  }
  template <class Result>
  Result receive() {
    return unpacked<Result>(receive_reply(), [this] { refuse_reply(); });
  }
  /// Memory that both processes share, at least so many bytes of it. Throws Error(memory).
  std::span<std::byte> shared(std::int64_t bytes);
  [[noreturn]] void refuse_reply() const;

 private:
  ArrowLimits limits_for(std::int64_t bytes) const;
  void send_request(const std::string& request);
  std::string receive_reply();
  [[noreturn]] void refuse_death() const;

  std::string name_;
  std::int64_t input_bytes_ = 0;
  Descriptor socket_, memory_;
  std::span<std::byte> mapped_;
};

}  // namespace kith::data
