# SPDX-License-Identifier: Apache-2.0
"""The contestants: the chosen peers, prepared, as allocators and schedulers."""
from dataclasses import dataclass, field

from lab import peers

ALWAYS = ("corbel", "serial")  # always there: Corbel itself, and the base of a speed-up


@dataclass
class Contestants:
    allocators: dict = field(default_factory=dict)  # id: lab.peers.Allocator
    schedulers: list = field(default_factory=list)  # lab.peers.Scheduler
    controls: dict = field(default_factory=dict)  # like allocators
    facts: dict = field(default_factory=dict)  # id: its entry in run.json
    order: list = field(default_factory=list)  # ids in the order of the tables

    def add(self, prepared):
        kind = "control" if prepared.control else (
            "allocator" if prepared.allocator else "scheduler")
        self.facts[prepared.name] = {
            "title": prepared.title, "version": prepared.version, "kind": kind,
            "origin": prepared.origin, "skipped": None, "without": dict(prepared.without)}
        self.order.append(prepared.name)
        if prepared.allocator:
            (self.controls if prepared.control else self.allocators)[prepared.name] = \
                prepared.allocator
        self.schedulers += prepared.schedulers

    def skip(self, name, title, kinds, why):
        self.facts[name] = {"title": title, "version": "", "kind": sorted(kinds)[0] if kinds else "",
                            "origin": "", "skipped": str(why)}


def names_for(chosen, recipes):
    """The recipes to prepare: all of them, or the chosen ones and those that always run."""
    controls = [name for name, recipe in recipes.items() if getattr(recipe, "CONTROL", False)]
    if chosen is None:
        chosen = [name for name in recipes if name not in controls]
    wanted = [*ALWAYS, *chosen, *controls]
    return [name for name in dict.fromkeys(wanted) if name in recipes]


def prepare(chosen, report=None):
    """(Contestants, lines about the peers that are left out)"""
    recipes = peers.load()
    found, lines = Contestants(), []
    for name, prepared in peers.prepare(names_for(chosen, recipes), report).items():
        if isinstance(prepared, peers.Unavailable):
            recipe = recipes[name]
            found.skip(name, recipe.TITLE, recipe.KINDS, prepared)
            lines.append(f"{recipe.TITLE} is left out: {prepared}")
        else:
            found.add(prepared)
            if prepared.note:
                lines.append(f"{prepared.title}: {prepared.note}")
    # A control that the user names runs in every row.
    for name in chosen or ():
        if name in found.controls:
            found.allocators[name] = found.controls[name]
    return found, lines
