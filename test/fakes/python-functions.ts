/** A function `compute(data)` with these lines for its body. */
export const compute = (...lines: string[]): string =>
  `def compute(data):\n${lines.map((line) => `    ${line}\n`).join('')}`;

/**
 * A function that admission would refuse: it walks from a tuple to the harness's own functions. What it does with
 * them is `lines`; `write(OUT, …)` writes to the frame channel, `leave(code)` ends the process, `channel` has the names
 * of the harness's channel, `found` every loaded module by its name.
 */
export const escaped = (...lines: string[]): string =>
  compute(
    'classes = {cls.__name__: cls for cls in ().__class__.__base__.__subclasses__()}',
    'channel = classes["Channel"].__init__.__globals__',
    'main = classes["Printed"].__init__.__globals__',
    'found = main["sys"].modules',
    'write = channel["write"]',
    'leave = main["_exit"]',
    'OUT = 3',
    'def frame(header, result):',
    '    payload = len(header).to_bytes(4, "big") + header + result',
    '    return b"A" + len(payload).to_bytes(4, "big") + payload',
    'forged = frame(b\'{"status": "returned", "cpu_ns": 1, "maxrss_bytes": 1}\', b"666")',
    ...lines,
  );
