import { bindNames, dottedText } from './bind-names.ts';
import { createPythonParser } from './parse.ts';
import { canonicalSource } from './source-text.ts';
import { childOf, partsOf, type SyntaxNode, unwrapped } from './syntax-tree.ts';

/** What a parser saw in a source; for comparing two parsers in tests. */
export interface NamesSeen {
  /** Every identifier: names, attributes, parameters, keywords, parts of imports. */
  readonly identifiers: ReadonlySet<string>;
  /** What stands after a dot, or before `=` in a class pattern. */
  readonly attributes: ReadonlySet<string>;
  /** Modules of import statements, without leading dots. */
  readonly modules: ReadonlySet<string>;
  /**
   * What each name is used as, sorted, one entry a use: `load x`, `bind x`, `call x` (also a load) and
   * `x.name` for an attribute of a plain name.
   */
  readonly roles: readonly string[];
}

/** Makes the function that lists what admission's parser sees; null where it sees no tree. */
export async function createNamesSeen(): Promise<(source: string) => NamesSeen | null> {
  const parser = await createPythonParser();
  return (source) => {
    const parsed = parser.parse(canonicalSource(source).text);
    return parsed.ok ? collect(parsed.root) : null;
  };
}

function collect(root: SyntaxNode): NamesSeen {
  const identifiers = new Set<string>();
  const attributes = new Set<string>();
  const modules = new Set<string>();
  const { loads, bindings } = bindNames(root);
  const roles = [...loads.map(({ name }) => `load ${name}`), ...bindings.map(({ name }) => `bind ${name}`)];
  const waiting: SyntaxNode[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    for (const child of node.children) waiting.push(child);
    roles.push(...rolesOf(node));
    if (node.type === 'identifier') {
      identifiers.add(node.text);
      if (isAttribute(node)) attributes.add(node.text);
    } else if (node.type === '__future__') modules.add(node.text);
    else if (node.type === 'dotted_name' && isModule(node)) modules.add(dottedText(node));
  }
  return { identifiers, attributes, modules, roles: roles.sort() };
}

function rolesOf(node: SyntaxNode): string[] {
  if (node.type === 'call') {
    const callee = childOf(node, 'function');
    const plain = callee === null ? null : unwrapped(callee);
    return plain?.type === 'identifier' ? [`call ${plain.text}`] : [];
  }
  const isPattern = node.type === 'dotted_name' && !isImport(node);
  const [object, attribute] = node.type === 'attribute' || isPattern ? partsOf(node) : [];
  const plain = object === undefined ? null : unwrapped(object);
  return plain?.type === 'identifier' && attribute !== undefined ? [`${plain.text}.${attribute.text}`] : [];
}

function isImport(node: SyntaxNode): boolean {
  return node.parent?.type.includes('import') === true;
}

function isAttribute(node: SyntaxNode): boolean {
  const parent = node.parent;
  if (parent?.type === 'attribute') return node.field === 'attribute';
  if (parent?.type === 'keyword_pattern') return parent.children[0] === node;
  return parent?.type === 'dotted_name' && parent.children[0] !== node;
}

function isModule(node: SyntaxNode): boolean {
  const statement = node.parent?.type === 'aliased_import' ? node.parent.parent : node.parent;
  if (node.parent?.type === 'relative_import' || node.field === 'module_name') return true;
  return statement?.type === 'import_statement' && childOf(statement, 'name') !== null;
}
