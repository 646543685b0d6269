import { refusal } from '../core/problem/codes.js';

export function unknownNode(id: string) {
  return refusal('NODE_UNKNOWN', {
    expected: 'a node of this operator',
    got: id,
    rule: 'apps/control-plane/README.md, nodes',
  });
}
