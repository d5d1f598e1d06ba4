"""Runs one function of a suite in a process of its own: the question on standard input, the answer on standard output.

Whatever the function prints goes to standard error. `world` has files, tables, changes and reply, and state() as another
harness has it; put(), change() and drop() write the collections of a world before its run.
"""

import inspect
import json
import os
import sys

question = json.load(sys.stdin)
answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
sys.stdout = sys.stderr

read = set()


class Call(dict):
    """A tool call, by key or by attribute."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Calls(list):
    """Notes that the calls were looked at: the answer is worth no more than they are."""

    def __iter__(self):
        read.add("calls")
        return super().__iter__()

    def __len__(self):
        read.add("calls")
        return super().__len__()

    def __getitem__(self, index):
        read.add("calls")
        return super().__getitem__(index)

    def __contains__(self, item):
        read.add("calls")
        return super().__contains__(item)

    def __eq__(self, other):
        read.add("calls")
        return super().__eq__(other)

    def __reversed__(self):
        read.add("calls")
        return super().__reversed__()


def noted(kind):
    def get(self):
        read.add(kind)
        return self._world.get(kind)

    return property(get)


class World:
    files = noted("files")
    tables = noted("tables")
    changes = noted("changes")
    reply = noted("reply")

    def __init__(self, world):
        self._world = world

    def file(self, path):
        name = path if ":/" in path else "workspace:/" + path.lstrip("/")
        return self.files.get(name)

    def state(self, name=None):
        read.add("tables")
        state = self._world["state"]
        return state if name is None else {name: state.get(name, [])}

    def get(self, name, default=None):
        read.add("tables")
        return self._world["state"].get(name, default)

    def __getitem__(self, name):
        read.add("tables")
        return self._world["state"][name]

    def _writable(self):
        if not question["writable"]:
            raise RuntimeError("the world cannot be written by a check")
        return self._world["state"]

    def put(self, collection, record, key=None):
        state = self._writable()
        if key is None:
            state.setdefault(collection, []).append(record)
        else:
            state.setdefault(collection, {})[key] = record

    def change(self, collection, key, changes, by="id"):
        held = self._writable()[collection]
        if isinstance(held, dict):
            held[key].update(changes)
            return
        found = [row for row in held if row.get(by) == key]
        if not found:
            raise KeyError(f"{collection} has no record whose {by} is {key!r}")
        for row in found:
            row.update(changes)

    def drop(self, collection, key=None, by="id"):
        state = self._writable()
        held = state[collection]
        if isinstance(held, dict):
            state[collection] = {} if key is None else {k: v for k, v in held.items() if k != key}
        else:
            state[collection] = [] if key is None else [row for row in held if row.get(by) != key]

    def call(self, name, arguments=None):
        raise RuntimeError(f"the tool {name} is not part of the suite: only its harness has it")


def answer_of(said):
    if said is None or said is True:
        return {"value": "held"}
    if said is False:
        return {"value": "not_held", "reason": "the check returned False and gave no reason"}
    if isinstance(said, str):
        return {"value": "not_held", "reason": said} if said.strip() else {"value": "held"}
    kind = type(said).__name__
    return {"value": "broken", "reason": f"it returned {kind}; expected None where it holds, or a text that says why not"}


def run():
    with open(question["file"], encoding="utf-8") as file:
        code = compile(file.read(), os.path.basename(question["file"]), "exec")
    names = {"__name__": "check", "__file__": question["file"]}
    sys.path.insert(0, os.path.dirname(question["file"]))
    exec(code, names)
    function = names.get(question["function"])
    if not callable(function):
        return {"value": "broken", "reason": f"it defines no function {question['function']}"}
    world = World(question["world"])
    takes = len(inspect.signature(function).parameters)
    said = function(world, Calls(Call(each) for each in question["calls"])) if takes > 1 else function(world)
    if question["writable"]:
        return {"value": "held", "state": question["world"]["state"]}
    return answer_of(said)


try:
    result = run()
except SystemExit as error:
    result = {"value": "broken", "reason": f"it ended its process: {error}"}
except BaseException as error:
    result = {"value": "broken", "reason": f"{type(error).__name__}: {error}"}

answer.write(json.dumps({**result, "read": sorted(read), "nonce": question["nonce"]}, default=str) + "\n")
answer.close()
