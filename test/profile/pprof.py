# SPDX-License-Identifier: Apache-2.0
"""Reads a pprof file (profile.proto), strictly: unknown fields, dangling references and duplicate ids
are errors."""

import gzip

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


PROFILE = {1: "sample_type*", 2: "sample*", 3: "mapping*", 4: "location*", 6: "string*", 9: "time",
           10: "duration", 11: "period_type", 12: "period", 13: "comment*", 14: "default_sample_type"}


class Profile:
    def __init__(self, path):
        with gzip.open(path) as file:
            raw = message(file.read(), PROFILE)
        self.strings = [text.decode() for text in raw["string"]]
        assert self.strings[0] == ""
        text = self.strings.__getitem__
        self.types = [self.value_type(data) for data in raw["sample_type"]]
        self.period_type, self.period = self.value_type(raw["period_type"]), raw["period"]
        self.default_type = text(raw["default_sample_type"])
        self.comments = [text(index) for index in raw["comment"]]
        self.time, self.duration = raw["time"], raw["duration"]
        self.mappings, self.locations, self.samples = {}, {}, []
        for data in raw["mapping"]:
            m = message(data, {1: "id", 2: "start", 3: "limit", 4: "offset", 5: "file", 6: "build_id"})
            assert m["id"] not in self.mappings and m["id"] != 0 and m["start"] < m["limit"]
            m["file"], m["build_id"] = text(m["file"]), text(m["build_id"])
            self.mappings[m["id"]] = m
        for data in raw["location"]:
            place = message(data, {1: "id", 2: "mapping", 3: "address"})
            assert place["id"] not in self.locations and place["id"] != 0
            if place["mapping"]:
                m = self.mappings[place["mapping"]]
                assert m["start"] <= place["address"] < m["limit"]
            self.locations[place["id"]] = place
        for data in raw["sample"]:
            s = message(data, {1: "locations", 2: "values", 3: "label*"})
            s["addresses"] = [self.locations[id]["address"] for id in packed(s["locations"] or b"")]
            s["values"] = packed(s["values"])
            assert len(s["values"]) == len(self.types)
            labels = [message(label, {1: "key", 2: "text", 3: "number"}) for label in s["label"]]
            assert not any(label["text"] and label["number"] for label in labels)
            s["labels"] = {text(label["key"]): text(label["text"]) or label["number"]
                           for label in labels}
            self.samples.append(s)

    def value_type(self, data):
        value = message(data, {1: "type", 2: "unit"})
        return self.strings[value["type"]], self.strings[value["unit"]]

    def totals(self, chosen=lambda sample: True):
        return [sum(s["values"][i] for s in self.samples if chosen(s)) for i in range(len(self.types))]
