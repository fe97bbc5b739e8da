"""Tables of pyarrow as values: a slice is sent without the rows of the table that it was cut from."""

import pytest

pa = pytest.importorskip("pyarrow")
ROWS = 50_000


def columns():
    numbers = pa.array(range(ROWS))
    return {
        "number": numbers,
        "text": pa.array([f"row {i}" for i in range(ROWS)]),
        "list": pa.array([[i, i + 1] for i in range(ROWS)]),
        "half": pa.array([None if i % 2 else float(i) for i in range(ROWS)]),
        "struct": pa.StructArray.from_arrays([numbers, numbers], ["a", "b"]),
    }


def sent_bytes(value):
    from ray._private.worker import global_worker

    return global_worker.get_serialization_context().serialize(value).total_bytes


@pytest.mark.parametrize("name", ["number", "text", "list", "half", "struct"])
def test_a_slice_of_a_table(ray, name):
    whole = pa.table({name: columns()[name]})
    part = whole.slice(7, 20)
    assert sent_bytes(part) < 20_000 < sent_bytes(whole)
    assert ray.get(ray.put(part)).equals(part) and ray.get(ray.put(whole)).equals(whole)


def test_tables_of_many_pieces_and_of_none(ray):
    @ray.remote
    def turned(table):
        return pa.concat_tables([table.slice(ROWS // 2), table.slice(0, 3), table.slice(0, 0)])

    table = pa.table(columns())
    expected = pa.concat_tables([table.slice(ROWS // 2), table.slice(0, 3)])
    assert ray.get(turned.remote(table)).equals(expected)
    assert ray.get(turned.remote(table.slice(0, 0))).equals(table.slice(0, 0))


def test_a_column_with_a_dictionary(ray):
    table = pa.table({"kind": pa.array(["a", "b"] * ROWS).dictionary_encode()})
    part = table.slice(3, 5)
    assert sent_bytes(part) < 20_000
    assert ray.get(ray.put(part)).equals(part)
