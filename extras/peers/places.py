#!/usr/bin/env python3
"""Compares neighbours of places with scikit-learn's BallTree(metric="haversine"): rows, distances in km, and seconds.

    pip install numpy h5py scikit-learn
    places.py --kith build/kith
    places.py --kith build/kith --rows 10000000 --repeat 1 --peers none

Places are half uniform on the sphere and half near 1000 cities, with poles, antipodes, copies and both sides of the line
of the date among them. Columns of the table: rows; k; seconds of kith for places (the whole process, from .npy to
HDF5), for three columns of float64 in the same way, and of BallTree for the same lists, building included; the share of
lists whose distances differ by more than 1e-9 km; and the largest difference in km. Places that are equally far may be
listed in another order; then their distances do not differ.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np

from measuring import median_ms, kith_report

EARTH_KM = 6371.0088


def places(rows, seed=0):
    """(rows, 2) latitude and longitude in degrees."""
    random = np.random.default_rng(seed)
    uniform = rows // 2
    latitude = np.degrees(np.arcsin(random.uniform(-1, 1, uniform)))
    longitude = random.uniform(-180, 180, uniform)
    cities = np.column_stack([random.uniform(-60, 70, 1000), random.uniform(-180, 180, 1000)])
    near = cities[random.integers(1000, size=rows - uniform)] + random.normal(0, 0.1, (rows - uniform, 2))
    near[:, 1] = (near[:, 1] + 180) % 360 - 180
    all_places = np.concatenate([np.column_stack([latitude, longitude]), near]).round(6)
    all_places[:6] = [[90, 0], [90, 77], [-90, 5], [0, 180], [0, -180], [0, 0]]
    all_places[6:12] = all_places[100:106]
    all_places[12:18] = all_places[200:206] * [-1, 1] + [0, 180]
    all_places[12:18, 1] = (all_places[12:18, 1] + 180) % 360 - 180
    return all_places[random.permutation(rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", default="kith", help="the program")
    parser.add_argument("--rows", default="10000,100000,1000000", help="numbers of places")
    parser.add_argument("-k", type=int, default=10, help="neighbours")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, after one that is not counted")
    parser.add_argument("--peers", default="scikit-learn", choices=["scikit-learn", "none"])
    options = parser.parse_args()
    kith = str(pathlib.Path(options.kith).resolve()) if pathlib.Path(options.kith).exists() else options.kith
    print("| rows | k | kith, places, s | kith, three columns, s | BallTree, s | lists that differ | largest, km |\n"
          "|---|---|---|---|---|---|---|")
    for rows in map(int, options.rows.split(",")):
        degrees = places(rows)
        latitude, longitude = np.radians(degrees).T
        points = np.column_stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude),
                                  np.sin(latitude)])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            np.save(folder / "places.npy", degrees)
            np.save(folder / "points.npy", points)

            def search(points_file, *metric):
                kith_report(kith, "knn", folder / points_file, "-k", options.k, *metric, "-f", "-o", folder / "out.h5")

            of_points = median_ms(lambda: search("points.npy"), options.repeat) / 1e3
            ours = median_ms(lambda: search("places.npy", "--metric", "haversine"), options.repeat) / 1e3
            cells = ["", "", ""]
            if options.peers != "none":
                import h5py
                from sklearn.neighbors import BallTree
                with h5py.File(folder / "out.h5") as file:
                    distances = file["distances"][:]
                radians = np.radians(degrees)
                found = {}

                def tree():
                    # One more: the place itself is in its list, at the distance 0.
                    found["km"] = BallTree(radians, metric="haversine").query(radians, options.k + 1)[0] * EARTH_KM

                theirs = median_ms(tree, 1 if rows > 200_000 else options.repeat) / 1e3
                difference = np.abs(found["km"][:, 1:] - distances)
                cells = [f"{theirs:.3g}", f"{(difference.max(axis=1) > 1e-9).sum()} of {rows}", f"{difference.max():.2g}"]
            print(f"| {rows} | {options.k} | {ours:.3g} | {of_points:.3g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
