/** What the architecture tests read off a source file's syntax. */
import ts from 'typescript';

export function parseSource(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
}

const judging = /^(verify|appraise)([A-Z]|$)/;

/**
 * Functions that judge and return a boolean, or leave it to the compiler what they return. Members of object literals
 * have their type from the interface they fill, which is looked at where it is declared.
 */
export function booleanVerdicts(source: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const [name, type] = signatureOf(node);
    if (name !== undefined && judging.test(name)) {
      if (type === undefined) found.push(`${name}: no return type`);
      else if (/\bboolean\b/.test(type.getText(source)) || ts.isTypePredicateNode(type)) found.push(`${name}: boolean`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function signatureOf(node: ts.Node): readonly [string | undefined, ts.TypeNode | undefined] {
  if (ts.isObjectLiteralExpression(node.parent ?? node)) return [undefined, undefined];
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isMethodSignature(node)) {
    return [node.name?.getText(), node.type];
  }
  const isNamed = ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node);
  if (!isNamed || node.initializer === undefined) return [undefined, undefined];
  const value = node.initializer;
  if (!ts.isArrowFunction(value) && !ts.isFunctionExpression(value)) return [undefined, undefined];
  return [node.name.getText(), value.type];
}

/** A barrel: nothing but re-exports. */
export function isBarrel(source: ts.SourceFile): boolean {
  const { statements } = source;
  return statements.length > 0 && statements.every((s) => ts.isExportDeclaration(s) && s.moduleSpecifier !== undefined);
}

/** `export * from`: says nothing about what goes through. */
export function hasStarExport(source: ts.SourceFile): boolean {
  return source.statements.some(
    (s) => ts.isExportDeclaration(s) && s.moduleSpecifier !== undefined && s.exportClause === undefined,
  );
}

/** Names of module-level constants with their line. */
export function constantsOf(source: ts.SourceFile): string[] {
  return source.statements
    .filter((statement) => ts.isVariableStatement(statement))
    .flatMap(({ declarationList }) => declarationList.declarations.map(({ name }) => name.getText(source)));
}

/** What a module loads when it runs: its imports that are not erased, `named` in `import('…')` too. */
interface Loaded {
  readonly always: readonly string[];
  readonly named: readonly string[];
  /** Text of each `import(…)` whose module no reader can tell. */
  readonly computed: readonly string[];
}

export function loadedBy(source: ts.SourceFile): Loaded {
  const [always, named, computed] = [[] as string[], [] as string[], [] as string[]];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword) {
      always.push((node.moduleSpecifier as ts.StringLiteral).text);
    } else if (ts.isExportDeclaration(node) && !node.isTypeOnly && node.moduleSpecifier !== undefined) {
      always.push((node.moduleSpecifier as ts.StringLiteral).text);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier !== undefined && ts.isStringLiteralLike(specifier)) named.push(specifier.text);
      else computed.push(node.getText(source));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { always, named, computed };
}
