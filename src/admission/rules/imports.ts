import { dottedText } from '../bind-names.ts';
import type { JudgedSource } from '../judged-source.ts';
import { classBodyOf } from '../node-places.ts';
import { childOf, type SyntaxNode } from '../syntax-tree.ts';
import { MEMBER_HINTS } from './module-members.ts';
import type { Refuse, Rule } from './rule.ts';

/** What honest code reaches for, and what serves instead. */
const INSTEAD: ReadonlyMap<string, string> = new Map(
  Object.entries({
    numpy: 'Use math, statistics and comprehensions.',
    pandas: 'Use lists of dictionaries with collections, statistics and itertools.',
    time: 'Use datetime for dates; a function has no clock to wait on.',
    os: 'Remove it: a function has no files, environment or processes.',
    sys: 'Remove it: return the result instead.',
    requests: 'Remove it: everything the function needs is in data.',
    pathlib: 'Use str methods such as rsplit on file names.',
    abc: 'Leave ABC and abstractmethod out, and raise NotImplementedError in the method of the base class.',
    contextlib: 'Use try and except or finally, or a class with __enter__ and __exit__.',
    logging: 'Remove it: only the value that compute returns counts.',
    warnings: 'Remove it: only the value that compute returns counts.',
    traceback: 'Use str(error) and type(error).__name__.',
    io: 'Use str.splitlines on a text.',
    locale: "Use an f-string such as f'{amount:,.2f}'.",
    numbers: 'Use isinstance(x, (int, float)).',
    types: 'Use a dictionary or a dataclass.',
    array: 'Use a list.',
    urllib: 'Use str.partition and str.split on an address.',
    asyncio: 'Write an ordinary function with ordinary calls.',
    threading: 'Write an ordinary loop.',
    csv: 'Use str.split and splitlines.',
    dateutil: 'Use datetime.fromisoformat or datetime.strptime.',
    pytz: 'Use zoneinfo.ZoneInfo.',
  }),
);

function paths(node: SyntaxNode): SyntaxNode[] {
  return node.children
    .filter((child) => child.field === 'name')
    .map((entry) => (entry.type === 'aliased_import' ? (childOf(entry, 'name') ?? entry) : entry));
}

function refuseModule(at: SyntaxNode, module: string, judged: JudgedSource, refuse: Refuse): void {
  const instead = INSTEAD.get(module.split('.')[0] ?? '') ?? 'Remove the import.';
  const admitted = judged.modules.names.join(', ');
  refuse(at, module, 'This module is not admitted.', `${instead} Admitted modules: ${admitted}.`);
}

function visitFrom(node: SyntaxNode, judged: JudgedSource, refuse: Refuse): void {
  const from = childOf(node, 'module_name');
  if (from === null || from.type === 'relative_import') {
    refuse(
      from ?? node,
      from?.text ?? 'relative',
      'Relative imports are not admitted.',
      'Remove the import.',
    );
    return;
  }
  const module = dottedText(from);
  if (!judged.modules.has(module)) {
    refuseModule(from, module, judged, refuse);
    return;
  }
  const star = node.children.find((child) => child.type === 'wildcard_import');
  if (star) refuse(star, `${module}.*`, 'A star import is not admitted.', 'Import the names that are used.');
  for (const path of paths(node)) {
    const name = dottedText(path);
    if (judged.modules.admits(module, name) || judged.modules.has(`${module}.${name}`)) continue;
    const hint = MEMBER_HINTS.get(name) ?? judged.modules.offer(module) ?? undefined;
    refuse(path, `${module}.${name}`, `This name of ${module} is not admitted.`, hint);
  }
}

export const imports: Rule = {
  id: 'import',
  title: 'Imports',
  reason:
    "Only the modules of the prompt pack, and of them only the names listed there: the standard library's own " +
    'modules hold sys, os and builtins as public attributes.',
  hint: 'Remove the import, or use another name of an admitted module.',
  on: ['import_statement', 'import_from_statement', 'future_import_statement'],
  visit(node, judged, refuse) {
    if (classBodyOf(node) !== null) {
      refuse(node, 'in a class', 'An import may not stand in a class body.', 'Move the import to the top.');
    }
    if (node.type === 'import_from_statement') {
      visitFrom(node, judged, refuse);
      return;
    }
    const future = node.type === 'future_import_statement';
    for (const path of paths(node)) {
      const name = dottedText(path);
      if (future && (name !== 'annotations' || path.parent?.type === 'aliased_import')) {
        refuse(path, `__future__.${name}`, 'Only annotations may be imported from __future__.');
      } else if (!future && !judged.modules.has(name)) refuseModule(path, name, judged, refuse);
    }
  },
};
