// Lets one formula serve the host and the device: KITH_BOTH marks functions that nvcc compiles for both.
#pragma once

#ifdef __CUDACC__
#define KITH_BOTH __host__ __device__
#else
#define KITH_BOTH
#endif
