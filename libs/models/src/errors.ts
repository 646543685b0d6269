/** How libs/models refuses: coded rejections, and one for all nodes of a file that it cannot take. */
import { Rejection } from '#attestation/base';

const rule = 'libs/models/README.md';

/** What helps where a file is not what its name says. */
const usual: Readonly<Record<string, string>> = {
  ONNX_MALFORMED: 'export the model again: the file is cut, or none of ONNX',
  SAFETENSORS_LIMIT: 'save the weights again: the file is cut, or none of safetensors',
  SAFETENSORS_HEADER: 'save the weights again: the file is cut, or none of safetensors',
};

/** @throws Rejection always, with `code` */
export function refuse(code: string, expected: string, got: unknown, action = usual[code]): never {
  const text = String(got);
  const short = text.length > 160 ? `${text.slice(0, 160)}…` : text;
  throw new Rejection(code, { expected, got: short, rule, ...(action !== undefined && { action }) });
}

/** A node of a file that has no counterpart among the layers. */
export interface UnsupportedNode {
  readonly node: string;
  readonly op: string;
  readonly reason: string;
  /** What to use in its place. */
  readonly instead: string;
}

/** What an import stumbles over within one node; the driver adds which node it was. */
export class NodeRefusal extends Error {
  constructor(
    readonly reason: string,
    readonly instead: string,
  ) {
    super(reason);
  }
}

/** @throws NodeRefusal always */
export function cannot(reason: string, instead: string): never {
  throw new NodeRefusal(reason, instead);
}

const told = 8;

/** ONNX_OP_UNSUPPORTED: every node that stands in the way, at once. */
export class UnsupportedModel extends Rejection {
  constructor(readonly nodes: readonly UnsupportedNode[]) {
    const line = ({ node, op, reason, instead }: UnsupportedNode): string =>
      `${op} "${node}": ${reason}; instead: ${instead}`;
    const more = nodes.length > told ? ` … and ${nodes.length - told} more` : '';
    super('ONNX_OP_UNSUPPORTED', {
      expected: 'nodes that have a layer of fxt/2',
      got: nodes.slice(0, told).map(line).join(' | ') + more,
      rule,
      action: 'change the nodes that are named, or train the part before them',
    });
  }

  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), nodes: this.nodes };
  }
}
