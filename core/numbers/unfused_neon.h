// Multiply-adds of Eigen on arm64, before any of its headers: rounded twice, as on x86-64, so that sums of products
// have the same bits. Those of doubles, of which Eigen 3.4 uses these three (src/Core/arch/NEON).
#pragma once

#ifdef __aarch64__
#include <arm_neon.h>
#define vfmaq_f64(sum, a, b) vaddq_f64(sum, vmulq_f64(a, b))
#define vfmaq_n_f64(sum, a, b) vaddq_f64(sum, vmulq_n_f64(a, b))
#define vfmaq_laneq_f64(sum, a, b, lane) vaddq_f64(sum, vmulq_laneq_f64(a, b, lane))
#endif
