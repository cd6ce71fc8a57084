// All operations of the CUDA backend, for points.cu. The CPU backend has files of the same names.
#pragma once

#include "kernels/cuda/assign/operations.h"
#include "kernels/cuda/screen/prepare.h"
#include "kernels/cuda/search/operations.h"
#include "kernels/cuda/seeding/operations.h"
#include "kernels/cuda/statistics/operations.h"
