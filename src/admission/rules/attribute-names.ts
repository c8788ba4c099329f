import type { JudgedSource } from '../judged-source.ts';
import { useOf } from '../node-places.ts';
import { childOf, partsOf, type SyntaxNode, wrapped } from '../syntax-tree.ts';
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
    _abc_caches_clear _abc_impl _abc_registry_clear _determine_new_args _dump_registry _evaluate _field_type
    _getitem _inst _is_protocol _is_runtime_protocol _make_substitution _operator_fallbacks _unpickle
  `),
);

/** Private names that named tuples make public. */
const NAMED_TUPLE_ATTRIBUTES = new Set(['_asdict', '_replace', '_fields', '_make']);

const PRIVATE_RECEIVERS = ['self', 'cls', 'other'];

/** What a method of an enumeration may read and set of its member. */
const MEMBER_ATTRIBUTES = new Set(['_value_', '_name_']);

/** The tables of an enumeration. Emptied, they let a call of it make a class; so they are only looked up in. */
const ENUM_TABLES = new Set(['_value2member_map_', '_member_map_', '_member_names_']);
const TABLE_METHODS = new Set(['get', 'items', 'keys', 'values']);
const TABLE_READERS = ['dict', 'len', 'list', 'set', 'sorted', 'tuple'];

/** What the body of an enumeration may declare besides its members and methods. */
const ENUM_FIELDS = new Set([...MEMBER_ATTRIBUTES, '_order_', '_ignore_']);

/** Names with an underscore at both ends belong to enumerations; `_add_alias_` sets any attribute of one. */
const isSunder = (name: string) =>
  name.startsWith('_') && name.endsWith('_') && name.length > 1 && !name.startsWith('__');

/** Whether a table of an enumeration is only looked up in where it stands. */
function isLookup(table: SyntaxNode, judged: JudgedSource): boolean {
  const at = wrapped(table);
  const parent = at.parent;
  switch (parent?.type) {
    case 'comparison_operator':
      return true;
    case 'for_in_clause':
    case 'for_statement':
      return at.field === 'right';
    case 'subscript':
      return at.field === 'value' && useOf(parent) === 'load';
    case 'attribute': {
      const called = parent.field === 'function' && parent.parent?.type === 'call';
      return at.field === 'object' && called && TABLE_METHODS.has(childOf(parent, 'attribute')?.text ?? '');
    }
    case 'argument_list': {
      const callee = parent.parent === null ? null : childOf(parent.parent, 'function');
      return callee !== null && TABLE_READERS.some((name) => judged.isSurelyBuiltin(callee, name));
    }
    default:
      return false;
  }
}

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
  return judged.bound.bindings.some(({ value }) => {
    const list = value?.type === 'class_definition' ? childOf(value, 'superclasses') : null;
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
    } else if (ENUM_TABLES.has(name)) {
      if (object.parent?.type === 'attribute' && isLookup(object.parent, judged)) return;
      refuse(at, name, 'A table of an enumeration may only be looked up in.', 'Use: value in self.table.');
    } else if (isSunder(name)) {
      if (MEMBER_ATTRIBUTES.has(name)) return;
      refuse(
        at,
        name,
        'This attribute of enumerations is not admitted.',
        'Use value, name, or a loop over the class.',
      );
    } else if (!ownPrivateNames(judged).has(name)) {
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
    'standard library run text, as _evaluate of an annotation does, or set attributes by their text, as _add_alias_ of an enumeration. self may be any object where a method is called on its class. Class patterns read ' +
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
        if (binding?.scope.kind !== 'class') return;
        const reserved = isSunder(binding.name) && binding.kind !== 'def' && !ENUM_FIELDS.has(binding.name);
        if (reserved || DENIED_ATTRIBUTES.has(binding.name)) {
          refuse(node, binding.name, `A field may not be named ${binding.name}.`, 'Use another name.');
        }
      }
    }
  },
};
