"""Distances of rows of bits are those of scipy.spatial.distance: python3 tests/project/bits_test.py KITH."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
    from scipy.spatial.distance import cdist
except ImportError as missing:
    print(f'skipped: all cases: {missing.name} is missing (packages python3-numpy, python3-h5py and python3-scipy)')
    sys.exit(0)

random = numpy.random.default_rng(3)
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for bits in (5, 8, 33, 100, 1000, 4096):
        rows = random.random((60, bits)) < random.random((60, 1))
        rows[5] = rows[7] = False
        rows[6] = True
        numpy.save(folder / 'packed.npy', numpy.packbits(rows, axis=1))
        numpy.save(folder / 'columns.npy', rows)
        for metric in ('hamming', 'jaccard'):
            expected = cdist(rows, rows, metric)
            if metric == 'hamming':
                expected = numpy.rint(expected * bits)
            for words in (['packed.npy', '--bits', str(bits)], ['columns.npy']):
                subprocess.run([sys.argv[1], 'distances', *words, '--metric', metric, '-q', '-f', '-o', 'distances.h5'],
                               check=True, cwd=folder)
                with h5py.File(folder / 'distances.h5') as file:
                    if not numpy.array_equal(file['distances'][:], expected.astype('float32')):
                        sys.exit(f'{words[0]}, {bits} bits, {metric}: distances differ from those of SciPy')
print('distances of rows of bits equal those of SciPy')
