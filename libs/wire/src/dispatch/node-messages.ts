/** Messages a node sends about itself. Every message carries the operator's API key in `auth`. */
import { z } from 'zod';
import { Address, Fence, Hex32, Uuid, Wei, text } from './fields.js';
import { ProtocolNumber } from './protocol.js';

export const ApiKeyText = z.string().regex(/^vt_[A-Za-z0-9]{4,32}_[A-Za-z0-9_-]{16,128}$/);

/** What an enclave's attester produces; `none` is a node without trusted hardware. */
export const TeeKind = z.enum(['simulated-snp', 'snp', 'snp+nvidia', 'tdx', 'none']);
export type TeeKind = z.infer<typeof TeeKind>;

/** Number of the training semantics: `fxt/1`, `fxt/2`. */
const Semantics = z.int().min(1).max(255);
/** Names of ops of `fxt/2`. */
const Ops = z.array(text(32).min(1)).max(128);

const TcbStatus = z.enum(['current', 'outdated', 'unknown']);

/** What a job may demand of a node beyond its policy; the policy alone decides about evidence. */
export const JobRequirements = z
  .object({
    tee: z.array(TeeKind).min(1).max(8).optional(),
    tcb: TcbStatus.optional(),
    cores: z.int().min(1).max(4096).optional(),
    memoryMiB: z
      .int()
      .min(1)
      .max(2 ** 30)
      .optional(),
    samplesPerSecond: z.number().min(0).optional(),
    /** Of a job in scheme `fxt-groth16/1`: its plan, as its spec names it. Set by the control plane. */
    groth16Key: Hex32.optional(),
    /** Of a job of `fxt/2`: its semantics, and the ops of its layers. Set by the control plane. */
    fxt: Semantics.optional(),
    ops: Ops.optional(),
    /** Of a job that starts from weights that its client uploaded. Set by the control plane. */
    start: z.boolean().optional(),
    /** Of a job whose state is beyond one message. Set by the control plane. */
    pieces: z.boolean().optional(),
  })
  .meta({ id: 'JobRequirements' });
export type JobRequirements = z.infer<typeof JobRequirements>;

export const groth16KeysMax = 64;

export const NodeCapabilities = z.object({
  tee: TeeKind,
  cores: z.int().min(1).max(4096),
  memoryMiB: z
    .int()
    .min(1)
    .max(2 ** 30),
  samplesPerSecond: z.number().min(0).optional(),
  /** What the node says of its firmware; the appraisal decides. */
  tcb: TcbStatus.optional(),
  /** Least that a job must pay, in the token's smallest unit. */
  priceMin: Wei.optional(),
  /** Trains segments of data-parallel jobs. */
  parallel: z.boolean().optional(),
  /** Plans of the Groth16 keys that the node proves with: circuit and key by their digest. */
  groth16Keys: z.array(Hex32).max(groth16KeysMax).optional(),
  /** Semantics that the node trains; `fxt/1` alone where it does not say. */
  fxt: z.array(Semantics).max(8).optional(),
  /** Ops of `fxt/2` that the node trains. */
  ops: Ops.optional(),
  /** Hands an enclave the weights that a job starts from. */
  start: z.boolean().optional(),
  /** Carries checkpoints and results in pieces. */
  pieces: z.boolean().optional(),
  version: text(32),
});
export type NodeCapabilities = z.infer<typeof NodeCapabilities>;

export const LeaseRef = z.object({ leaseId: Uuid, fence: Fence });
export type LeaseRef = z.infer<typeof LeaseRef>;

export const NodeRegister = z.object({
  auth: ApiKeyText,
  name: text(64).min(1),
  /** Account that is paid, and that terms may name. */
  provider: Address,
  capabilities: NodeCapabilities,
  /** What the node speaks; 1 where it does not say. */
  protocol: ProtocolNumber.default(1),
});
export type NodeRegister = z.infer<typeof NodeRegister>;
export const NodeRegistered = z.object({
  nodeId: Uuid,
  heartbeatSeconds: z.int().min(1),
  leaseSeconds: z.int().min(1),
  /** What the control plane speaks; 1 where it does not say. */
  protocol: ProtocolNumber.default(1),
});
export type NodeRegistered = z.infer<typeof NodeRegistered>;

export const NodeHeartbeat = z.object({ auth: ApiKeyText, nodeId: Uuid, leases: z.array(LeaseRef).max(64) });
export type NodeHeartbeat = z.infer<typeof NodeHeartbeat>;
/** Lease ids whose job was cancelled, and lease ids that are no longer this node's. */
export const HeartbeatAnswer = z.object({ cancel: z.array(Uuid).max(64), lost: z.array(Uuid).max(64) });
export type HeartbeatAnswer = z.infer<typeof HeartbeatAnswer>;
