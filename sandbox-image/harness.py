"""PID 1 of a sandbox container: one SETUP in, READY out, one JOB in, ANSWER out, exit.

With `"probe": true` in SETUP it never takes a job: it tells what the container is like from inside, then goes over
its memory limit.

What runs here is untrusted from the moment the job's code starts, and shares this process: the service treats the
answer as hostile and takes no verdict on time, memory or size from it.
"""

import json
import sys
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal
from gc import disable as gc_disable
from gc import enable as gc_enable
from gc import freeze as gc_freeze
from posix import _exit, getpid
from resource import RUSAGE_SELF, getrusage
from time import process_time_ns, sleep
from types import ModuleType

import harness_names
from harness_channel import BadFrame, Channel
from harness_encoder import NotJson, TooLarge, encode
from harness_walls import build_walls, load_modules

PROTOCOL = 1
SOURCE_NAME = "<compute>"
EXIT_FAULT = 70
EXIT_DEADLINE = 75
EXIT_OVER_LIMIT = 76
# After its limit the service kills the container; this is for the case that the service is gone.
BACKSTOP_SECONDS = 1
# After its answer it stays for as long as a step still takes: the engine's work on a container that has ended (60 ms
# of two processors) would hold up that answer, and those of steps beside it. Longer would keep its place from the next.
LINGER_SECONDS = 0.03
PATH_MAX_STEPS = 100
PATH_KEY_MAX_CHARACTERS = 200

SYNTAX_ERRORS = (SyntaxError, IndentationError, TabError)

_traceback_of = BaseException.__dict__["__traceback__"].__get__
# The names leave the builtins module before a function runs.
_compile, _exec = compile, exec
# The data, until the exit frees all memory at once: taking it apart object by object would hold up the answer.
_kept = []


class Printed:
    """Standard output and error of the function: the first characters, in memory; the rest is dropped."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, most):
        self.left = most
        self.pieces = []

    def write(self, text):
        if self.left > 0 and type(text) is str:
            self.pieces.append(text[: self.left])
            self.left -= len(text)
        return len(text)

    def flush(self):
        pass


def cut(text, most_bytes):
    """The first bytes of a text, at a character's border; lone surrogates are escaped."""
    return text.encode("utf-8", "backslashreplace")[:most_bytes].decode("utf-8", "ignore")


def last_line(error):
    """The line of the function that an exception came through last, or None."""
    line = None
    trace = _traceback_of(error)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == SOURCE_NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def exception_text(error):
    """The exception's text by the built-in class's own method; empty where its arguments cannot be shown."""
    try:
        return BaseException.__str__(error)
    except BaseException:
        return ""


def not_finite(token):
    raise ValueError(token)


def run(code, data, offered):
    """Compiles the function, parses the data, calls `compute`. Whatever it raises is the function's own.

    The data is parsed after the module body ran and before the call; it was checked by the service.
    """
    source = code.decode("utf-8")
    program = _compile(source, SOURCE_NAME, "exec", dont_inherit=True)
    module = ModuleType("compute_step")
    sys.modules["compute_step"] = module
    namespace = module.__dict__
    for name in ("__loader__", "__spec__", "__package__"):
        del namespace[name]
    namespace["__builtins__"] = offered
    _exec(program, namespace)
    compute = namespace.get("compute")
    if compute is None:
        raise NameError("compute is not defined")
    # Collecting while millions of objects are made finds nothing and costs time; frozen, they are never walked again.
    gc_disable()
    try:
        text = data.decode("utf-8")
        data.clear()
        value = json.loads(text, parse_constant=not_finite)
    except ValueError:
        raise BadFrame from None
    del text
    gc_freeze()
    gc_enable()
    _kept.append(value)
    return compute(value)


def answer(job, offered):
    """Runs the job; answers the header and the result's bytes."""
    header, code, data = job
    detail_max = header["detail_max_bytes"]
    printed = Printed(detail_max)
    sys.stdout = sys.stderr = printed
    result = b""
    begun = process_time_ns()
    try:
        value = run(code, data, offered)
        result = encode(
            value, header["result_max_bytes"], header["result_max_depth"], header["decimal_as_string"]
        )
        reply = {"status": "returned"}
    except NotJson as refusal:
        path = refusal.path[::-1][:PATH_MAX_STEPS]
        reply = {
            "status": "not_json",
            "path": [step if type(step) is int else step[:PATH_KEY_MAX_CHARACTERS] for step in path],
            "python_type": refusal.python_type,
        }
    except TooLarge:
        reply = {"status": "too_large"}
    except BadFrame:
        raise
    except BaseException as error:
        line = last_line(error)
        if line is None and type(error) in SYNTAX_ERRORS and error.filename == SOURCE_NAME:
            line = error.lineno
        reply = {"status": "raised", "exception": harness_names.exception_name(type(error)), "line": line}
        if detail_max:
            reply["text"] = cut(exception_text(error), detail_max)
    if detail_max:
        reply["printed"] = cut("".join(printed.pieces), detail_max)
    reply["cpu_ns"] = process_time_ns() - begun
    reply["maxrss_bytes"] = getrusage(RUSAGE_SELF).ru_maxrss * 1024
    return reply, result


def probe(channel):
    """A probe's whole work: its facts, and then more memory than there is, which should end it."""
    import harness_probe

    request = channel.setup()
    if request is None:
        return
    facts = harness_probe.facts(request["hidden"], request["sealed"])
    channel.send(b"F", json.dumps(facts).encode("ascii"))
    harness_probe.allocate(request["over_bytes"])
    _exit(EXIT_OVER_LIMIT)


def serve():
    """The whole life of the process. Returns where the input ended before a job."""
    channel = Channel()
    setup = channel.setup()
    if setup is None:
        return
    table = setup["modules"]
    builtin_names = setup["builtins"]
    if type(table) is not dict or type(builtin_names) is not list:
        raise TypeError
    sys.set_int_max_str_digits(0)
    import warnings

    warnings.simplefilter("ignore")
    loaded, missing = load_modules(table)
    ready = {"protocol": PROTOCOL, "python": sys.version.split()[0], "missing": missing, "pid": getpid()}
    if setup.get("probe") is True:
        channel.send(b"R", json.dumps(ready).encode("ascii"))
        return probe(channel)
    harness_names.learn_modules()
    offered = build_walls(table, loaded, builtin_names)
    gc_freeze()
    channel.send(b"R", json.dumps(ready).encode("ascii"))
    job = channel.job()
    if job is None:
        return
    # Default actions do nothing to PID 1; a handler does.
    signal(SIGALRM, lambda number, frame: _exit(EXIT_DEADLINE))
    setitimer(ITIMER_REAL, job[0]["wall_seconds"] + BACKSTOP_SECONDS)
    reply, result = answer(job, offered)
    # The service's mark of this job comes back with the answer. It waits in the channel, for the frames below a
    # function hold whatever is a variable here.
    if channel.seal is not None:
        reply["seal"] = channel.seal
    header = json.dumps(reply).encode("ascii")
    channel.send(b"A", len(header).to_bytes(4, "big") + header, result)
    # Where no seal was asked for, the exit is what confirms the answer.
    if channel.seal is not None:
        sleep(LINGER_SECONDS)


def main():
    try:
        serve()
    except BaseException:
        _exit(EXIT_FAULT)
    _exit(0)


if __name__ == "__main__":
    main()
