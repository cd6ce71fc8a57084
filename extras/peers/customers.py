#!/usr/bin/env python3
"""From a table of customers to clusters that are explained, and labels for new customers: whole processes.

    pip install numpy pandas scikit-learn duckdb

    customers.py --kith build/kith [--rows 100000] [--folder FOLDER]

The table is as a spreadsheet exports it: semicolons, decimal commas, amounts in euros, dates, ja and nein, a column of
words, gaps that are empty, "-" or "k.A.". Each program clusters it (k = 3), says what the clusters are in the units of
the file, and labels other customers, of whom some have a city that the table lacks. Printed are the seconds of the
whole process, the lines that the job takes, and how many rows have the cluster of their group (the best of all ways to
name three clusters). Seconds of the processor depend less on what else runs. DuckDB has no k-means: it is the reader in
front of scikit-learn, and the profile behind it.
"""
import argparse
import csv
import datetime
import itertools
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

# What both scripts need of scikit-learn.
IMPORTS = '''from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
'''
MODEL = '''t = read("customers.csv")
numbers = ["income", "age", "since", "newsletter"]
model = make_pipeline(ColumnTransformer([
    ("n", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
    ("c", OneHotEncoder(handle_unknown="ignore"), ["city"])]), KMeans(3, n_init=1, random_state=0))
t["label"] = model.fit_predict(t)
new = read("new.csv")
new["label"] = model.predict(new)
'''

PANDAS = '''
import pandas as pd
''' + IMPORTS + '''def read(name):
    t = pd.read_csv(name, sep=";", na_values=["-", "k.A."])
    amount = t["income"].str.replace(" \\u20ac", "").str.replace(".", "").str.replace(",", ".")
    t["income"] = amount.astype(float)
    t["since"] = (pd.to_datetime(t["since"], format="%d.%m.%Y") - pd.Timestamp(0)).dt.days
    t["newsletter"] = t["newsletter"].map({"ja": 1.0, "nein": 0.0})
    return t
''' + MODEL + '''t[["customer", "label"]].to_csv("labels.csv", index=False)
new.to_csv("labelled.csv", index=False)
profile = t.groupby("label").agg({**{n: "mean" for n in numbers}, "city": lambda c: c.mode()[0]})
profile["since"] = pd.to_datetime(profile["since"], unit="D").dt.date
print(profile)
'''

DUCKDB = '''
import duckdb
''' + IMPORTS + '''def read(name):
    return duckdb.sql(f"""select customer, city, age,
        replace(replace(replace(income, ' \\u20ac', ''), '.', ''), ',', '.')::double income,
        epoch(strptime(since, '%d.%m.%Y')) / 86400 since, (newsletter = 'ja')::int::double newsletter
        from read_csv('{name}', delim=';', nullstr=['', '-', 'k.A.'], types={{'since': 'varchar', 'income': 'varchar'}})
        """).df()
''' + MODEL + '''duckdb.sql("copy (select customer, label from t) to 'labels.csv'")
duckdb.sql("copy (select * from new) to 'labelled.csv'")
print(duckdb.sql("""select label, count(*), avg(income), avg(age), to_timestamp(avg(since) * 86400)::date since,
    avg(newsletter), mode(city) from t group by label order by label"""))
'''

KITH = ["kith cluster customers.csv -k 3 --prepare auto --explain --id-column customer -o model.h5 --labels labels.csv",
        "kith assign new.csv --centroids model.h5 --append -o labelled.csv"]


def write_table(path, rows, seed, cities):
    """Returns the groups of the rows."""
    chance = random.Random(seed)
    groups = []
    with open(path, "w", encoding="utf-8-sig") as file:
        file.write("customer;income;age;city;since;newsletter;notes\n")
        for i in range(rows):
            group = chance.randrange(3)
            groups.append(group)
            income = (1250, 3150, 8900)[group] + chance.gauss(0, 300)
            amount = f"{income:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")
            day = datetime.date((2023, 2021, 2017)[group], 1, 1) + datetime.timedelta(days=chance.randrange(330))
            city = chance.choice(cities) if chance.random() < 0.4 else cities[group]
            answer = "ja" if chance.random() < (0.9, 0.5, 0.15)[group] else "nein"
            fields = [f"{amount} \u20ac", str(int((24, 46, 59)[group] + chance.gauss(0, 4))), city, f"{day:%d.%m.%Y}",
                      answer]
            fields = [chance.choice(["", "-", "k.A."]) if chance.random() < 0.03 else field for field in fields]
            file.write(";".join([f"C-{seed}{i:06}", *fields, f"called about bill {chance.randrange(10**6)}"]) + "\n")
    return groups


def processor_seconds():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def agreement(path, groups):
    with open(path, newline="") as file:
        labels = [int(row[-1]) for row in list(csv.reader(file))[1:]]
    return max(sum(names[group] == label for group, label in zip(groups, labels))
               for names in itertools.permutations(range(3)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", default="build/kith", type=pathlib.Path)
    parser.add_argument("--rows", default=100_000, type=int)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--repeat", default=3, type=int)
    wanted = parser.parse_args()
    folder = wanted.folder or pathlib.Path(tempfile.mkdtemp())
    kith = str(wanted.kith.resolve())
    groups = write_table(folder / "customers.csv", wanted.rows, 1, ["Lyon", "Paris", "Nice"])
    write_table(folder / "new.csv", max(1, wanted.rows // 100), 2, ["Lyon", "Paris", "Oslo"])
    jobs = {"kith": ([[kith, *line.split()[1:], "-f"] for line in KITH], f"{len(KITH)} commands")}
    for name, script in (("pandas and scikit-learn", PANDAS), ("DuckDB and scikit-learn", DUCKDB)):
        jobs[name] = ([[sys.executable, "-c", script]], f"{len(script.strip().splitlines())} lines")
    print("| program | to write | seconds | of the processor | in the cluster of their group |\n|---|---|---|---|---|")
    reports = {}
    for name, (commands, size) in jobs.items():
        seconds, used = [], []
        for _ in range(wanted.repeat):
            start, before = time.perf_counter(), processor_seconds()
            runs = [subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
                    for command in commands]
            seconds.append(time.perf_counter() - start)
            used.append(processor_seconds() - before)
        reports[name] = "".join(run.stdout + run.stderr for run in runs)
        right = agreement(folder / "labels.csv", groups)
        print(f"| {name} | {size} | {min(seconds):.2f} | {min(used):.2f} | {right} of {wanted.rows} |", flush=True)
    for name, text in reports.items():
        print(f"\n{name} says:\n{text}")


if __name__ == "__main__":
    main()
