/**
 * What host and enclave say to each other. The host is not trusted: every field is checked, and nothing here can make
 * the enclave do more than train the job it holds and sign what it did.
 *
 * The host sends requests, each answered by one `ok` or `error` with the request's `id`; the enclave sends events of
 * the running job unasked.
 */
import {
  bytes,
  bytesUpTo,
  evaluationBytesMax,
  evaluationsMax,
  list,
  nullable,
  oneOf,
  record,
  text,
  uint,
  type Field,
  type Shaped,
} from '#attestation/base';
import { checkpointSessionsMax, leaseShape, releasedShape } from '#attestation/records';

const address = bytes(20);
const blob = bytesUpTo(12 * 1024 * 1024);
const small = bytesUpTo(256 * 1024);
/** Index of a piece; the largest checkpoint, two states and what stands in front of them, has 131. */
const piecesMax = 255;

const requestShapes = {
  /** Makes the session keys and binds them to who is paid where. Once per process. */
  open: { type: oneOf('open'), id: uint(), provider: address, chainId: uint(), registry: address },
  /** Evidence for the open session over the verifier's nonce. */
  attest: { type: oneOf('attest'), id: uint(), nonce: bytes(32) },
  /**
   * The job, the escrow it is paid by, the data set's public face, the key broker's signed release with the data key
   * sealed to the session, and the host's half of the key of checkpoints.
   */
  job: {
    type: oneOf('job'),
    id: uint(),
    spec: small,
    terms: small,
    dataset: bytesUpTo(4 * 1024 * 1024),
    release: releasedShape.release,
    signature: releasedShape.signature,
    sealedKey: bytesUpTo(4096),
    hostSecret: bytes(32),
  },
  shard: { type: oneOf('shard'), id: uint(), index: uint(65_535), ciphertext: blob },
  /** One part of the start weights that the manifest names, in order; the first begins anew. */
  start: { type: oneOf('start'), id: uint(), index: uint(1023), weights: blob },
  /** One piece of a checkpoint but its last, which comes with `train`; the first begins anew. */
  piece: { type: oneOf('piece'), id: uint(), index: uint(piecesMax), ciphertext: blob },
  /**
   * Starts training, from the first step or from a checkpoint of this job that any of its enclaves made. Behind pieces
   * `checkpoint` is the last one.
   */
  train: { type: oneOf('train'), id: uint(), checkpoint: nullable(blob), threads: uint(256, 1) },
  /** The broker's signed word that it accepted evidence of this session again. */
  renew: { type: oneOf('renew'), id: uint(), lease: record(leaseShape), signature: bytes(65) },
  /** Of a data-parallel job: checks the whole data set, as `train` does before it answers. */
  prepare: { type: oneOf('prepare'), id: uint() },
  /** Of a data-parallel job: trains one segment from a round's start; null: the first. */
  segment: {
    type: oneOf('segment'),
    id: uint(),
    index: uint(2 ** 31),
    checkpoint: nullable(blob),
    threads: uint(256, 1),
  },
  /** A partial of the round that is to be averaged next. */
  partial: { type: oneOf('partial'), id: uint(), ciphertext: blob },
  /** Averages the partials that came since the last time, from the round's start; null: the first. */
  average: { type: oneOf('average'), id: uint(), checkpoint: nullable(blob) },
  cancel: { type: oneOf('cancel'), id: uint() },
} as const;

export type RequestType = keyof typeof requestShapes;
export type RequestOf<K extends RequestType> = Shaped<(typeof requestShapes)[K]>;
export type Request = { [K in RequestType]: RequestOf<K> }[RequestType];

const explanation = { expected: text(2000), got: text(2000), rule: text(400), action: text(2000) };

const failure = { code: text(80), ...explanation, step: nullable(uint()), tensor: nullable(text(80)) };

const borders = list(bytes(32), 4001);

/** Of the sessions behind the borders, and the sealer's. */
const keys = list(address, checkpointSessionsMax + 1);

/** EIP-712 `Run` of contracts/SPEC.md §3 that `seal` is over. */
const runSummary = record({
  upTo: uint(),
  outcome: oneOf(0, 1, 2, 3),
  bordersRoot: bytes(32),
  last: bytes(32),
  delivery: bytes(32),
  keys: bytes(32),
});

/** An evaluation statement, its receipt, and the receipt key of the session that signed it. */
const evaluated = record({
  ...{ key: bytes(32), statement: bytesUpTo(evaluationBytesMax), receipt: bytesUpTo(4096) },
});
const evaluations = list(evaluated, evaluationsMax);

/** Edges that an event tells of; of a larger net those where most lies at an end of the range. */
export const countedEdgesMax = 64;

/** Of some records of every batch of the window (libs/step/SPEC.md §21.1). */
const edge = record({
  ...{ edge: text(80), values: uint(), saturatedValues: uint() },
  ...{ errors: uint(), saturatedErrors: uint(), zeroErrors: uint() },
});

const eventShapes = {
  progress: {
    type: oneOf('progress'),
    step: uint(),
    of: uint(),
    /** Mean cross-entropy of the batches since the last event, in millionths of a nat. */
    lossMicro: uint(),
    /** Right predictions on these batches, parts per million. */
    accuracyPpm: uint(1_000_000),
    samplesPerSecond: uint(),
    edges: list(edge, countedEdgesMax),
  },
  /** Metrics on the validation set, told when the job's `progress` allows it. */
  evaluation: { type: oneOf('evaluation'), step: uint(), evaluated },
  /** One piece of the checkpoint or result that is told next, but its last, which comes with that event. */
  piece: { type: oneOf('piece'), index: uint(piecesMax), ciphertext: blob },
  checkpoint: {
    type: oneOf('checkpoint'),
    step: uint(),
    statement: bytesUpTo(1024),
    receipt: bytesUpTo(4096),
    ciphertext: blob,
  },
  /** A worker's segment of a data-parallel job is done; `step` is its last step. */
  partial: {
    type: oneOf('partial'),
    index: uint(),
    step: uint(),
    statement: bytesUpTo(1024),
    receipt: bytesUpTo(4096),
    ciphertext: blob,
  },
  result: {
    type: oneOf('result'),
    ciphertext: blob,
    /** Revealed on chain to be paid (contracts/SPEC.md §12). */
    revealKey: bytes(32),
    borders,
    run: runSummary,
    /** Accounts that `run.keys` is the digest of, ascending. */
    keys,
    seal: bytesUpTo(1024),
    /** All of the job, in the order of their steps. */
    evaluations,
    /** Microseconds by phase, for the summary. */
    timings: record({
      decryptMicros: uint(),
      checkMicros: uint(),
      trainMicros: uint(),
      commitMicros: uint(),
      signMicros: uint(),
      sealMicros: uint(),
    }),
  },
  /** A value left its declared range: the job has no result, and the seal says so to the chain. */
  stopped: {
    type: oneOf('stopped'),
    step: uint(),
    tensor: text(80),
    expected: text(2000),
    got: text(2000),
    /** What to set instead. */
    action: text(2000),
    borders,
    run: runSummary,
    keys,
    seal: bytesUpTo(1024),
    /** None: what may leave of them has been told. */
    evaluations,
  },
  failed: { type: oneOf('failed'), ...failure },
} as const;

type EventType = keyof typeof eventShapes;
export type EventOf<K extends EventType> = Shaped<(typeof eventShapes)[K]>;
export type EnclaveEvent = { [K in EventType]: EventOf<K> }[EventType];

const replyShapes = {
  ok: { type: oneOf('ok'), id: uint(), body: bytesUpTo(2 * 1024 * 1024) },
  error: { type: oneOf('error'), id: uint(), family: oneOf('configuration', 'collateral', 'rejection'), ...failure },
} as const;

type OkReply = Shaped<typeof replyShapes.ok>;
export type ErrorReply = Shaped<typeof replyShapes.error>;
type FromEnclave = EnclaveEvent | OkReply | ErrorReply;

/** @throws Rejection MESSAGE_SHAPE */
export const parseRequest = parserOf<Request>(requestShapes, 'request');

/** @throws Rejection MESSAGE_SHAPE */
export const parseFromEnclave = parserOf<FromEnclave>({ ...eventShapes, ...replyShapes }, 'enclave');

function parserOf<T>(
  shapes: Readonly<Record<string, Readonly<Record<string, Field<unknown>>>>>,
  name: string,
): (message: unknown) => T {
  const types = Object.keys(shapes);
  return (message) => {
    const type = oneOf(...types)(message instanceof Map ? message.get('type') : undefined, `${name}.type`);
    return record(shapes[type]!)(message, type) as T;
  };
}
