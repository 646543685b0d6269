/** The squared loss in a circuit. */
import type { Loss } from '#libs/step';
import type { CircuitLoss } from './loss.js';

const templates = `// G = RS(Y, s) − 2^g·hot of one row, within gbits.
template SquaredErrorRow(C, s, g, ybits, gbits) {
  signal input Y[C];
  signal input hot[C];
  signal output G[C];
  component round[C];
  component range[C];
  for (var c = 0; c < C; c++) {
    if (s > 0) {
      round[c] = Round(s, ybits);
      round[c].in <== Y[c];
      G[c] <== round[c].out - hot[c] * 2**g;
    } else {
      G[c] <== Y[c] * 2**(0 - s) - hot[c] * 2**g;
    }
    range[c] = Signed(gbits);
    range[c].in <== G[c];
  }
}

`;

export const mse: CircuitLoss<Extract<Loss, { kind: 'mse' }>> = {
  templates,
  circuit: (_, { ybits, gbits }, { outputs: C, g, aOut }) => ({
    lines: [],
    row: `SquaredErrorRow(${C}, ${aOut - g}, ${g}, ${ybits}, ${gbits})`,
    constraints: C * ((aOut > g ? aOut - g + ybits : 0) + gbits),
  }),
};
