/** The verification key of a shape as bytes: what step-proof §4.5 hashes, for verifiers that take the plan as data. */
import { keccak, utf8 } from '#attestation';
import type { Plan } from '#libs/zk/verifier';

const trees = ['S', 'D', 'W0', 'WT'] as const;
const headers = { S: 0x5301, D: 0x4401, W0: 0x5701, WT: 0x5701 };
const lookupKinds = 'act l h G lp hp exp yr lL hL Rp pr iota r sr lW hW lb hb TR TA TE'.split(' ');
const blockKinds = 'A M l h G hp d hL eps sel GL w mu iota hW hb mR mA mE pad W b z X Y'.split(' ');

/** keccak256(profile name) ‖ big-endian 32-bit words; planDigest = keccak256(keccak256("fxt-zk/plan/1") ‖ these). */
export function encodePlan(plan: Plan): Uint8Array {
  const { shape, profile, variant, lookups, messages, vars } = plan;
  const { version, extensionDegree, m, logBlowup, randomRows, k1, logBlowup1, queries0, queries1 } = profile;
  const { grind0, grind1, grindFold, grindFold1, digestBytes } = profile;
  const words = [
    variant === 'joint' ? 1 : 2,
    ...[version, extensionDegree, m, logBlowup, randomRows * 2 ** (m - k1), k1, logBlowup1, queries0, queries1],
    ...[grind0, grind1, grindFold, grindFold1, digestBytes],
    ...counted(shape.manifest.dims),
    shape.manifest.batch,
    shape.manifest.superblock,
    ...shape.layers.flatMap((layer) => [
      ...[layer.forwardShift, layer.backwardShift ?? 0, layer.weightBits, layer.biasBits, layer.aIn],
    ]),
    ...[shape.manifest.abits, shape.lossFraction, shape.reciprocalBits],
    ...counted(shape.expValues),
    ...counted([...shape.pieces, ...shape.gaps].flatMap(({ start, bits }) => [start, bits])),
    vars,
    ...trees.flatMap((tree) => treeWords(plan, tree)),
    lookups.vars,
    ...counted(
      lookups.blocks.flatMap(({ kind, layer, piece, vars: own, offset }) => [
        ...[lookupKinds.indexOf(kind), layer, piece, own, offset],
      ]),
    ),
    ...[messages.products, messages.maskedMessages, messages.slotVars, messages.padVars],
  ];
  const bytes = new Uint8Array(32 + 4 * words.length);
  bytes.set(keccak(utf8(profile.name)));
  const view = new DataView(bytes.buffer);
  words.forEach((word, i) => view.setUint32(32 + 4 * i, word));
  return bytes;
}

function treeWords(plan: Plan, tree: (typeof trees)[number]): number[] {
  const { hasAux, globalRows, rows } = plan.trees[tree];
  const segments = rows.flatMap((row) => [
    row.length,
    ...row.flatMap(({ block, blockStart, rowStart, length }) => [
      ...[256 * block.layer + 1 + blockKinds.indexOf(block.kind), blockStart, rowStart, length],
    ]),
  ]);
  return [headers[tree], hasAux ? 32 : 0, ...counted(globalRows), rows.length, ...segments];
}

function counted(values: readonly number[]): number[] {
  return [values.length, ...values];
}
