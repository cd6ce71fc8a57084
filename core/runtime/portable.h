// KITH_BOTH marks functions that nvcc compiles for the host and the device.
#pragma once

#ifdef __CUDACC__
#define KITH_BOTH __host__ __device__
#else
#define KITH_BOTH
#endif
