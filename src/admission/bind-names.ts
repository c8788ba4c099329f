import {
  type AttributeStore,
  type Binding,
  type BindingKind,
  type Imported,
  type Load,
  Scope,
} from './scope.ts';
import { childOf, childrenOfType, partsOf, type SyntaxNode } from './syntax-tree.ts';

/** Every name, binding and attribute store of a source, with the scope it stands in. */
export interface BoundNames {
  readonly module: Scope;
  readonly loads: readonly Load[];
  readonly bindings: readonly Binding[];
  readonly stores: readonly AttributeStore[];
  /** `nonlocal` names that no enclosing function binds. */
  readonly orphans: readonly SyntaxNode[];
  /** Things that stand where only a target can stand. */
  readonly badTargets: readonly SyntaxNode[];
}

const COMPREHENSIONS = new Set([
  'list_comprehension',
  'set_comprehension',
  'dictionary_comprehension',
  'generator_expression',
]);

/** Target nodes that only group further targets. */
const TARGET_GROUPS = new Set([
  'pattern_list',
  'tuple_pattern',
  'list_pattern',
  'list_splat_pattern',
  'as_pattern_target',
  'tuple',
  'list',
  'expression_list',
  'parenthesized_expression',
  'list_splat',
]);

/** Walks the tree once in Python's scoping order. Recursion is bounded by MAX_TREE_DEPTH. */
export function bindNames(root: SyntaxNode): BoundNames {
  const walk = new NameWalk(root);
  walk.visitAll(partsOf(root), walk.module);
  return walk.finish();
}

class NameWalk {
  readonly module: Scope;
  readonly loads: Load[] = [];
  readonly bindings: Binding[] = [];
  readonly stores: AttributeStore[] = [];
  readonly badTargets: SyntaxNode[] = [];

  constructor(root: SyntaxNode) {
    this.module = new Scope('module', root, null);
  }

  /** Gives each binding to the scope that owns it: `nonlocal` ones last, once all owners are known. */
  finish(): BoundNames {
    const orphans: SyntaxNode[] = [];
    const isForeign = (binding: Binding) => binding.scope.nonlocals.has(binding.name);
    for (const binding of this.bindings) if (!isForeign(binding)) binding.scope.bind(binding);
    for (const binding of this.bindings) {
      if (!isForeign(binding)) continue;
      const owner = binding.scope.nonlocalOwner(binding.name);
      if (owner === null) orphans.push(binding.node);
      else if (binding.kind !== 'nonlocal') owner.bind(binding);
    }
    const { module, loads, bindings, stores, badTargets } = this;
    return { module, loads, bindings, stores, orphans, badTargets };
  }

  visitAll(nodes: readonly SyntaxNode[], scope: Scope): void {
    for (const node of nodes) this.visit(node, scope);
  }

  /** Visits a node whose value is used. */
  visit(node: SyntaxNode, scope: Scope): void {
    if (COMPREHENSIONS.has(node.type)) {
      this.visitComprehension(node, scope);
      return;
    }
    switch (node.type) {
      case 'identifier':
        this.loads.push({ node, name: node.text, scope });
        return;
      case 'function_definition':
      case 'lambda':
        this.visitFunction(node, scope);
        return;
      case 'class_definition':
        this.visitClass(node, scope);
        return;
      case 'assignment':
        this.visitAssignment(node, scope);
        return;
      case 'augmented_assignment':
        this.visitAugmented(node, scope);
        return;
      case 'named_expression': {
        const [name, value] = partsOf(node);
        if (value) this.visit(value, scope);
        if (name) this.bindName(name, functionScopeOf(scope), 'walrus', value ?? null);
        return;
      }
      case 'for_statement':
        this.visitWithTarget(node, 'left', scope, 'for');
        return;
      case 'as_pattern':
        this.visitAsPattern(node, scope);
        return;
      case 'except_clause':
        this.visitWithTarget(node, 'alias', scope, 'except');
        return;
      case 'delete_statement':
        for (const target of partsOf(node)) this.bindTarget(target, scope, 'delete', null);
        return;
      case 'nonlocal_statement':
        for (const name of partsOf(node)) {
          scope.nonlocals.add(name.text);
          this.bindName(name, scope, 'nonlocal', null);
        }
        return;
      case 'global_statement':
        // Refused as a statement; its names are bound so that no second refusal follows from it.
        for (const name of partsOf(node)) this.bindName(name, scope, 'assign', null);
        return;
      case 'import_statement':
      case 'import_from_statement':
      case 'future_import_statement':
        this.visitImport(node, scope);
        return;
      case 'attribute':
      case 'member_type':
        // The last part is the attribute's name, not a name of a scope.
        this.visitAll(partsOf(node).slice(0, 1), scope);
        return;
      case 'keyword_argument':
        this.visitAll(partsOf(node).slice(1), scope);
        return;
      case 'dotted_name':
        this.visitAll(partsOf(node).slice(0, 1), scope);
        return;
      case 'case_clause':
        for (const part of partsOf(node)) {
          if (part.type === 'case_pattern') this.visitPattern(part, scope);
          else this.visit(part, scope);
        }
        return;
      default:
        this.visitAll(partsOf(node), scope);
        return;
    }
  }

  private bindName(
    node: SyntaxNode,
    scope: Scope,
    kind: BindingKind,
    value: SyntaxNode | null,
    imported: Imported | null = null,
  ): void {
    this.bindings.push({ kind, node, name: node.text, scope, value, imported });
  }

  /** Visits what stands on the left of `=`, after `for`, `as` or `del`. */
  private bindTarget(node: SyntaxNode, scope: Scope, kind: BindingKind, value: SyntaxNode | null): void {
    if (node.type === 'identifier') {
      this.bindName(node, scope, kind, value);
      return;
    }
    if (node.type === 'attribute') {
      this.stores.push({ node, kind });
      this.visit(node, scope);
      return;
    }
    if (node.type === 'subscript') {
      this.visit(node, scope);
      return;
    }
    if (TARGET_GROUPS.has(node.type)) {
      for (const part of partsOf(node)) this.bindTarget(part, scope, kind, null);
      return;
    }
    this.badTargets.push(node);
    this.visit(node, scope);
  }

  /** Visits a statement, binding the child in the role `field` as a target. */
  private visitWithTarget(node: SyntaxNode, field: string, scope: Scope, kind: BindingKind): void {
    for (const part of partsOf(node)) {
      if (part.field === field) this.bindTarget(part, scope, kind, null);
      else this.visit(part, scope);
    }
  }

  private visitAssignment(node: SyntaxNode, scope: Scope): void {
    const left = childOf(node, 'left');
    const right = childOf(node, 'right');
    const type = childOf(node, 'type');
    if (right) this.visit(right, scope);
    if (type) this.visit(type, scope);
    // In `a = b = value` the right side of `a` is the assignment to `b`.
    let value = right;
    while (value?.type === 'assignment') value = childOf(value, 'right');
    if (left) this.bindTarget(left, scope, right ? 'assign' : 'declare', value);
  }

  private visitAugmented(node: SyntaxNode, scope: Scope): void {
    const left = childOf(node, 'left');
    const right = childOf(node, 'right');
    if (right) this.visit(right, scope);
    if (left?.type === 'identifier') this.visit(left, scope);
    if (left) this.bindTarget(left, scope, 'augment', null);
  }

  private visitFunction(node: SyntaxNode, scope: Scope): void {
    const name = node.type === 'lambda' ? null : childOf(node, 'name');
    if (name) this.bindName(name, scope, 'def', node);
    const inner = new Scope('function', node, scope);
    for (const part of partsOf(node)) {
      if (part === name) continue;
      if (part.type === 'parameters' || part.type === 'lambda_parameters') {
        for (const parameter of partsOf(part)) this.visitParameter(parameter, scope, inner);
      } else this.visit(part, part.field === 'body' ? inner : scope);
    }
  }

  /** Binds a parameter inside; its default and annotation are evaluated outside. */
  private visitParameter(node: SyntaxNode, outer: Scope, inner: Scope): void {
    if (node.type === 'identifier') {
      this.bindName(node, inner, 'parameter', null);
      return;
    }
    if (node.type === 'keyword_separator' || node.type === 'positional_separator') return;
    const splat = node.type === 'list_splat_pattern' || node.type === 'dictionary_splat_pattern';
    for (const part of partsOf(node)) {
      if (part.field === 'type' || part.field === 'value') this.visit(part, outer);
      else if (part.type === 'identifier') this.bindName(part, inner, 'parameter', null);
      else if (!splat && part.type.endsWith('_splat_pattern')) this.visitParameter(part, outer, inner);
      else this.badTargets.push(part);
    }
  }

  private visitClass(node: SyntaxNode, scope: Scope): void {
    const name = childOf(node, 'name');
    if (name) this.bindName(name, scope, 'class', node);
    const inner = new Scope('class', node, scope);
    for (const part of partsOf(node)) {
      if (part !== name) this.visit(part, part.field === 'body' ? inner : scope);
    }
  }

  /** The first iterable is evaluated outside, all else inside. */
  private visitComprehension(node: SyntaxNode, scope: Scope): void {
    const inner = new Scope('comprehension', node, scope);
    let outermost = true;
    for (const part of partsOf(node)) {
      if (part.type !== 'for_in_clause') continue;
      for (const piece of partsOf(part)) {
        if (piece.field === 'left') this.bindTarget(piece, inner, 'for', null);
        else this.visit(piece, outermost ? scope : inner);
      }
      outermost = false;
    }
    for (const part of partsOf(node)) if (part.type !== 'for_in_clause') this.visit(part, inner);
  }

  /** `value as target` of a with item or an except clause. */
  private visitAsPattern(node: SyntaxNode, scope: Scope): void {
    const kind = node.parent?.type === 'except_clause' ? 'except' : 'with';
    for (const part of partsOf(node)) {
      if (part.type !== 'as_pattern_target') this.visit(part, scope);
      else {
        const [target] = partsOf(part);
        const value = kind === 'with' && target?.type === 'identifier' ? (partsOf(node)[0] ?? null) : null;
        if (target) this.bindTarget(target, scope, kind, value);
      }
    }
  }

  /** A pattern of `match`: a lone name captures, a dotted one is loaded. */
  private visitPattern(node: SyntaxNode, scope: Scope): void {
    const parts = partsOf(node);
    switch (node.type) {
      case 'dotted_name':
        if (parts.length > 1) this.visit(node, scope);
        else for (const name of parts) this.bindName(name, scope, 'capture', null);
        return;
      case 'class_pattern':
        for (const [index, part] of parts.entries()) {
          if (index === 0) this.visit(part, scope);
          else this.visitPattern(part, scope);
        }
        return;
      case 'keyword_pattern':
        // The first part is an attribute's name.
        for (const part of parts.slice(1)) this.visitPattern(part, scope);
        return;
      case 'identifier':
        this.bindName(node, scope, 'capture', null);
        return;
      case 'string':
      case 'concatenated_string':
        this.visit(node, scope);
        return;
      default:
        for (const part of parts) this.visitPattern(part, scope);
    }
  }

  private visitImport(node: SyntaxNode, scope: Scope): void {
    const from = node.type === 'future_import_statement' ? '__future__' : childOf(node, 'module_name')?.text;
    for (const entry of node.children.filter((child) => child.field === 'name')) {
      const path = entry.type === 'aliased_import' ? childOf(entry, 'name') : entry;
      const alias = entry.type === 'aliased_import' ? childOf(entry, 'alias') : null;
      const [first] = path === null ? [] : childrenOfType(path, 'identifier');
      if (path === null || first === undefined) continue;
      const dotted = dottedText(path);
      if (from !== undefined) {
        this.bindName(alias ?? first, scope, 'import', null, {
          module: from.replace(/\s/g, ''),
          name: dotted,
        });
      } else if (alias) this.bindName(alias, scope, 'import', null, { module: dotted, name: null });
      else this.bindName(first, scope, 'import', null, { module: first.text, name: null });
    }
  }
}

/** The text of a dotted name without the blanks that may stand around its dots. */
export function dottedText(node: SyntaxNode): string {
  return childrenOfType(node, 'identifier')
    .map((part) => part.text)
    .join('.');
}

/** A walrus in a comprehension binds in the function or module around it. */
function functionScopeOf(scope: Scope): Scope {
  let at = scope;
  while (at.kind === 'comprehension' && at.parent !== null) at = at.parent;
  return at;
}
