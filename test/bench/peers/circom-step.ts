/**
 * What a JavaScript team would write in circom: one fixed-point SGD step of a two-layer ReLU network with squared loss,
 * every rescale range-checked, inputs trusted to be small, new weights public. Less is checked than in a step proof.
 */
import type { PeerShape } from './shape.js';

export function circomStep({ inputs, hidden, outputs, batch }: PeerShape): string {
  return `pragma circom 2.1.6;
template Bits(n) { signal input in; signal output out[n]; var sum = 0;
  for (var i = 0; i < n; i++) { out[i] <-- (in >> i) & 1; out[i] * (out[i] - 1) === 0; sum += out[i] * 2**i; }
  sum === in; }
template Rescale(S, W) { signal input x; signal output q; signal output isPositive;
  component b = Bits(S + W); b.in <== x + (1 << (S + W - 1));
  var acc = 0; for (var i = 0; i < W; i++) acc += b.out[S + i] * 2**i;
  isPositive <== b.out[S + W - 1]; q <== acc - (1 << (W - 1)); }
template Step(I, H, O, B, S, W) {
  signal input X[B][I]; signal input Y[B][O]; signal input W1[H][I]; signal input W2[O][H];
  signal output N1[H][I]; signal output N2[O][H];
  signal p1[B][H][I]; signal p2[B][O][H]; signal pd[B][H][O]; signal g2[O][H][B]; signal g1[H][I][B]; signal a[B][H];
  component a1[B][H]; component a2[B][O]; component d1[B][H]; component u1[H][I]; component u2[O][H];
  signal dl[B][O]; signal dh[B][H];
  for (var b = 0; b < B; b++) {
    for (var h = 0; h < H; h++) { var s = 0;
      for (var i = 0; i < I; i++) { p1[b][h][i] <== X[b][i] * W1[h][i]; s += p1[b][h][i]; }
      a1[b][h] = Rescale(S, W); a1[b][h].x <== s; a[b][h] <== a1[b][h].isPositive * a1[b][h].q; }
    for (var o = 0; o < O; o++) { var s = 0;
      for (var h = 0; h < H; h++) { p2[b][o][h] <== a[b][h] * W2[o][h]; s += p2[b][o][h]; }
      a2[b][o] = Rescale(S, W); a2[b][o].x <== s; dl[b][o] <== a2[b][o].q - Y[b][o]; }
    for (var h = 0; h < H; h++) { var s = 0;
      for (var o = 0; o < O; o++) { pd[b][h][o] <== dl[b][o] * W2[o][h]; s += pd[b][h][o]; }
      d1[b][h] = Rescale(S, W); d1[b][h].x <== s; dh[b][h] <== d1[b][h].q * a1[b][h].isPositive; } }
  for (var o = 0; o < O; o++) for (var h = 0; h < H; h++) { var s = 0;
    for (var b = 0; b < B; b++) { g2[o][h][b] <== dl[b][o] * a[b][h]; s += g2[o][h][b]; }
    u2[o][h] = Rescale(S + 8, W); u2[o][h].x <== s; N2[o][h] <== W2[o][h] - u2[o][h].q; }
  for (var h = 0; h < H; h++) for (var i = 0; i < I; i++) { var s = 0;
    for (var b = 0; b < B; b++) { g1[h][i][b] <== dh[b][h] * X[b][i]; s += g1[h][i][b]; }
    u1[h][i] = Rescale(S + 8, W); u1[h][i].x <== s; N1[h][i] <== W1[h][i] - u1[h][i].q; } }
component main = Step(${inputs}, ${hidden}, ${outputs}, ${batch}, 12, 24);
`;
}
