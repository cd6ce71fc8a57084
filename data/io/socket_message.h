// Messages over the sockets between processes: bytes of a known number, and open files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kith::data {

// All return false if the other process has closed its end.

bool send_all(int socket, const void* data, std::size_t size);
bool receive_all(int socket, void* data, std::size_t size);
/// Receives as much as really arrives, so that a wrong size cannot take memory.
bool receive_text(int socket, std::uint64_t size, std::string& text);

/// The number of its bytes, and a text.
bool send_sized(int socket, const std::string& text);
bool receive_sized(int socket, std::string& text);

constexpr std::size_t kMostDescriptors = 3;  // of a message

/// Sends a message with open files, at most kMostDescriptors. The socket keeps the borders of messages.
bool send_with(int socket, const void* data, std::size_t size, std::span<const int> descriptors);
/// Receives a message of this size, and the files that came with it.
bool receive_with(int socket, void* data, std::size_t size, std::vector<int>& descriptors);

}  // namespace kith::data
