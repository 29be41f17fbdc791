# SPDX-License-Identifier: LGPL-2.1-or-later
"""The call graph of the C files in lib/ and gst/, by libclang (python3-clang).

The functions are read with the compiler's options of a build folder. The result of
each file is kept in the folder callgraph of the build folder, and is used again until
the file, a header or the options change.

A call of the CUDA driver is a call of a function with the driver's name, such as
cuLaunchKernel. Functions that are passed to functions such as g_hash_table_foreach()
count as called there. Other calls through pointers are not followed.
"""

import collections
import glob
import hashlib
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import shlex
import subprocess
import sys

try:
    from clang import cindex
    from clang.cindex import CursorKind as Kind
except ImportError:
    cindex = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("lib/", "gst/")
HEADERS = ("lib/**/*.h", "gst/**/*.h", "include/**/*.h")
DRIVER_TABLE = "vkgdr_cuda"

LOCK = re.compile(r"(g_(rec_)?mutex|pthread_mutex|g_rw_lock_(writer|reader))_lock$")
UNLOCK = re.compile(r"(g_(rec_)?mutex|pthread_mutex|g_rw_lock_(writer|reader))_unlock$")
# Functions that call another function before they return.
CALLS_NOW = re.compile(r"(_foreach|_once|_sort|_find|_remove_if|_thread_run)\w*$")

# A function: its file, its line, and what it does, as a list of Step. The kinds:
#   call NAME [FUNCTIONS PASSED], lock NAME, unlock NAME, return, break, case,
#   goto LABEL, label LABEL, scope [STEPS], loop [STEPS], if [STEPS] [STEPS]
Function = collections.namedtuple("Function", "file line steps")
Step = collections.namedtuple("Step", "kind name steps other", defaults=("", (), ()))


def is_available():
    return cindex is not None


def short(name):
    """The name of a function without the file of a static function."""
    return name.rpartition(":")[2]


class Reader:
    """Reads the functions of one file."""

    LOOPS = () if cindex is None else (
        Kind.WHILE_STMT, Kind.FOR_STMT, Kind.DO_STMT, Kind.SWITCH_STMT)

    def __init__(self, unit, folder):
        self.unit = unit
        self.folder = folder

    def path(self, cursor):
        """The file of a declaration, relative to the tree; None elsewhere."""
        if cursor.location.file is None:
            return None
        path = os.path.realpath(os.path.join(self.folder, cursor.location.file.name))
        path = os.path.relpath(path, ROOT)
        return path if path.startswith((*FOLDERS, "include/")) else None

    def name(self, cursor):
        """A static function's name has its file in front."""
        if cursor.storage_class == cindex.StorageClass.STATIC:
            return f"{self.path(cursor)}:{cursor.spelling}"
        return cursor.spelling

    def lock_name(self, cursor):
        for part in cursor.walk_preorder():
            to = part.referenced
            if part.kind == Kind.MEMBER_REF_EXPR and to is not None:
                owner = to.semantic_parent
                return f"{(owner.spelling or owner.type.spelling).lstrip('_')}.{part.spelling}"
            if part.kind == Kind.DECL_REF_EXPR and to is not None:
                file = os.path.basename(self.path(to) or "")
                return f"{file}:{part.spelling}"
        return "?"

    def callee(self, call):
        to = call.referenced
        if to is None:
            return None
        if to.kind == Kind.FUNCTION_DECL:
            return self.name(to)
        if to.kind == Kind.FIELD_DECL and to.semantic_parent.spelling == DRIVER_TABLE:
            return to.spelling
        return None

    def call(self, cursor):
        parts = list(cursor.get_children())
        name = self.callee(cursor)
        if name and LOCK.match(name):
            return [Step("lock", self.lock_name(parts[1]))]
        if name and UNLOCK.match(name):
            return [Step("unlock", self.lock_name(parts[1]))]
        steps = self.steps(parts)
        passed = tuple(step.name for step in steps if step.kind == "function")
        return [*steps, Step("call", name, passed)] if name else steps

    def steps(self, cursors):
        return [step for cursor in cursors for step in self.read(cursor)]

    def read(self, cursor):
        kind = cursor.kind
        if kind == Kind.CALL_EXPR:
            return self.call(cursor)
        if kind == Kind.DECL_REF_EXPR:
            to = cursor.referenced
            is_function = to is not None and to.kind == Kind.FUNCTION_DECL
            return [Step("function", self.name(to))] if is_function else []
        parts = list(cursor.get_children())
        if kind == Kind.IF_STMT:
            return [*self.read(parts[0]), Step("if", "", self.read(parts[1]),
                                               self.steps(parts[2:]))]
        if kind in self.LOOPS:
            return [Step("loop", "", self.steps(parts))]
        if kind == Kind.COMPOUND_STMT:
            return [Step("scope", "", self.steps(parts))]
        if kind == Kind.GOTO_STMT:
            return [Step("goto", parts[0].spelling)]
        steps = self.steps(parts)
        if kind == Kind.RETURN_STMT:
            return [*steps, Step("return")]
        if kind in (Kind.BREAK_STMT, Kind.CONTINUE_STMT):
            return [Step("break")]
        if kind == Kind.LABEL_STMT:
            return [Step("label", cursor.spelling), *steps]
        if kind in (Kind.CASE_STMT, Kind.DEFAULT_STMT):
            return [Step("case"), *steps]
        return steps

    def functions(self):
        found = {}
        for cursor in self.unit.cursor.get_children():
            if cursor.kind != Kind.FUNCTION_DECL or not cursor.is_definition():
                continue
            path = self.path(cursor)
            # The functions in headers are accessors and casts.
            if path is not None and not path.endswith(".h"):
                body = [part for part in cursor.get_children()
                        if part.kind == Kind.COMPOUND_STMT]
                found[self.name(cursor)] = Function(
                    path, cursor.location.line, self.steps(body))
        return found


def system_headers():
    """The folder of the headers that belong to a compiler, such as stddef.h."""
    version = cindex.conf.lib.clang_getClangVersion
    version.restype = cindex._CXString
    # cindex gives text in some of its versions, bytes in others.
    text = version()
    major = re.search(r"version (\d+)", str(cindex.conf.lib.clang_getCString(text)))
    found = glob.glob(f"/usr/lib/llvm-{major[1]}/lib/clang/*/include") if major else []
    return found[0] if found else subprocess.run(
        ["gcc", "-print-file-name=include"], capture_output=True, text=True,
        check=True).stdout.strip()


def parse(job):
    source, options, folder, cache = job
    if cache.exists():
        return pickle.loads(cache.read_bytes())
    os.chdir(folder)
    unit = cindex.Index.create().parse(source, options)
    missing = [str(problem) for problem in unit.diagnostics
               if "file not found" in problem.spelling]
    if missing:
        raise SystemExit(f"callgraph: {missing[0]}")
    found = Reader(unit, folder).functions()
    part = cache.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(found))
    part.rename(cache)
    return found


def jobs(folder):
    """One for each C file of the libraries and the plugin."""
    cache = folder / "callgraph"
    cache.mkdir(exist_ok=True)
    common = hashlib.sha256(pathlib.Path(__file__).read_bytes())
    for pattern in HEADERS:
        for path in sorted(ROOT.glob(pattern)):
            common.update(path.read_bytes())
    headers = system_headers()
    done = set()
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        source = folder / entry["file"]
        path = os.path.relpath(os.path.realpath(source), ROOT)
        if path in done or not path.startswith(FOLDERS) or entry["output"].startswith("tests"):
            continue
        done.add(path)
        options = [option for option in shlex.split(entry["command"])
                   if option.startswith(("-I", "-D", "-U", "-std"))]
        options += ["-w", "-isystem", headers]
        key = common.copy()
        key.update(source.read_bytes() + repr((path, options)).encode())
        yield (entry["file"], options, str(folder), cache / key.hexdigest())


def read(folder):
    """Function's name -> Function, for all C files that the folder builds."""
    work = list(jobs(pathlib.Path(folder).resolve()))
    functions = {}
    with multiprocessing.Pool() as pool:
        for found in pool.imap_unordered(parse, work, 4):
            functions.update(found)
    used = {cache.name for *_, cache in work}
    for old in (pathlib.Path(folder) / "callgraph").iterdir():
        if old.name not in used:
            old.unlink()
    return functions


def flat(steps):
    """All steps, in the order of the source."""
    for step in steps:
        if step.kind in ("scope", "loop", "if"):
            yield from flat(step.steps)
            yield from flat(step.other)
        else:
            yield step


class Graph:
    def __init__(self, folder):
        self.functions = read(folder)
        self.calls = {}  # function -> the functions that it calls
        self.uses = {}  # the same with those whose address it takes
        for name, function in self.functions.items():
            steps = list(flat(function.steps))
            self.uses[name] = {step.name for step in steps
                               if step.kind in ("call", "function")}
            self.calls[name] = {called for step in steps for called in self.called(step)}

    @staticmethod
    def called(step):
        """The functions that a step calls."""
        if step.kind != "call":
            return ()
        return (step.name, *step.steps) if CALLS_NOW.search(step.name) else (step.name,)

    def path(self, start, is_end, calls=None):
        """The shortest chain of calls from a function to one for which is_end() is
        true, or None. @calls replaces the function that returns the calls of a
        function."""
        calls = calls or (lambda name: self.calls.get(name, ()))
        before = {start: None}
        queue = [start]
        for name in queue:
            for called in sorted(calls(name)):
                if is_end(called):
                    chain = [called]
                    while name:
                        chain.append(name)
                        name = before[name]
                    return chain[::-1]
                if called in self.functions and called not in before:
                    before[called] = name
                    queue.append(called)
        return None

    def reach(self, start):
        """All functions of the tree that a function calls, itself included."""
        found = {start}
        queue = [start]
        for name in queue:
            for called in self.calls[name]:
                if called in self.functions and called not in found:
                    found.add(called)
                    queue.append(called)
        return found


class Locks:
    """Which calls are made with which locks held.

    A function that returns with a lock, or releases one of its caller, changes what
    its callers hold.
    """

    def __init__(self, graph):
        self.graph = graph
        self.acquired = {}
        self.released = {}
        self.calls = set()  # (function, lock, called function)
        for _ in range(3):  # for functions that call such functions
            self.calls.clear()
            for name, function in graph.functions.items():
                self.follow(name, function)

        self.under = {}

    def calls_under(self, name, lock):
        """The calls that a function makes while its caller's lock is still held."""
        if (name, lock) not in self.under:
            before, self.calls = self.calls, set()
            self.begin(name)
            self.run(self.graph.functions[name].steps, frozenset({lock}))
            self.under[name, lock] = {called for _, held, called in self.calls
                                      if held == lock}
            self.calls = before
        return self.under[name, lock]

    def begin(self, name):
        self.name = name
        self.exits = []
        self.labels = collections.defaultdict(frozenset)
        self.foreign = set()

    def follow(self, name, function):
        self.begin(name)
        end = self.run(function.steps, frozenset())
        if end is not None:
            self.exits.append(end)
        self.acquired[name] = frozenset.intersection(*self.exits) if self.exits else frozenset()
        self.released[name] = frozenset(self.foreign)

    def run(self, steps, held):
        """Returns the locks that are held afterwards; None: never comes here."""
        start = held
        for step in steps:
            if step.kind == "label":
                held = (held or frozenset()) | self.labels[step.name]
            elif step.kind == "case" and held is None:
                held = start
            elif held is not None:
                held = self.step(step, held)
        return held

    def step(self, step, held):
        if step.kind == "lock":
            return held | {step.name}
        if step.kind == "unlock":
            if step.name not in held:
                self.foreign.add(step.name)
            return held - {step.name}
        if step.kind == "call":
            self.calls |= {(self.name, lock, called) for lock in held
                           for called in self.graph.called(step)}
            held = held | self.acquired.get(step.name, frozenset())
            return held - self.released.get(step.name, frozenset())
        if step.kind == "scope":
            return self.run(step.steps, held)
        if step.kind == "loop":
            return held | (self.run(step.steps, held) or frozenset())
        if step.kind == "if":
            ends = [end for end in (self.run(step.steps, held), self.run(step.other, held))
                    if end is not None]
            return frozenset().union(*ends) if ends else None
        if step.kind == "return":
            self.exits.append(held)
            return None
        if step.kind == "goto":
            self.labels[step.name] |= held
            return None
        return None if step.kind == "break" else held


if __name__ == "__main__":
    sys.exit("This file is a module of scripts/check-rooms and scripts/sizes.")
