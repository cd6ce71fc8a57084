// The program kith-arrow: serves the connections of kith (arrow/arrow_calls.h) with Arrow C++.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "data/arrow/arrow_calls.h"
#include "data/arrow/arrow_file.h"
#include "data/arrow/arrow_source.h"
#include "data/io/child_process.h"
#include "data/io/memory_limit.h"
#include "data/io/packed.h"

namespace kith::data {
namespace {

/// Ends the program if one call takes more time of the processor.
void limit_time(std::int64_t seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(std::clamp<std::int64_t>(seconds, 1, 1 << 30));
  setitimer(ITIMER_PROF, &timer, nullptr);
}

/// The memory that a connection shares with kith.
class SharedMemory {
 public:
  explicit SharedMemory(Descriptor file) : file_(std::move(file)) {}
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() {
    if (bytes_ > 0) munmap(at_, bytes_);
  }
  /// Its bytes at .. at + count - 1. Throws UnpackError if it is shorter.
  std::byte* part(std::int64_t at, std::int64_t count) {
    struct stat status {};
    if (fstat(file_.get(), &status) != 0 || at < 0 || count < 0 || count > status.st_size - at) throw UnpackError();
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size != bytes_) {
      if (bytes_ > 0) munmap(at_, bytes_);
      bytes_ = 0;
      at_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
      if (at_ == MAP_FAILED) throw std::bad_alloc();
      bytes_ = size;
    }
    return static_cast<std::byte*>(at_) + at;
  }

 private:
  Descriptor file_;
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
};

class Connection {
 public:
  Connection(Descriptor socket, Descriptor shared, Descriptor input)
      : socket_(std::move(socket)), shared_(std::move(shared)), has_input_(input), input_(std::move(input)) {}

  void serve() {
    std::string request;
    while (receive_sized(socket_.get(), request)) {
      const std::string reply = packed_reply([&](Packer& out) { answer(request, out); });
      if (!send_sized(socket_.get(), reply)) return;
    }
  }

 private:
  void answer(const std::string& request, Packer& reply) {
    Unpacker in(request);
    const auto call = in.take<ArrowCall>();
    const auto limits = in.take<ArrowLimits>();
    if (limits.memory != requested_memory()) set_memory_limit(limits.memory);
    limit_time(limits.seconds);
    switch (call) {
      case ArrowCall::describe:
        return reply(description_of(table(in.take<std::string>())));
      case ArrowCall::open_rows: {
        const auto name = in.take<std::string>();
        rows_ = in.take<ArrowRows>();
        reader_ = open_arrow_rows(table(name), rows_);
        return reply(reader_->opened());
      }
      case ArrowCall::read_rows:
        return reply(rows_.are_wide ? read<double>(in) : read<float>(in));
      case ArrowCall::find_lists:
        if (!reader_) break;
        return reply(reader_->stretches(in.take<std::int64_t>()));
      case ArrowCall::read_lists: {
        if (!reader_) break;
        const auto [first, rows, out] = place(in, reader_->list_bytes());
        return reply(reader_->read_lists(first, rows, out));
      }
      case ArrowCall::read_texts: {
        const ArrowTable opened = table(in.take<std::string>());
        const auto field = in.take<std::int64_t>(), part = in.take<std::int64_t>();
        if (field < 0 || field >= opened.file->schema().num_fields() || part < 0 || part >= opened.file->parts()) break;
        return reply(field_texts(*opened.file, static_cast<int>(field), part));
      }
      case ArrowCall::begin_table: {
        const auto form = in.take<ArrowTableForm>();
        writer_.emplace(form, has_input_ ? table(form.name).file : nullptr);
        return reply(writer_->take_bytes());
      }
      case ArrowCall::append_rows: {
        const auto rows = in.take<std::int64_t>();
        if (!writer_) break;
        writer_->append(rows, in.take<std::vector<ArrowColumnValues>>());
        return reply(writer_->take_bytes());
      }
      case ArrowCall::finish_table:
        if (!writer_) break;
        writer_->finish();
        return reply(writer_->take_bytes());
    }
    throw UnpackError();
  }

  /// The input, which is opened once.
  ArrowTable table(const std::string& name) {
    if (!table_.file) {
      if (!input_) throw UnpackError();
      table_ = open_arrow_table(InputBytes::stored(name, std::move(input_)));
    }
    return table_;
  }

  struct Place {
    std::int64_t first, rows;
    std::byte* out;
  };
  /// The rows that are asked for, and where they are to go.
  Place place(Unpacker& in, std::int64_t row_bytes) {
    const auto first = in.take<std::int64_t>(), rows = in.take<std::int64_t>(), at = in.take<std::int64_t>();
    const std::int64_t most = std::int64_t{1} << 42;
    if (rows < 1 || rows > most / row_bytes) throw UnpackError();
    return {first, rows, shared_.part(at, rows * row_bytes)};
  }

  template <class T>
  std::int64_t read(Unpacker& in) {
    if (!reader_) throw UnpackError();
    const std::int64_t columns = std::max<std::int64_t>(reader_->columns(), 1);
    const auto [first, rows, out] = place(in, columns * std::int64_t{sizeof(T)});
    if (reinterpret_cast<std::uintptr_t>(out) % sizeof(T) != 0) throw UnpackError();
    return reader_->read(first, MatrixView<T>{reinterpret_cast<T*>(out), rows, columns});
  }

  Descriptor socket_;
  SharedMemory shared_;
  bool has_input_;
  Descriptor input_;  // until it is opened
  ArrowTable table_;
  ArrowRows rows_;
  std::unique_ptr<ArrowReader> reader_;
  std::optional<ArrowWriter> writer_;
};

/// What a damaged file must not reach: other files cannot be written, and no core is.
void give_up_rights() {
  for (const auto resource : {RLIMIT_FSIZE, RLIMIT_CORE}) {
    const rlimit none{0, 0};
    setrlimit(resource, &none);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int serve() {
  give_up_rights();
  ArrowGreeting greeting;
  std::vector<int> files;
  while (receive_with(kArrowSocket, &greeting, sizeof greeting, files)) {
    const std::size_t expected = greeting.has_input ? 3 : 2;
    if (greeting.protocol != kArrowProtocol || files.size() != expected) return 1;
    auto connection = std::make_unique<Connection>(Descriptor(files[0]), Descriptor(files[1]),
                                                   Descriptor(greeting.has_input ? files[2] : -1));
    std::thread([connection = std::move(connection)] { connection->serve(); }).detach();
  }
  return 0;
}

}  // namespace
}  // namespace kith::data

int main() {
  struct stat status {};
  if (fstat(kith::data::kArrowSocket, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    std::fputs("kith-arrow: kith starts this program to read and write Parquet and Arrow files; run kith\n", stderr);
    return 2;
  }
  const int code = kith::data::serve();
  std::fflush(nullptr);
  _exit(code);  // threads that still work have nobody to answer
}
