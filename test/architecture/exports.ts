/** Which exported names nobody imports, read off the syntax of the sources alone. */
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';

interface Module {
  /** Exported name → where it comes from; null: declared here. */
  readonly exports: Map<string, { readonly from: string; readonly name: string } | null>;
  /** Modules of `export * from`. */
  readonly stars: string[];
  /** What it takes of others; name null: all of it. */
  readonly taken: { readonly from: string; readonly name: string | null }[];
}

const all = null;

/** `sources`: path → text. `doors`: package imports such as `#libs/*` → path of the module. */
export function unusedExports(
  sources: ReadonlyMap<string, string>,
  doors: Readonly<Record<string, string>>,
  isEntry: (path: string) => boolean,
): string[] {
  const resolve = resolver(sources, doors);
  const modules = new Map([...sources].map(([path, text]) => [path, readModule(path, text, resolve)] as const));
  const used = new Set<string>();

  const take = (path: string, name: string | null): void => {
    const module = modules.get(path);
    if (module === undefined) return;
    if (name === all) {
      for (const each of module.exports.keys()) take(path, each);
      for (const star of module.stars) take(star, all);
      return;
    }
    const key = `${path} ${name}`;
    if (used.has(key)) return;
    used.add(key);
    const origin = module.exports.get(name);
    if (origin) take(origin.from, origin.name === '*' ? all : origin.name);
    else if (origin === undefined) for (const star of module.stars) take(star, name);
  };

  for (const [path, { taken }] of modules) {
    if (isEntry(path)) take(path, all);
    for (const { from, name } of taken) take(from, name);
  }
  return [...modules].flatMap(([path, { exports }]) =>
    [...exports.keys()].map((name) => `${path} ${name}`).filter((key) => !used.has(key)),
  );
}

type Resolve = (from: string, specifier: string) => string | undefined;

function resolver(sources: ReadonlyMap<string, string>, doors: Readonly<Record<string, string>>): Resolve {
  const exact = new Map(Object.entries(doors).filter(([name]) => !name.includes('*')));
  const patterns = Object.entries(doors).filter(([name]) => name.includes('*'));
  return (from, specifier) => {
    if (specifier.startsWith('.')) {
      const path = normalize(join(dirname(from), specifier)).replace(/\.js$/, '.ts');
      return [path, `${path}x`].find((one) => sources.has(one));
    }
    const door = exact.get(specifier);
    if (door !== undefined) return door;
    for (const [name, path] of patterns) {
      const head = name.slice(0, -1);
      if (specifier.startsWith(head)) return path.replace('*', specifier.slice(head.length));
    }
    return undefined;
  };
}

function readModule(path: string, text: string, resolve: Resolve): Module {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const module: Module = { exports: new Map(), stars: [], taken: [] };
  const targetOf = (specifier: ts.Node | undefined): string | undefined =>
    specifier && ts.isStringLiteralLike(specifier) ? resolve(path, specifier.text) : undefined;

  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) {
      const from = targetOf(statement.moduleSpecifier);
      if (from !== undefined) readImport(source, statement, from, module);
    } else if (ts.isExportDeclaration(statement)) {
      const from = targetOf(statement.moduleSpecifier);
      readExport(statement, from, module);
    } else if (isExported(statement)) {
      for (const name of declaredNames(statement)) module.exports.set(name, null);
    }
  }
  readDynamicImports(source, targetOf, module);
  return module;
}

function readImport(source: ts.SourceFile, statement: ts.ImportDeclaration, from: string, module: Module): void {
  const clause = statement.importClause;
  if (clause?.name) module.taken.push({ from, name: 'default' });
  const bindings = clause?.namedBindings;
  if (bindings === undefined) return;
  if (ts.isNamedImports(bindings)) {
    for (const { name, propertyName } of bindings.elements) {
      module.taken.push({ from, name: (propertyName ?? name).text });
    }
    return;
  }
  for (const name of membersOf(source, bindings.name)) module.taken.push({ from, name });
}

/** What is read of a namespace, or all of it where it is handed on whole. */
function membersOf(source: ts.SourceFile, namespace: ts.Identifier): (string | null)[] {
  const found: (string | null)[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === namespace.text && node !== namespace) {
      const { parent } = node;
      if (ts.isPropertyAccessExpression(parent) && parent.expression === node) found.push(parent.name.text);
      else if (ts.isQualifiedName(parent) && parent.left === node) found.push(parent.right.text);
      else found.push(all);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function readExport(statement: ts.ExportDeclaration, from: string | undefined, module: Module): void {
  const clause = statement.exportClause;
  if (clause === undefined) {
    if (from !== undefined) module.stars.push(from);
  } else if (ts.isNamespaceExport(clause)) {
    if (from !== undefined) module.exports.set(clause.name.text, { from, name: '*' });
  } else {
    for (const { name, propertyName } of clause.elements) {
      const origin = from === undefined ? null : { from, name: (propertyName ?? name).text };
      module.exports.set(name.text, origin);
    }
  }
}

function isExported(statement: ts.Statement): boolean {
  return (
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
  );
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(isDefault)) return ['default'];
  if (!ts.isVariableStatement(statement)) {
    const { name } = statement as ts.DeclarationStatement;
    return name === undefined ? [] : [name.text];
  }
  const names: string[] = [];
  const read = (name: ts.BindingName): void => {
    if (ts.isIdentifier(name)) names.push(name.text);
    else for (const element of name.elements) if (ts.isBindingElement(element)) read(element.name);
  };
  for (const { name } of statement.declarationList.declarations) read(name);
  return names;
}

const isDefault = ({ kind }: ts.ModifierLike): boolean => kind === ts.SyntaxKind.DefaultKeyword;

/** `import('…')` in code and in types: the names that are taken from it at once, or all. */
function readDynamicImports(
  source: ts.SourceFile,
  targetOf: (specifier: ts.Node | undefined) => string | undefined,
  module: Module,
): void {
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const from = targetOf(node.arguments[0]);
      if (from !== undefined) for (const name of takenAtOnce(node)) module.taken.push({ from, name });
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const from = targetOf(node.argument.literal);
      const name = node.qualifier === undefined ? all : firstName(node.qualifier);
      if (from !== undefined) module.taken.push({ from, name });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}

const firstName = (name: ts.EntityName): string => (ts.isIdentifier(name) ? name.text : firstName(name.left));

function takenAtOnce(call: ts.CallExpression): (string | null)[] {
  let node: ts.Node = call.parent;
  if (!ts.isAwaitExpression(node)) return [all];
  node = node.parent;
  if (ts.isParenthesizedExpression(node)) node = node.parent;
  if (ts.isPropertyAccessExpression(node)) return [node.name.text];
  if (!ts.isVariableDeclaration(node) || !ts.isObjectBindingPattern(node.name)) return [all];
  return node.name.elements.map(({ name, propertyName }) => (propertyName ?? name).getText());
}
