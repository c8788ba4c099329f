import { type BoundNames, bindNames } from './bind-names.ts';
import { ADMITTED_BUILTINS } from './builtins.ts';
import type { AdmittedModules } from './modules.ts';
import type { Binding, BindingKind, Candidates, Imported, Load, ScopedName } from './scope.ts';
import type { SourceText } from './source-text.ts';
import { partsOf, type SyntaxNode, unwrapped } from './syntax-tree.ts';

/** A node that stands for a member of a module: `module` is known to be one, `name` may be anything. */
export interface Member {
  readonly module: string;
  readonly name: string;
}

/** What the bindings of one name come to, so that a rule need not look at each of them at every load. */
export interface NameSummary {
  readonly modules: readonly string[];
  readonly members: readonly Member[];
  /** The kinds of binding that occur. */
  readonly kinds: ReadonlySet<BindingKind>;
  /** Whether every binding is an import of one and the same module, or none is of a module. */
  readonly isConstantModule: boolean;
}

const NOTHING: Candidates = { names: [], builtin: false };

/** A parsed source with the answers that rules ask of it: which names, modules and members a node may mean. */
export class JudgedSource {
  readonly source: SourceText;
  readonly root: SyntaxNode;
  readonly modules: AdmittedModules;
  readonly bound: BoundNames;
  private readonly loadOf = new Map<SyntaxNode, Load>();
  private readonly bindingOf = new Map<SyntaxNode, Binding>();
  private readonly loadsByName = new Map<string, Load[]>();
  private readonly candidatesOf = new Map<SyntaxNode, Candidates>();
  private readonly answers = new Map<string, Map<object, unknown>>();

  constructor(source: SourceText, root: SyntaxNode, modules: AdmittedModules) {
    this.source = source;
    this.root = root;
    this.modules = modules;
    this.bound = bindNames(root);
    for (const load of this.bound.loads) {
      this.loadOf.set(load.node, load);
      const others = this.loadsByName.get(load.name);
      if (others) others.push(load);
      else this.loadsByName.set(load.name, [load]);
    }
    for (const binding of this.bound.bindings) this.bindingOf.set(binding.node, binding);
  }

  /** The load at an identifier, or null where it binds, or is no name of a scope. */
  load(node: SyntaxNode): Load | null {
    return this.loadOf.get(node) ?? null;
  }

  /** The binding at an identifier, or null. */
  binding(node: SyntaxNode): Binding | null {
    return this.bindingOf.get(node) ?? null;
  }

  /** What an identifier may mean where it is loaded. */
  candidates(node: SyntaxNode): Candidates {
    const known = this.candidatesOf.get(node);
    if (known !== undefined) return known;
    const load = this.loadOf.get(node);
    if (load === undefined) return NOTHING;
    const found = load.scope.candidates(load.name);
    this.candidatesOf.set(node, found);
    return found;
  }

  /**
   * Answers a question about a name or a node once and keeps the answer: without it a source with many bindings
   * and many loads of one name takes quadratic time. Holds at most one answer a question and node.
   */
  once<T>(question: string, about: object, answer: () => T): T {
    let known = this.answers.get(question);
    if (known === undefined) {
      known = new Map();
      this.answers.set(question, known);
    }
    if (!known.has(about)) known.set(about, answer());
    return known.get(about) as T;
  }

  /** Every load that may mean this name. */
  loadsOf(name: ScopedName): readonly Load[] {
    return this.once('loads', name, () =>
      (this.loadsByName.get(name.name) ?? []).filter((load) =>
        this.candidates(load.node).names.includes(name),
      ),
    );
  }

  /** The names that a class body itself loads. */
  loadedInBody(definition: SyntaxNode): ReadonlyMap<string, Load> {
    const byBody = this.once('loaded in bodies', this.root, () => {
      const found = new Map<SyntaxNode, Map<string, Load>>();
      for (const load of this.bound.loads) {
        if (load.scope.kind !== 'class') continue;
        const known = found.get(load.scope.node) ?? new Map<string, Load>();
        found.set(load.scope.node, known.has(load.name) ? known : known.set(load.name, load));
      }
      return found;
    });
    return byBody.get(definition) ?? new Map();
  }

  /** What the bindings of a name come to. */
  summary(name: ScopedName): NameSummary {
    return this.once('summary', name, () => {
      const modules = new Set<string>();
      const members = new Map<string, Member>();
      let others = 0;
      for (const { imported } of name.bindings) {
        const module = this.importedModule(imported);
        if (module !== null) modules.add(module);
        else others += 1;
        if (imported !== null && imported.name !== null) {
          members.set(`${imported.module}.${imported.name}`, {
            module: imported.module,
            name: imported.name,
          });
        }
      }
      return {
        modules: [...modules],
        members: [...members.values()],
        kinds: new Set(name.bindings.map(({ kind }) => kind)),
        isConstantModule: modules.size === 0 || (modules.size === 1 && others === 0),
      };
    });
  }

  /**
   * The one name of the source that an identifier means, or null. A name of the module or of a class that is
   * spelled like a builtin is not sure: where its binding never ran, the builtin is found.
   */
  soleName(node: SyntaxNode): ScopedName | null {
    const { names, builtin } = this.candidates(node);
    const [name, second] = names;
    if (name === undefined || second !== undefined) return null;
    return builtin && ADMITTED_BUILTINS.has(node.text) ? null : name;
  }

  /** Whether an identifier means this builtin and can mean nothing else. */
  isSurelyBuiltin(node: SyntaxNode, name: string): boolean {
    return this.isBuiltin(node, name) && this.candidates(node).names.length === 0;
  }

  /** Whether an identifier may mean this builtin. */
  isBuiltin(node: SyntaxNode, name: string): boolean {
    return node.type === 'identifier' && node.text === name && this.candidates(node).builtin;
  }

  /** The modules that an expression may be: `math`, `collections.abc`. */
  modulesOf(expression: SyntaxNode): string[] {
    const node = unwrapped(expression);
    if (node.type === 'identifier') {
      return [...new Set(this.candidates(node).names.flatMap((name) => this.summary(name).modules))];
    }
    return this.membersOf(node)
      .map(({ module, name }) => `${module}.${name}`)
      .filter((module) => this.modules.has(module) || this.modules.isPackage(module));
  }

  /**
   * The members of modules that an expression may be: `sqrt` after `from math import sqrt`, `math.sqrt`, and a
   * pattern's `math.pi`. Anything after a module's dot is one, admitted or not.
   */
  membersOf(expression: SyntaxNode): Member[] {
    const node = unwrapped(expression);
    if (node.type === 'identifier') {
      return this.candidates(node).names.flatMap((name) => this.summary(name).members);
    }
    const [object, attribute] = partsOf(node);
    if (object === undefined || attribute === undefined) return [];
    if (node.type !== 'attribute' && node.type !== 'dotted_name') return [];
    return this.modulesOf(object).map((module) => ({ module, name: attribute.text }));
  }

  /** The module that an import binds, or null where it binds a member of one, or where there is no import. */
  importedModule(imported: Imported | null): string | null {
    if (imported === null) return null;
    if (imported.name === null) return imported.module;
    const module = `${imported.module}.${imported.name}`;
    return this.modules.has(module) ? module : null;
  }

  /** Whether an expression may be this member of this module. */
  mayBe(expression: SyntaxNode, module: string, names: readonly string[]): boolean {
    return this.membersOf(expression).some(
      (member) => member.module === module && names.includes(member.name),
    );
  }

  /** Whether an expression is one of these members (module -> names) and can be nothing else. */
  isSurely(expression: SyntaxNode, table: Readonly<Record<string, readonly string[]>>): boolean {
    const node = unwrapped(expression);
    if (node.type === 'identifier') {
      const name = this.soleName(node);
      if (name === null || this.summary(name).kinds.size !== 1) return false;
    }
    const members = this.membersOf(node);
    return (
      members.length > 0 &&
      members.every(
        ({ module, name }) => Object.hasOwn(table, module) && table[module]?.includes(name) === true,
      )
    );
  }

  /** The classes of the source that a name may mean. */
  classesOf(node: SyntaxNode): SyntaxNode[] {
    return this.candidates(node).names.flatMap((name) =>
      this.once('classes', name, () =>
        name.bindings.flatMap(({ kind, value }) => (kind === 'class' && value !== null ? [value] : [])),
      ),
    );
  }

  /** The one class of the source that an expression names, or null if it may be anything else. */
  classOf(expression: SyntaxNode): SyntaxNode | null {
    const node = unwrapped(expression);
    const [binding, another] = this.soleName(node)?.bindings ?? [];
    return binding?.kind === 'class' && another === undefined ? binding.value : null;
  }

  /** Whether a node is what `isinstance` or `issubclass` is asked about: the second argument or one of its tuple. */
  isClassTest(node: SyntaxNode): boolean {
    const at = node.parent?.type === 'tuple' ? node.parent : node;
    const list = at.parent;
    const callee = list?.parent?.children[0];
    if (list?.type !== 'argument_list' || list.field !== 'arguments' || callee === undefined) return false;
    if (partsOf(list)[1] !== at) return false;
    return this.isSurelyBuiltin(callee, 'isinstance') || this.isSurelyBuiltin(callee, 'issubclass');
  }

  /**
   * Whether an identifier is a method's parameter of this name, also from a function or comprehension inside the
   * method: the only things that `self`, `cls` and `other` may mean where a rule gives them more.
   */
  isMethodParameter(expression: SyntaxNode, names: readonly string[]): boolean {
    const node = unwrapped(expression);
    if (node.type !== 'identifier' || !names.includes(node.text)) return false;
    const { names: found, builtin } = this.candidates(node);
    if (builtin || found.length === 0) return false;
    return found.every((name) => {
      const { kinds } = this.summary(name);
      const isMethod = name.scope.kind === 'function' && name.scope.parent?.kind === 'class';
      return isMethod && kinds.size === 1 && kinds.has('parameter');
    });
  }
}
