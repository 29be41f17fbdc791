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

try:
    from clang import cindex
    from clang.cindex import CursorKind as Kind
except ImportError:
    cindex = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("lib/", "gst/")
DRIVER_TABLE = "vkgdr_cuda"

LOCK = re.compile(r"(?:g_(?:rec_)?mutex|pthread_mutex|g_rw_lock_(?:writer|reader))_(un)?lock$")
# Functions that call another function before they return.
CALLS_NOW = re.compile(r"(_foreach|_once|_sort|_find|_remove_if|_thread_run)\w*$")

Function = collections.namedtuple("Function", "file steps")
# What a function does, in the order of the source. The kinds: call NAME [FUNCTIONS PASSED],
# function NAME (its address is taken), lock NAME, unlock NAME, scope [STEPS], which may be
# left out, label, goto, and end, behind which the next step of the scope is not reached.
Step = collections.namedtuple("Step", "kind name steps", defaults=("", ()))


def short(name):
    """The name of a function without the file of a static function."""
    return name.rpartition(":")[2]


class Reader:
    """Reads the functions of one file."""

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
                return f"{os.path.basename(self.path(to) or '')}:{part.spelling}"
        return "?"

    def call(self, cursor):
        to = cursor.referenced
        parts = list(cursor.get_children())
        steps = self.read_all(parts)
        if to is not None and to.kind == Kind.FUNCTION_DECL:
            name = self.name(to)
        elif (to is not None and to.kind == Kind.FIELD_DECL
              and to.semantic_parent.spelling == DRIVER_TABLE):
            name = to.spelling
        else:
            return steps
        lock = LOCK.match(name)
        if lock:
            return [Step("unlock" if lock[1] else "lock", self.lock_name(parts[1]))]
        passed = tuple(step.name for step in steps if step.kind == "function")
        return [*steps, Step("call", name, passed)]

    def read_all(self, cursors):
        return [step for cursor in cursors for step in self.read(cursor)]

    def read(self, cursor):
        kind, parts = cursor.kind, list(cursor.get_children())
        if kind == Kind.CALL_EXPR:
            return self.call(cursor)
        if kind == Kind.DECL_REF_EXPR:
            to = cursor.referenced
            is_function = to is not None and to.kind == Kind.FUNCTION_DECL
            return [Step("function", self.name(to))] if is_function else []
        if kind == Kind.IF_STMT:
            return [*self.read(parts[0]),
                    *(Step("scope", "", self.read(part)) for part in parts[1:])]
        steps = self.read_all(parts)
        if kind in (Kind.COMPOUND_STMT, Kind.WHILE_STMT, Kind.FOR_STMT, Kind.DO_STMT,
                    Kind.SWITCH_STMT):
            return [Step("scope", "", steps)]
        if kind in (Kind.LABEL_STMT, Kind.CASE_STMT, Kind.DEFAULT_STMT):
            return [Step("label"), *steps]
        if kind in (Kind.RETURN_STMT, Kind.BREAK_STMT, Kind.CONTINUE_STMT):
            return [*steps, Step("end", "return" if kind == Kind.RETURN_STMT else "")]
        return [Step("goto"), Step("end")] if kind == Kind.GOTO_STMT else steps

    def functions(self):
        found = {}
        for cursor in self.unit.cursor.get_children():
            path = self.path(cursor)
            # The functions in headers are accessors and casts.
            if (cursor.kind == Kind.FUNCTION_DECL and cursor.is_definition()
                    and path is not None and not path.endswith(".h")):
                *_, body = cursor.get_children()
                found[self.name(cursor)] = Function(path, self.read_all(body.get_children()))
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
    for room in (*FOLDERS, "include/"):
        for path in sorted((ROOT / room).rglob("*.h")):
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
        if step.kind == "scope":
            yield from flat(step.steps)
        else:
            yield step


def called(step):
    """The functions that a step calls."""
    if step.kind != "call":
        return ()
    return (step.name, *step.steps) if CALLS_NOW.search(step.name) else (step.name,)


class Graph:
    def __init__(self, folder):
        self.functions = read(folder)
        self.calls = {}  # function -> the functions that it calls
        self.uses = {}  # the same with those whose address it takes
        for name, function in self.functions.items():
            steps = list(flat(function.steps))
            self.uses[name] = {step.name for step in steps
                               if step.kind in ("call", "function")}
            self.calls[name] = {other for step in steps for other in called(step)}

    def path(self, start, is_end, calls=None):
        """The shortest chain of calls from a function to one for which is_end() is
        true, or None. @calls replaces the function that returns the calls of a
        function."""
        calls = calls or (lambda name: self.calls.get(name, ()))
        chains = [[start]]
        seen = {start}
        for chain in chains:
            for other in sorted(calls(chain[-1])):
                if is_end(other):
                    return [*chain, other]
                if other in self.functions and other not in seen:
                    seen.add(other)
                    chains.append([*chain, other])
        return None


class Locks:
    """Which calls are made with which locks held.

    A function that returns with a lock, or releases one of its caller, changes what
    its callers hold. A scope that ends early changes nothing behind it.
    """

    def __init__(self, graph):
        self.graph = graph
        self.acquired = {}
        self.released = {}
        self.under = {}
        self.calls = set()  # (function, lock, called function)
        for _ in range(3):  # for functions that call such functions
            self.calls.clear()
            for name in graph.functions:
                self.follow(name, frozenset())
                self.acquired[name] = frozenset.intersection(*self.exits)
                self.released[name] = frozenset(self.foreign)

    def calls_under(self, name, lock):
        """The calls that a function makes while its caller's lock is still held."""
        if (name, lock) not in self.under:
            before, self.calls = self.calls, set()
            self.follow(name, frozenset({lock}))
            self.under[name, lock] = {other for _, held, other in self.calls if held == lock}
            self.calls = before
        return self.under[name, lock]

    def follow(self, name, held):
        self.name = name
        self.exits = []
        self.jumps = frozenset()  # held at any goto
        self.foreign = set()
        end = self.run(self.graph.functions[name].steps, held)
        if end is not None or not self.exits:
            self.exits.append(end or frozenset())

    def run(self, steps, held):
        """Returns the locks that are held afterwards; None: never comes here."""
        start = held
        for step in steps:
            if step.kind == "label":
                held = (start if held is None else held) | self.jumps
            elif held is not None:
                held = self.step(step, held)
        return held

    def step(self, step, held):
        if step.kind == "lock":
            return held | {step.name}
        if step.kind == "unlock":
            self.foreign |= {step.name} - held
            return held - {step.name}
        if step.kind == "call":
            self.calls |= {(self.name, lock, other) for lock in held for other in called(step)}
            held = held | self.acquired.get(step.name, frozenset())
            return held - self.released.get(step.name, frozenset())
        if step.kind == "scope":
            after = self.run(step.steps, held)
            return held if after is None else after
        if step.kind == "goto":
            self.jumps |= held
        if step.kind == "end":
            self.exits += [held] if step.name == "return" else []
            return None
        return held
