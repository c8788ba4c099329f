import type { JudgedSource } from '../judged-source.ts';
import { childOf, partsOf, type SyntaxNode } from '../syntax-tree.ts';
import type { Refuse, Rule } from './rule.ts';
import { isSuperInit } from './super-calls.ts';

const words = (text: string): string[] => text.trim().split(/\s+/);

/**
 * Attributes that lead to frames, code, tracebacks or live objects, or run text. Exact names: f_score is a fair
 * field.
 */
export const DENIED_ATTRIBUTES: ReadonlySet<string> = new Set(
  words(`
    gi_code gi_frame gi_running gi_suspended gi_yieldfrom cr_await cr_code cr_frame cr_origin cr_running
    cr_suspended ag_await ag_code ag_frame ag_running ag_suspended tb_frame tb_lasti tb_lineno tb_next
    f_back f_builtins f_code f_generator f_globals f_locals f_trace
    mro obj with_traceback from_file
    _evaluate _convert_ _create_ _getitem _inst _make_substitution _unpickle
  `),
);

/** Private names that named tuples make public. */
const NAMED_TUPLE_ATTRIBUTES = new Set(['_asdict', '_replace', '_fields', '_make']);

const PRIVATE_RECEIVERS = ['self', 'cls', 'other'];

/** Private names of enumerations that methods of one may read. */
const ENUM_ATTRIBUTES = new Set([
  '_value_',
  '_name_',
  '_value2member_map_',
  '_member_map_',
  '_member_names_',
]);

/** Private names that the source itself sets on objects or defines in classes; all others are the library's. */
function ownPrivateNames(judged: JudgedSource): ReadonlySet<string> {
  return judged.once('own private names', judged.root, () => {
    const stored = judged.bound.stores.map(({ node }) => childOf(node, 'attribute')?.text ?? '');
    const defined = judged.bound.bindings
      .filter(({ scope }) => scope.kind === 'class')
      .map(({ name }) => name);
    return new Set([...stored, ...defined]);
  });
}

const HINTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    __class__: 'Use type(x).__name__ or isinstance(x, …).',
    __dict__: 'Use dataclasses.asdict, or a dictionary to begin with.',
    __doc__: 'Keep the text in a variable.',
    __init__: 'Use super().__init__(…).',
    __len__: 'Use len(x).',
    __str__: 'Use str(x).',
    __getitem__: 'Use x[key].',
    __contains__: 'Use "in".',
    __traceback__: 'Use str(error).',
    with_traceback: 'Use raise … from error.',
    mro: 'Use isinstance.',
  }),
);

/** Whether any class of the source derives from an imported class, which may be an abstract one. */
function hasImportedBase(judged: JudgedSource): boolean {
  return judged.bound.bindings.some(({ kind, value }) => {
    const list = kind === 'class' && value !== null ? childOf(value, 'superclasses') : null;
    return (list ? partsOf(list) : []).some((base) =>
      judged
        .membersOf(base)
        .some(({ module, name }) => module !== 'enum' && !/^(?:NamedTuple|TypedDict)$/.test(name)),
    );
  });
}

function visitName(
  at: SyntaxNode,
  name: string,
  object: SyntaxNode | null,
  judged: JudgedSource,
  refuse: Refuse,
) {
  if (DENIED_ATTRIBUTES.has(name)) {
    refuse(at, name, `The attribute ${name} is not admitted.`, HINTS.get(name));
  } else if (name.startsWith('__')) {
    if (name === '__name__') return;
    if (name === '__init__' && object?.type === 'call') {
      const callee = childOf(object, 'function');
      if (callee !== null && judged.isBuiltin(callee, 'super') && isSuperInit(callee)) return;
    }
    refuse(at, name, 'An attribute with two leading underscores may not be used.', HINTS.get(name));
  } else if (name.startsWith('_') && !NAMED_TUPLE_ATTRIBUTES.has(name)) {
    if (object === null || !judged.isMethodParameter(object, PRIVATE_RECEIVERS)) {
      refuse(at, name, 'An attribute with a leading underscore may only be used on self, cls or other.');
    } else if (!ENUM_ATTRIBUTES.has(name) && !ownPrivateNames(judged).has(name)) {
      refuse(at, name, 'No class of the function defines this attribute.', 'Set it in __init__ first.');
    }
  } else if (
    name === 'register' &&
    judged.once('imported base', judged.root, () => hasImportedBase(judged))
  ) {
    refuse(at, name, 'register is not admitted beside a class with an imported base.', 'Rename the method.');
  }
}

export const attributeNames: Rule = {
  id: 'attribute',
  title: 'Attributes',
  reason:
    'Special attributes lead from any value to its class, its globals and the interpreter; private ones of the ' +
    'standard library run text, as _evaluate of an annotation does. Class patterns read ' +
    'attributes too: by keyword, and by position through the fields of a class, so a field may not have a denied ' +
    'name either; register makes an abstract class of the source match objects that are not its own.',
  hint: 'Use public attributes and methods of the value.',
  on: ['attribute', 'dotted_name', 'keyword_pattern', 'member_type', 'identifier'],
  visit(node, judged, refuse) {
    const parts = partsOf(node);
    const last = parts.at(-1);
    switch (node.type) {
      case 'attribute':
      case 'member_type':
        if (last) visitName(last, last.text, parts[0] ?? null, judged, refuse);
        return;
      case 'dotted_name':
        if (node.parent?.type.includes('import') === true) return;
        for (const part of parts.slice(1)) visitName(part, part.text, null, judged, refuse);
        return;
      case 'keyword_pattern':
        if (parts[0]) visitName(parts[0], parts[0].text, null, judged, refuse);
        return;
      default: {
        const binding = judged.binding(node);
        if (binding?.scope.kind === 'class' && DENIED_ATTRIBUTES.has(binding.name)) {
          refuse(node, binding.name, `A field may not be named ${binding.name}.`, 'Use another name.');
        }
      }
    }
  },
};
