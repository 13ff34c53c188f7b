# SPDX-License-Identifier: Apache-2.0
"""Writes and reads pprof's format (profile.proto). The reader is strict: unknown fields, dangling
references and duplicate ids are errors."""

import gzip
from pathlib import Path

VARINT, BYTES = 0, 2


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == VARINT:
            value, at = varint(data, at)
        elif key & 7 == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field ends after the data"
        else:
            raise AssertionError(f"wire type {key & 7}")
        yield key >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def message(data, names):
    """A dictionary; the value of a name that ends in * is a list."""
    result = {name.rstrip("*"): [] if name.endswith("*") else 0 for name in names.values()}
    for number, value in fields(data):
        name = names[number]
        if name.endswith("*"):
            result[name[:-1]].append(value)
        else:
            result[name] = value
    return result


PROFILE = {1: "sample_type*", 2: "sample*", 3: "mapping*", 4: "location*", 5: "function*", 6: "string*",
           7: "drop_frames", 8: "keep_frames", 9: "time", 10: "duration", 11: "period_type", 12: "period",
           13: "comment*", 14: "default_sample_type", 15: "doc_url"}
MAPPING = {1: "id", 2: "start", 3: "limit", 4: "offset", 5: "file", 6: "build_id", 7: "has_functions",
           8: "has_files", 9: "has_lines", 10: "has_inlined"}
LOCATION = {1: "id", 2: "mapping", 3: "address", 4: "line*", 5: "folded"}
FUNCTION = {1: "id", 2: "name", 3: "system_name", 4: "file", 5: "start_line"}


class Profile:
    """The file at `path`, compressed or not. The frames of a sample are "name file:line" with the
    file's last part, innermost first, as far as they are known."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        raw = message(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, PROFILE)
        self.strings = [text.decode() for text in raw["string"]]
        assert self.strings[0] == ""
        text = self.strings.__getitem__
        self.types = [self.value_type(data) for data in raw["sample_type"]]
        self.period_type, self.period = self.value_type(raw["period_type"] or b""), raw["period"]
        self.default_type = text(raw["default_sample_type"])
        self.comments = [text(i) for each in raw["comment"]
                         for i in ([each] if isinstance(each, int) else packed(each))]
        self.time, self.duration = raw["time"], raw["duration"]
        self.mappings, self.locations, self.samples = {}, {}, []
        for data in raw["mapping"]:
            m = message(data, MAPPING)
            assert m["id"] not in self.mappings and m["id"] != 0 and m["start"] < m["limit"]
            m["file"], m["build_id"] = text(m["file"]), text(m["build_id"])
            self.mappings[m["id"]] = m
        functions = {}
        for data in raw["function"]:
            f = message(data, FUNCTION)
            assert f["id"] not in functions and f["id"] != 0
            functions[f["id"]] = (text(f["name"]), text(f["file"]).rpartition("/")[2])
        for data in raw["location"]:
            place = message(data, LOCATION)
            assert place["id"] not in self.locations and place["id"] != 0
            if place["mapping"]:
                m = self.mappings[place["mapping"]]
                assert m["start"] <= place["address"] < m["limit"] or not place["address"]
            lines = [message(line, {1: "function", 2: "line", 3: "column"}) for line in place["line"]]
            place["frames"] = [self.frame(*functions[line["function"]], line["line"]) for line in lines]
            self.locations[place["id"]] = place
        for data in raw["sample"]:
            s = message(data, {1: "locations", 2: "values", 3: "label*"})
            places = [self.locations[id] for id in packed(s["locations"] or b"")]
            s["addresses"] = [place["address"] for place in places]
            s["frames"] = [frame for place in places for frame in place["frames"]]
            s["values"] = packed(s["values"])
            assert len(s["values"]) == len(self.types)
            labels = [message(label, {1: "key", 2: "text", 3: "number", 4: "unit"})
                      for label in s["label"]]
            s["labels"] = {text(label["key"]): text(label["text"]) or label["number"] for label in labels}
            assert len(s["labels"]) == len(labels), "a label is there twice"
            self.samples.append(s)

    @staticmethod
    def frame(name, file, line):
        return f"{name} {file}:{line}" if file else name

    def value_type(self, data):
        value = message(data, {1: "type", 2: "unit"})
        return self.strings[value["type"]], self.strings[value["unit"]]

    def totals(self, chosen=lambda sample: True):
        return [sum(s["values"][i] for s in self.samples if chosen(s)) for i in range(len(self.types))]


def number(field, value):
    return put_varint(field << 3) + put_varint(value) if value else b""


def content(field, value):
    return put_varint(field << 3 | BYTES) + put_varint(len(value)) + value


def put_varint(value):
    value &= (1 << 64) - 1
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7f | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def encode(samples, mappings=(), *, types, comments=(), locations=None, functions=(), default="",
           period=0, time=0, duration=0):
    """A profile. A sample is (addresses, values, labels) with texts or numbers for labels, a mapping
    (start, limit, offset, file, build id). `locations` gives an address its lines, [(function, line)],
    with 1 for the first of `functions`, (name, file)."""
    texts = {"": 0}

    def text(value):
        return texts.setdefault(value, len(texts))

    def pack(values):
        return b"".join(map(put_varint, values))

    parts = []
    for kind, unit in types:
        parts.append(content(1, number(1, text(kind)) + number(2, text(unit))))
    places = {}
    for addresses, values, labels in samples:
        ids = [places.setdefault(address, len(places) + 1) for address in addresses]
        sample = content(1, pack(ids)) + content(2, pack(values))
        for key, value in labels.items():
            sample += content(3, number(1, text(key)) + (
                number(3, value) if isinstance(value, int) else number(2, text(value))))
        parts.append(content(2, sample))
    for i, (start, limit, offset, file, build_id) in enumerate(mappings, 1):
        parts.append(content(3, number(1, i) + number(2, start) + number(3, limit) + number(4, offset)
                             + number(5, text(file)) + number(6, text(build_id))))
    for address, place in places.items():
        mapping = next((i for i, m in enumerate(mappings, 1) if m[0] <= address < m[1]), 0)
        lines = b"".join(content(4, number(1, function) + number(2, line))
                         for function, line in (locations or {}).get(address, ()))
        parts.append(content(4, number(1, place) + number(2, mapping) + number(3, address) + lines))
    for i, (name, file) in enumerate(functions, 1):
        parts.append(content(5, number(1, i) + number(2, text(name)) + number(3, text(name))
                             + number(4, text(file))))
    if comments:
        parts.append(content(13, pack(text(each) for each in comments)))
    parts += [number(9, time), number(10, duration), number(12, period), number(14, text(default))]
    return b"".join(content(6, each.encode()) for each in texts) + b"".join(parts)
