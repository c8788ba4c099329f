"""At build time: the files that the pack's modules need, and nothing else, into a root folder.

    python3 closure.py MODULES_JSON HARNESS_FOLDER ROOT

Which files those are is found by importing what the harness imports. Python goes in compiled, without its source: no
parsing and no look at dates at start. Shared libraries come by ldd, so no machine's paths stand here.
"""

import dis
import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import types

FLAGS = ("-P", "-s", "-S", "-B")
# Modules that the standard library does without where they are missing. OpenSSL under hashlib: 6 MB and a large
# surface for digests that Python has by itself; libuuid under uuid: for kinds of UUID that name the host.
LEFT_OUT = ("_hashlib", "_uuid")
# What a process like the sandbox's has loaded when it would say READY, as {module: file}.
PROBE = """
import json, sys
sys.path.insert(0, sys.argv[2])
sys.modules.update({name: None for name in sys.argv[3:]})
import harness, harness_probe, warnings, __future__
with open(sys.argv[1]) as file:
    missing = sys.modules["harness_walls"].load_modules({name: [] for name in json.load(file)})[1]
if missing:
    sys.exit("this Python has no " + ", ".join(missing))
files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items() if module}
print(json.dumps({"files": files, "walled": sorted(sys.modules["harness_walls"].GRANTABLE)}))
"""


def looked_up(code):
    """Global names that the functions inside a module's code look up; its top level has run by then."""
    found = set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for step in dis.get_instructions(constant):
                if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    found.add(step.argval)
            found |= looked_up(constant)
    return found


def compile_to(source, root, place):
    target = root + place
    os.makedirs(os.path.dirname(target), exist_ok=True)
    py_compile.compile(
        source,
        target,
        dfile=place,
        doraise=True,
        # Without docstrings: 0.4 MB less in every waiting container.
        optimize=2,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def copy_binary(path, root):
    """An ELF file with the loader and the shared libraries that ldd names, at their real folders."""
    listing = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    for file in (path, *re.findall(r"(/\S+) \(0x", listing)):
        folder = root + os.path.realpath(os.path.dirname(file))
        os.makedirs(folder, exist_ok=True)
        target = os.path.join(folder, os.path.basename(file))
        if not os.path.exists(target):
            shutil.copyfile(os.path.realpath(file), target)
            os.chmod(target, 0o755)


def main():
    modules_file, harness, root = sys.argv[1:4]
    probe = subprocess.run(
        [sys.executable, *FLAGS, "-c", PROBE, modules_file, harness, *LEFT_OUT],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    report = json.loads(probe.stdout)
    walled = set(report["walled"])
    stdlib = os.path.dirname(os.__file__)
    grants = {}
    for name, file in report["files"].items():
        if file is None:
            continue
        if not file.endswith(".py"):
            copy_binary(file, root)
            continue
        with open(file, "rb") as source:
            names = looked_up(compile(source.read(), file, "exec")) & walled
        if names:
            grants["__main__" if name == "harness" else name] = sorted(names)
        ours = name.startswith("harness")
        inside = os.path.basename(file) if ours else os.path.relpath(file, stdlib)
        compile_to(file, root, f"{stdlib}/{inside}c")
    generated = os.path.join(harness, "harness_grants.py")
    with open(generated, "w", encoding="utf-8") as file:
        file.write(f"GRANTS = {grants!r}\n")
    compile_to(generated, root, f"{stdlib}/harness_grants.pyc")
    # The interpreter finds its library by this file; the module itself is inside the interpreter.
    compile_to(os.__file__, root, f"{stdlib}/os.pyc")
    os.makedirs(f"{root}{stdlib}/lib-dynload", exist_ok=True)
    copy_binary(os.path.realpath(sys.executable), root)


main()
