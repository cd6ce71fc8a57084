"""Runs the commands of recorded.txt and compares the bytes of their results with the recorded sums.

usage: recorded_test.py KITH SAMPLES RECORDED [--write]

A line of RECORDED is the start of a SHA-256 sum and a command. The sum is of the file that the command writes, of the
values of its datasets if that is HDF5, else of standard output. All commands run once for each backend that
`kith devices` calls usable; the sums are those of all backends. --write puts the sums of the CPU into RECORDED, for a
change that is meant to change results.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
except ImportError as missing:
    print(f'skipped: all cases: {missing.name} is missing (packages python3-numpy and python3-h5py)')
    sys.exit(0)

BACKEND_COMMANDS = {'cluster', 'assign', 'knn', 'dbscan', 'evaluate', 'sweep'}


def write_vectors(path, values):
    """Writes float32 rows in the format of vector search: their number, their columns, the values."""
    with open(path, 'wb') as file:
        file.write(numpy.array(values.shape, 'uint32').tobytes() + values.astype('float32').tobytes())


def sum_of(path):
    total = hashlib.sha256()

    def add(name, item):
        if isinstance(item, h5py.Dataset):
            values = item[()]
            total.update(f'{name} {item.dtype} {item.shape}'.encode())
            total.update(repr(values).encode() if item.dtype.kind == 'O' else values.tobytes())

    if h5py.is_hdf5(path):
        with h5py.File(path, 'r') as file:
            file.visititems(add)
    else:
        with open(path, 'rb') as file:
            total.update(file.read())
    return total.hexdigest()[:20]


def run_all(kith, samples, commands, backend):
    """The sums of the commands, in a folder of its own; 'failed' for one that ends with another code than 0."""
    sums = []
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(samples, os.path.join(folder, 'S'))
        queries = (numpy.arange(30 * 128) * 7919 % 1009 / 50).reshape(30, 128)
        write_vectors(os.path.join(folder, 'wide-queries.fbin'), queries)
        for command in commands:
            words = command.split()
            output = words[1] if words[0] == 'generate' else None
            if '-o' in words:
                output = words[words.index('-o') + 1]
            if words[0] in BACKEND_COMMANDS:
                words += ['--backend', backend]
            if output:
                words.append('-q')
            with open(os.path.join(folder, 'stdout'), 'wb') as stdout:
                run = subprocess.run([kith, *words], cwd=folder, stdout=stdout, stderr=subprocess.PIPE)
            if run.returncode != 0:
                print(f'{backend}: exit code {run.returncode}: kith {command}\n{run.stderr.decode()}')
            sums.append('failed' if run.returncode != 0 else sum_of(os.path.join(folder, output or 'stdout')))
            if output == 'many.h5':  # also in a format of vector search
                with h5py.File(os.path.join(folder, output), 'r') as file:
                    write_vectors(os.path.join(folder, 'many.fbin'), file['points'][()])
    return sums


def main():
    kith, samples, recorded = (os.path.abspath(path) for path in sys.argv[1:4])
    with open(recorded, encoding='utf-8') as file:
        expected, commands = zip(*(line.split(' ', 1) for line in file.read().splitlines()))
    if sys.argv[4:] == ['--write']:
        sums = run_all(kith, samples, commands, 'cpu')
        with open(recorded, 'w', encoding='utf-8') as file:
            file.writelines(f'{total} {command}\n' for total, command in zip(sums, commands))
        return 0
    devices = json.loads(subprocess.run([kith, 'devices', '--json'], stdout=subprocess.PIPE, check=True).stdout)
    backends = sorted({backend['name'] for backend in devices['backends'] if backend['usable']})
    different = 0
    for backend in backends:
        for command, wanted, found in zip(commands, expected, run_all(kith, samples, commands, backend)):
            if wanted != found:
                print(f'{backend}: another result: kith {command}')
                different += 1
    print(f'{len(commands)} commands on {", ".join(backends)}: {different} results differ')
    return 1 if different else 0


sys.exit(main())
