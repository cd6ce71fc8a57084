// Loops over the calls of the system, which may send less than all or be interrupted.
#include "data/io/socket_message.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace kith::data {

bool send_all(int socket, const void* data, std::size_t size) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
  char* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = recv(socket, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool receive_text(int socket, std::uint64_t size, std::string& text) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  text.clear();
  while (text.size() < size) {
    const std::size_t at = text.size();
    text.resize(at + static_cast<std::size_t>(std::min(size - at, kStep)));
    if (!receive_all(socket, text.data() + at, text.size() - at)) return false;
  }
  return true;
}

bool send_sized(int socket, const std::string& text) {
  const std::uint64_t bytes = text.size();
  return send_all(socket, &bytes, sizeof bytes) && send_all(socket, text.data(), text.size());
}

bool receive_sized(int socket, std::string& text) {
  std::uint64_t bytes = 0;
  return receive_all(socket, &bytes, sizeof bytes) && receive_text(socket, bytes, text);
}

bool send_with(int socket, const void* data, std::size_t size, std::span<const int> descriptors) {
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size);
}

bool receive_with(int socket, void* data, std::size_t size, std::vector<int>& descriptors) {
  descriptors.clear();
  iovec part{data, size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    descriptors.resize((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(descriptors.data(), CMSG_DATA(header), descriptors.size() * sizeof(int));
  }
  return got == static_cast<ssize_t>(size);
}

}  // namespace kith::data
