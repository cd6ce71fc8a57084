"""Distances and graphs equal those of the packages that define them: python3 tests/project/references_test.py KITH.

SciPy: hamming and jaccard of bits, correlation. scikit-learn: haversine. umap-learn, scanpy and PhenoGraph: weights of
edges, and clusters of the graph. Cases whose package is missing are skipped.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
    import scipy.sparse
    from scipy.spatial.distance import cdist
except ImportError as missing:
    print(f'skipped: all cases: {missing.name} is missing (packages python3-numpy, python3-h5py and python3-scipy)')
    sys.exit(0)


def run(*words, output='out.h5'):
    subprocess.run([sys.argv[1], *map(str, words), '-q', '-f', '-o', output], check=True)
    return output


def read(file, *names):
    with h5py.File(file) as opened:
        return [opened[name][:] for name in names]


def require(what, difference, most):
    """difference: of numbers, or of matrices."""
    if not difference <= most:
        sys.exit(f'{what}: the largest difference is {difference}, expected at most {most}')


def graph_of(rows, points, k, metric, weights):
    """The weights as a sparse matrix."""
    file = run('knn', points, '-k', k, '--metric', metric, '--graph', '--weights', weights)
    return scipy.sparse.csr_matrix(tuple(read(file, 'weights', 'indices', 'indptr')), shape=(rows, rows))


def bits():
    random = numpy.random.default_rng(3)
    for count in (5, 8, 33, 100, 1000, 4096):
        rows = random.random((60, count)) < random.random((60, 1))
        rows[5] = rows[7] = False
        rows[6] = True
        numpy.save('packed.npy', numpy.packbits(rows, axis=1))
        numpy.save('columns.npy', rows)
        for metric in ('hamming', 'jaccard'):
            expected = cdist(rows, rows, metric)
            if metric == 'hamming':
                expected = numpy.rint(expected * count)
            for words in (['packed.npy', '--bits', count], ['columns.npy']):
                distances = read(run('distances', *words, '--metric', metric), 'distances')[0]
                if not numpy.array_equal(distances, expected.astype('float32')):
                    sys.exit(f'{words[0]}, {count} bits, {metric}: distances differ from those of SciPy')


def correlations():
    rows = numpy.random.default_rng(4).normal(size=(70, 33)) ** 3
    numpy.save('rows.npy', rows)
    distances = read(run('distances', 'rows.npy', '--metric', 'correlation'), 'distances')[0]
    require('correlation', abs(distances - cdist(rows, rows, 'correlation')).max(), 1e-14)


def places():
    from sklearn.neighbors import BallTree
    random = numpy.random.default_rng(5)
    degrees = numpy.column_stack([random.uniform(-90, 90, 500), random.uniform(-180, 180, 500)])
    degrees[:6] = [[90, 0], [90, 77], [-90, 5], [0, 180], [0, -180], [12, 12]]
    degrees[6:9] = degrees[20:23]
    numpy.save('places.npy', degrees)
    distances = read(run('knn', 'places.npy', '--metric', 'haversine', '-k', 9, '--include-self'), 'distances')[0]
    radians = numpy.radians(degrees)
    expected = BallTree(radians, metric='haversine').query(radians, 9)[0] * 6371.0088
    require('haversine, km', abs(distances - expected).max(), 1e-8)


def lists_of(rows, k):
    """Lists with the rows themselves, as umap-learn and scanpy have them. The distances are integers, so that these
    packages, which round to float32, have the same."""
    numpy.save('rows.npy', rows)
    neighbors, distances = read(run('knn', 'rows.npy', '-k', k, '--metric', 'manhattan'), 'neighbors', 'distances')
    return (numpy.column_stack([numpy.arange(len(rows)), neighbors]),
            numpy.column_stack([numpy.zeros(len(rows)), distances]))


def integers(rows=400):
    return numpy.random.default_rng(6).normal(size=(rows, 12), scale=40).round().astype('float32')


def fuzzy_sets():
    from umap.umap_ import fuzzy_simplicial_set
    rows = integers()
    rows[50:60] = rows[60]  # copies
    for k in (2, 14, 29):
        neighbors, distances = lists_of(rows, k)
        expected = fuzzy_simplicial_set(numpy.zeros((len(rows), 1)), k + 1, None, None, knn_indices=neighbors,
                                        knn_dists=distances)[0]
        found = graph_of(len(rows), 'rows.npy', k, 'manhattan', 'umap')
        require(f'umap, {k} neighbours', abs(found - expected).max(), 1e-6)


def shared_neighbors():
    from phenograph.core import neighbor_graph, parallel_jaccard_kernel
    rows = integers()
    for k in (2, 15, 30):
        neighbors = lists_of(rows, k)[0][:, 1:]
        directed = neighbor_graph(parallel_jaccard_kernel, {'idx': neighbors})
        found = graph_of(len(rows), 'rows.npy', k, 'manhattan', 'jaccard')
        require(f'jaccard, {k} neighbours', abs(found - (directed + directed.T) / 2).max(), 1e-6)


def cells():
    import warnings
    warnings.simplefilter('ignore')
    import scanpy
    from sklearn.metrics import adjusted_rand_score
    file = pathlib.Path(scanpy.__file__).parent / 'datasets' / '10x_pbmc68k_reduced.h5ad'
    cells = scanpy.read_h5ad(file)
    cells.obsp.clear()
    del cells.uns['neighbors']
    cells.write_h5ad('cells.h5ad')
    for metric, weights, most in (('euclidean', 'gaussian', 1e-6), ('correlation', 'gaussian', 1e-6),
                                  ('euclidean', 'umap', 2e-5), ('cosine', 'umap', 2e-4)):
        # scanpy rounds distances to float32 before it subtracts the smallest of them: 1e-5 of the weights of umap. Those
        # of cosine are 1 - cos, of which little is left.
        expected = cells.copy()
        scanpy.pp.neighbors(expected, n_neighbors=15, use_rep='X_pca', metric=metric,
                            method='gauss' if weights == 'gaussian' else weights)
        words = ['knn', 'cells.h5ad:X_pca', '-k', 14, '--metric', metric, '--graph', '--weights', weights,
                 '--write-obsp', 'neighbors']
        found = scanpy.read_h5ad(run(*words, '--threads', 1, output='one.h5ad'))
        run(*words, '--threads', 3, output='three.h5ad')
        if pathlib.Path('one.h5ad').read_bytes() != pathlib.Path('three.h5ad').read_bytes():
            sys.exit(f'{metric}, {weights}: the file depends on the threads')
        what = f'scanpy, {metric}, {weights}'
        require(what, abs(found.obsp['connectivities'] - expected.obsp['connectivities']).max(), most)
        require(what + ', distances', abs(found.obsp['distances'] - expected.obsp['distances']).max(), 1e-5)
        require(what + ', edges', abs(found.obsp['connectivities'].nnz - expected.obsp['connectivities'].nnz), 0)
        try:
            for data in (found, expected):
                scanpy.tl.leiden(data, flavor='igraph', n_iterations=2, directed=False)
        except ImportError as missing:
            print(f'skipped: clusters of Leiden: {missing.name} is missing')
            continue
        agreement = adjusted_rand_score(found.obs['leiden'], expected.obs['leiden'])
        require(what + ', clusters of Leiden, 1 less the adjusted Rand index', 1 - agreement, 0.05)


program = pathlib.Path(sys.argv[1]).resolve()
sys.argv[1] = str(program)
compared = []
with tempfile.TemporaryDirectory() as name:
    os.chdir(name)
    for case in (bits, correlations, places, fuzzy_sets, shared_neighbors, cells):
        try:
            case()
            compared.append(case.__name__)
        except ImportError as missing:
            print(f'skipped: {case.__name__}: the Python package {missing.name} is missing')
    os.chdir('/')
print('equal to the packages: ' + ', '.join(compared))
