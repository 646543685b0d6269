/** The step of circom-step.ts in Noir. */
import type { PeerShape } from './shape.js';

export function noirStep({ inputs, hidden, outputs, batch }: PeerShape): string {
  return `global I: u32 = ${inputs}; global H: u32 = ${hidden}; global O: u32 = ${outputs}; global B: u32 = ${batch};
global P12: Field = 4096; global P20: Field = 1048576; global OFF: Field = 0x100000000000;
unconstrained fn fdiv(x: Field, s: u8) -> Field { let u = (x + OFF) as u64; let q = u >> (s as u64);
  (q as Field) - ((0x100000000000 as u64 >> (s as u64)) as Field) }
unconstrained fn sgn(q: Field) -> Field { let u = (q + OFF) as u64; if u >= 0x100000000000 { 1 } else { 0 } }
fn rescale12(x: Field) -> Field { let q = unsafe { fdiv(x, 12) }; let r = x - q * P12;
  r.assert_max_bit_size::<12>(); (q + 0x800000).assert_max_bit_size::<24>(); q }
fn rescale20(x: Field) -> Field { let q = unsafe { fdiv(x, 20) }; let r = x - q * P20;
  r.assert_max_bit_size::<20>(); (q + 0x800000).assert_max_bit_size::<24>(); q }
fn rescale_relu(x: Field) -> (Field, Field) { let q = unsafe { fdiv(x, 12) }; let s = unsafe { sgn(q) };
  let r = x - q * P12; r.assert_max_bit_size::<12>(); assert(s * (1 - s) == 0);
  (s * (2 * q + 1) - q - 1).assert_max_bit_size::<23>(); (s * q, s) }
fn main(X: [[Field; I]; B], Y: [[Field; O]; B], W1: [[Field; I]; H], W2: [[Field; H]; O])
  -> pub ([[Field; I]; H], [[Field; H]; O]) {
  let mut a1 = [[0; H]; B]; let mut sg = [[0; H]; B]; let mut dl = [[0; O]; B]; let mut dh = [[0; H]; B];
  for b in 0..B {
    for h in 0..H { let mut s = 0; for i in 0..I { s += X[b][i] * W1[h][i]; }
      let (q, g) = rescale_relu(s); a1[b][h] = q; sg[b][h] = g; }
    for o in 0..O { let mut s = 0; for h in 0..H { s += a1[b][h] * W2[o][h]; } dl[b][o] = rescale12(s) - Y[b][o]; }
    for h in 0..H { let mut s = 0; for o in 0..O { s += dl[b][o] * W2[o][h]; } dh[b][h] = rescale12(s) * sg[b][h]; } }
  let mut N1 = W1; let mut N2 = W2;
  for o in 0..O { for h in 0..H { let mut s = 0; for b in 0..B { s += dl[b][o] * a1[b][h]; }
    N2[o][h] = W2[o][h] - rescale20(s); } }
  for h in 0..H { for i in 0..I { let mut s = 0; for b in 0..B { s += dh[b][h] * X[b][i]; }
    N1[h][i] = W1[h][i] - rescale20(s); } }
  (N1, N2) }
`;
}
