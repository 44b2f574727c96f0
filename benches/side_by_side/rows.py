"""Rows of the Insert Benchmark's first load, as a client in Python would send them.

PROTOCOL SOCKET USER DATABASE ROWS: says `ready`, waits for a line, inserts, says `done`, waits.
"""

import os
import random
import string
import sys
import time

BATCH = 100

protocol, socket, user, database, rows = sys.argv[1:]
if protocol == "postgres":
    import psycopg2

    connection = psycopg2.connect(host=os.path.dirname(socket), user=user, dbname=database)
    connection.autocommit = True
else:
    import MySQLdb

    connection = MySQLdb.connect(unix_socket=socket, user=user, db=database)
    connection.autocommit(True)
cursor = connection.cursor()
letters = string.ascii_letters + string.digits + "+/"
letters = "".join(random.choices(letters, k=1_000_000))


def row(now):
    length = random.randint(10, 20)
    drawn = length * 3 // 8
    start = random.randrange(len(letters) - drawn)
    return "('%s',%d,%d,%d,%d,'%s')" % (
        now,
        random.randrange(1000),
        random.randrange(100_000),
        random.randrange(10_000),
        random.randrange(500),
        "a" * (length - drawn) + letters[start : start + drawn],
    )


def insert():
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    values = ",".join([row(now) for _ in range(BATCH)])
    cursor.execute(
        "INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES "
        + values
    )


def meet(word):
    print(word, flush=True)
    sys.stdin.readline()


meet("ready")
for _ in range(int(rows) // BATCH):
    insert()
meet("done")
