// The C++ interface of kith: exact k-means and nearest neighbours, with the bytes of the command line.
#pragma once

#include <kith/cluster.h>    // IWYU pragma: export
#include <kith/device.h>     // IWYU pragma: export
#include <kith/error.h>      // IWYU pragma: export
#include <kith/model.h>      // IWYU pragma: export
#include <kith/neighbors.h>  // IWYU pragma: export
#include <kith/points.h>     // IWYU pragma: export
#include <kith/run.h>        // IWYU pragma: export
