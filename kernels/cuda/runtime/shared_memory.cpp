// Asks the driver which devices reach each other, and connects them.
#include "kernels/cuda/runtime/shared_memory.h"

namespace kith::cuda {

bool make_peers(std::span<const int> devices) {
  for (const int from : devices) {
    for (const int to : devices) {
      int can = 1;
      if (from != to) check(cudaDeviceCanAccessPeer(&can, from, to));
      if (can == 0) return false;
    }
  }
  for (const int from : devices) {
    check(cudaSetDevice(from));
    for (const int to : devices) {
      if (from == to) continue;
      const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError();  // clears the error, so that a later call does not report it
      } else if (status == cudaErrorTooManyPeers) {
        (void)cudaGetLastError();
        return false;
      } else {
        check(status);
      }
    }
  }
  return true;
}

}  // namespace kith::cuda
