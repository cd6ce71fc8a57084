// Weights of the edges of a graph of neighbours: how alike two rows are, from 0 to 1. docs/contract.md, Weights of
// edges.
//
// jaccard   shared neighbours: J. H. Levine et al.: Data-Driven Phenotypic Dissection of AML (2015), PhenoGraph
// gaussian  a kernel whose width is the distance of the neighbours of both rows: R. R. Coifman et al.: Geometric
//           diffusions as a tool for harmonic analysis (2005); as scanpy's method "gauss"
// umap      the fuzzy simplicial set of L. McInnes, J. Healy, J. Melville: UMAP (2018); as scanpy's method "umap"
//
// Everything is float64 in a fixed order. The exponential and the logarithm are computed here, from additions and
// products alone, so that weights have the same bits on every machine.
#pragma once

#include <span>

#include "core/neighbors/graph.h"

namespace kith {

class Threads;

enum class EdgeWeight { jaccard, gaussian, umap };
inline constexpr EdgeWeight kEdgeWeights[] = {EdgeWeight::jaccard, EdgeWeight::gaussian, EdgeWeight::umap};
const char* name_of(EdgeWeight weight);

/// exp(x) for x <= 0, within one unit in the last place where it is at least 2^-1022.
double exponential(double x);
/// The logarithm of x >= 1 to the base 2, within 2^-50 of it, and exact for powers of two.
double binary_logarithm(double x);

/// The symmetric graph of lists of neighbours, all of one length and without the row itself, with
/// NeighborGraph::weight. Edges of weight 0 are left out. distances: those of the edges of `lists`, as they are shown.
NeighborGraph with_weights(const NeighborGraph& lists, std::span<const double> distances, EdgeWeight weight,
                           Threads& threads);

}  // namespace kith
