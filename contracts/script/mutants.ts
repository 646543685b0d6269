/**
 * Places where a contract can be wrong, found in its syntax tree, and the source that holds all of them at once: each
 * is switched on by its number in `block.coinbase`, so that one compilation serves every mutant.
 */

type MutantKind = 'check removed' | 'comparison' | 'operand' | 'statement removed' | 'planted';

/** One place; offsets are in bytes of the file. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly kind: MutantKind;
  /** The text that changes, and what it becomes. */
  readonly from: string;
  readonly to: string;
}

export interface PlacedMutant extends Mutant {
  readonly start: number;
  readonly length: number;
}

/** What is read of solc's nodes. */
export interface SyntaxNode {
  readonly nodeType: string;
  readonly src: string;
  readonly [field: string]: unknown;
}

const flipped: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '==': '!=',
  '!=': '==',
};

/** Every mutant of one file, in the order of the source. */
export function mutantsOf(file: string, source: Buffer, tree: SyntaxNode): PlacedMutant[] {
  const found: PlacedMutant[] = [];
  const state = stateVariablesOf(tree);
  const add = (node: SyntaxNode, kind: MutantKind, to: string): void => {
    const [start, bare] = placeOf(node);
    const length = kind === 'statement removed' ? source.indexOf(';', start + bare) + 1 - start : bare;
    const from = source.subarray(start, start + length).toString();
    const line = source.subarray(0, start).toString().split('\n').length;
    found.push({ file, line, kind, from, to, start, length });
  };
  visit(tree, (node) => {
    if (node.nodeType === 'IfStatement' && reverts(node['trueBody'] as SyntaxNode)) {
      add(node['condition'] as SyntaxNode, 'check removed', 'false');
    } else if (node.nodeType === 'BinaryOperation') {
      const [left, right] = [node['leftExpression'], node['rightExpression']] as [SyntaxNode, SyntaxNode];
      const operator = node['operator'] as string;
      if (operator === '&&' || operator === '||') {
        for (const side of [left, right]) add(side, 'operand', operator === '&&' ? 'true' : 'false');
      } else if (operator in flipped) {
        add(node, 'comparison', `${textOf(source, left)} ${flipped[operator]} ${textOf(source, right)}`);
      }
    } else if (node.nodeType === 'ExpressionStatement' && writes(node['expression'] as SyntaxNode, state)) {
      add(node, 'statement removed', '');
    }
  });
  return found.sort((a, b) => a.start - b.start || b.length - a.length);
}

/**
 * The source with every mutant behind its switch.
 * @param first number of the first mutant; the others follow
 */
export function withSwitches(source: Buffer, mutants: readonly PlacedMutant[], first: number): string {
  const render = (from: number, to: number, inside: readonly number[]): string => {
    let text = '';
    let at = from;
    for (let k = 0; k < inside.length; k++) {
      const mutant = mutants[inside[k]!]!;
      if (mutant.start < at) continue;
      const end = mutant.start + mutant.length;
      const same = inside.filter((i) => mutants[i]!.start === mutant.start && mutants[i]!.length === mutant.length);
      const nested = inside.filter((i) => within(mutants[i]!, mutant));
      text += source.subarray(at, mutant.start).toString();
      text += same.reduce((inner, i) => switched(mutants[i]!, inner, first + i), render(mutant.start, end, nested));
      at = end;
    }
    return text + source.subarray(at, to).toString();
  };
  return render(0, source.length, [...mutants.keys()]);
}

function switched(mutant: PlacedMutant, original: string, number: number): string {
  return mutant.from.endsWith(';')
    ? `{ if (Mutation.on(${number})) { ${mutant.to} } else { ${original} } }`
    : `(Mutation.on(${number}) ? (${mutant.to}) : (${original}))`;
}

function within(inner: PlacedMutant, outer: PlacedMutant): boolean {
  if (inner.start === outer.start && inner.length === outer.length) return false;
  return inner.start >= outer.start && inner.start + inner.length <= outer.start + outer.length;
}

/** Reads block.coinbase from pure functions too, which nothing in the contracts reads. */
export const mutationLibrary = `// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;
library Mutation {
    function on(uint256 number) internal pure returns (bool) {
        return _pure(_current)() == number;
    }
    function _current() private view returns (uint256) {
        return uint256(uint160(address(block.coinbase)));
    }
    function _pure(function() view returns (uint256) f) private pure returns (function() pure returns (uint256) g) {
        assembly { g := f }
    }
}
`;

function visit(node: unknown, see: (node: SyntaxNode) => void): void {
  if (Array.isArray(node)) {
    for (const each of node) visit(each, see);
  } else if (node !== null && typeof node === 'object') {
    if ('nodeType' in node) see(node as SyntaxNode);
    for (const [name, child] of Object.entries(node)) {
      // Statements of assembly, and the parts that are no code.
      if (name !== 'AST' && name !== 'typeName' && name !== 'modifiers') visit(child, see);
    }
  }
}

function placeOf(node: SyntaxNode): [start: number, length: number] {
  const [start, length] = node.src.split(':').map(Number);
  return [start!, length!];
}

function textOf(source: Buffer, node: SyntaxNode): string {
  const [start, length] = placeOf(node);
  return source.subarray(start, start + length).toString();
}

function reverts(body: SyntaxNode): boolean {
  const statements = body.nodeType === 'Block' ? (body['statements'] as SyntaxNode[]) : [body];
  return statements.length === 1 && statements[0]!.nodeType === 'RevertStatement';
}

/** Assignments to storage, and calls whose value nobody uses: checks and movements of money. */
function writes(expression: SyntaxNode, state: ReadonlySet<number>): boolean {
  if (expression.nodeType === 'FunctionCall') return expression['kind'] === 'functionCall';
  if (expression.nodeType === 'Assignment') return isStorage(expression['leftHandSide'] as SyntaxNode, state);
  if (expression.nodeType === 'UnaryOperation') return isStorage(expression['subExpression'] as SyntaxNode, state);
  return false;
}

function isStorage(node: SyntaxNode, state: ReadonlySet<number>): boolean {
  if (node.nodeType === 'TupleExpression') {
    // A value that nobody takes, as in (a,, b), is null.
    return (node['components'] as (SyntaxNode | null)[]).some((part) => part !== null && isStorage(part, state));
  }
  if (node.nodeType === 'Identifier') return state.has(node['referencedDeclaration'] as number);
  const base = (node['expression'] ?? node['baseExpression']) as SyntaxNode | undefined;
  if (base === undefined) return false;
  const { typeString } = base['typeDescriptions'] as { typeString: string };
  return /\bstorage\b/.test(typeString) || typeString.startsWith('mapping(') || isStorage(base, state);
}

/** Those that a function may write: immutables are set where the constructor says and nowhere else. */
function stateVariablesOf(tree: SyntaxNode): Set<number> {
  const found = new Set<number>();
  visit(tree, (node) => {
    if (node['stateVariable'] === true && node['mutability'] === 'mutable') found.add(node['id'] as number);
  });
  return found;
}
