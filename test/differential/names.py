"""Reads JSON lines, each a source; answers one JSON line each: what CPython's own parser sees, or null."""
import ast
import json
import sys
import warnings

warnings.simplefilter("ignore")


def plain(node):
    return node.id if isinstance(node, ast.Name) else None


def roles_of(node, kind):
    """What the names at one node are used as, in the words of names-seen.ts."""
    if kind == "Name":
        return [("load " if isinstance(node.ctx, ast.Load) else "bind ") + node.id]
    if kind == "AugAssign" and plain(node.target):
        return ["load " + plain(node.target)]
    if kind == "Call" and plain(node.func):
        return ["call " + plain(node.func)]
    if kind == "Attribute" and plain(node.value):
        return [plain(node.value) + "." + node.attr]
    if kind == "arg":
        return ["bind " + node.arg]
    if kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef", "ExceptHandler", "MatchAs", "MatchStar"):
        return ["bind " + node.name] if node.name else []
    if kind == "MatchMapping":
        return ["bind " + node.rest] if node.rest else []
    if kind in ("Global", "Nonlocal"):
        return ["bind " + name for name in node.names]
    if kind == "Import":
        return ["bind " + (alias.asname or alias.name.split(".")[0]) for alias in node.names]
    if kind == "ImportFrom":
        return ["bind " + (alias.asname or alias.name) for alias in node.names]
    return []


def seen(source):
    try:
        # compile as the sandbox does; ast.parse alone accepts more (return outside a function).
        tree = compile(source, "<function>", "exec", ast.PyCF_ONLY_AST, True)
        compile(tree, "<function>", "exec", 0, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    names, attributes, modules = set(), set(), set()
    roles = []
    for node in ast.walk(tree):
        kind = type(node).__name__
        roles.extend(roles_of(node, kind))
        if kind == "Name":
            names.add(node.id)
        elif kind == "Attribute":
            attributes.add(node.attr)
        elif kind == "arg":
            names.add(node.arg)
        elif kind == "keyword" and node.arg is not None:
            names.add(node.arg)
        elif kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
            names.add(node.name)
        elif kind in ("Global", "Nonlocal"):
            names.update(node.names)
        elif kind == "ExceptHandler" and node.name:
            names.add(node.name)
        elif kind in ("MatchAs", "MatchStar") and node.name:
            names.add(node.name)
        elif kind == "MatchMapping" and node.rest:
            names.add(node.rest)
        elif kind == "MatchClass":
            attributes.update(node.kwd_attrs)
        elif kind == "Import":
            for alias in node.names:
                modules.add(alias.name)
                if alias.asname:
                    names.add(alias.asname)
        elif kind == "ImportFrom":
            if node.module:
                modules.add(node.module)
            for alias in node.names:
                names.add(alias.name)
                if alias.asname:
                    names.add(alias.asname)
    return {"names": sorted(names), "attributes": sorted(attributes), "modules": sorted(modules), "roles": sorted(roles)}


for line in sys.stdin:
    print(json.dumps(seen(json.loads(line))), flush=True)
