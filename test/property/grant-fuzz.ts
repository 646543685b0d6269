/**
 * Mutates the requests by which a host hands a released job, or a renewed lease, to an enclave: none is taken whose spec, terms,
 * release, sealed key or lease is not what the key broker signed, and none makes the session crash.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import {
  addressOfPublicKey,
  concatBytes,
  decodeCanonical,
  encodeCanonical,
  to0x,
  toCbor,
  toHex,
  uintBe,
  type CborValue,
} from '#attestation/base';
import { escrowIdOf, keysDigest } from '#attestation/records';
import { encodeFrame, frameDecoder, parseRequest, type Request } from '#libs/wire/channel';
import { strangersSecret } from '#test/host-attack';
import { jobRequest, tinyAt, tinyJob, type TinyJob } from '#test/tiny-job';
import { grantTo, present, signedLease, type Granted } from '#test/tiny-release';
import { fuzz, judged, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { mutantOf } from './mutants.js';
import type { Draw } from './random.js';
import { cborMutant } from './tree-mutants.js';

type CborMap = ReadonlyMap<CborValue, CborValue>;

/** Takes a request or throws why not. */
type Enclave = (request: Request) => Promise<unknown>;

interface Genuine {
  readonly name: string;
  readonly message: CborMap;
  readonly bytes: Uint8Array;
  /** Requests of the same type with fields that are genuine elsewhere. */
  readonly others: readonly CborMap[];
}

interface Scene {
  readonly enclave: Enclave;
  readonly genuine: readonly Genuine[];
}

/** What the broker's signature binds of each request; the rest is the host's to say, and checked where it is used. */
const bound: Readonly<Record<string, readonly string[]>> = {
  job: ['spec', 'terms', 'release', 'signature', 'sealedKey'],
  renew: ['lease', 'signature'],
};

const messageOf = (request: object): CborMap => decodeCanonical(encodeCanonical(toCbor(request))) as CborMap;

/** A session that holds its job, under a clock that stands still. */
async function sceneOf(): Promise<Scene> {
  const [job, dearer] = [await tinyJob(), await tinyJob({ terms: { price: 2000n } })];
  const own = {
    ...job,
    terms: { ...job.terms, keyBroker: addressOfPublicKey(secp256k1.getPublicKey(strangersSecret, false)) },
  };
  const [party, another] = [await present(() => 0), await present()];
  const granted = await grantTo(job, party);
  const offer = (of: TinyJob, grant: Granted): CborMap => messageOf({ type: 'job', id: 1, ...jobRequest(of, grant) });
  const message = offer(job, granted);
  const others = [
    offer(job, await grantTo(job, another)),
    offer(dearer, await grantTo(dearer, party)),
    offer(own, await grantTo(own, party, { signer: strangersSecret })),
    offer(job, await grantTo(job, party, { signer: strangersSecret })),
    offer(job, { ...granted, signature: mirrored(granted.signature) }),
  ];
  const enclave: Enclave = ({ type, id: _id, ...body }) => party.session.request(type, body as never);
  await enclave(parseRequest(message));
  const lease = {
    ...{ job: escrowIdOf(job.terms), session: keysDigest(party.parsed.binding), policy: job.terms.policy },
    ...{ evidence: sha256(party.evidence), nonce: party.parsed.nonce, grantedAt: tinyAt, notAfter: tinyAt + 7200 },
  };
  const renewal = (by?: Uint8Array, changes: Partial<typeof lease> = {}): CborMap =>
    messageOf({ type: 'renew', id: 1, ...signedLease({ ...lease, ...changes }, by) });
  const renew = renewal();
  const leases = [renewal(strangersSecret), renewal(undefined, { job: escrowIdOf(dearer.terms) })];
  return {
    enclave,
    genuine: [
      { name: 'job', message, bytes: encodeFrame(message), others },
      { name: 'renew', message: renew, bytes: encodeFrame(renew), others: leases },
    ],
  };
}

const order = BigInt('0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141');

/** The other signature of the same message by the same key: s for −s, and the other v. */
function mirrored(signature: Uint8Array): Uint8Array {
  const s = BigInt(to0x(signature.subarray(32, 64)));
  const negative = Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex');
  return Uint8Array.of(...signature.subarray(0, 32), ...negative, signature[64]! ^ 7);
}

/** Some fields for those of another request. */
function mixed({ message, others }: Genuine, draw: Draw): Uint8Array {
  const other = others[draw(others.length)]!;
  const entries = [...message].map(([key, value]): [CborValue, CborValue] => [
    key,
    draw(2) === 0 ? value : other.get(key)!,
  ]);
  return encodeFrame(new Map(entries));
}

function mutated(genuine: Genuine, draw: Draw): Uint8Array {
  const way = draw(8);
  if (way < 2) return mutantOf(genuine.bytes, draw);
  if (way < 4) return mixed(genuine, draw);
  const message = cborMutant(genuine.message, genuine.bytes.subarray(4), draw);
  return concatBytes(uintBe(message.length, 4), message);
}

function isBoundSame(genuine: readonly Genuine[], message: CborMap): boolean {
  const type = String(message.get('type'));
  const original = genuine.find(({ name }) => name === type);
  // What else the host may ask for is its own to ask.
  if (original === undefined) return true;
  const of = (one: CborMap): string => toHex(encodeCanonical(bound[type]!.map((name) => one.get(name)!)));
  return of(message) === of(original.message);
}

/** @param count mutants; @param enclaveOf what takes the requests, made of what really does */
export async function fuzzGrants(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  enclaveOf: (real: Enclave) => Enclave = (real) => real,
): Promise<FuzzReport> {
  const { genuine, ...scene } = await sceneOf();
  const enclave = enclaveOf(scene.enclave);
  const handed = async (frame: Uint8Array): Promise<Verdict> => {
    const messages = frameDecoder().push(frame);
    let verdict: Verdict = 'refused';
    for (const message of messages) {
      await enclave(parseRequest(message));
      verdict = isBoundSame(genuine, message as CborMap) ? 'taken' : 'accepted';
    }
    return verdict;
  };
  const trialOf: Parameters<typeof fuzz>[2] = (draw, k) => {
    const one = genuine[k % 4 === 3 ? 1 : 0]!;
    const frame = mutated(one, draw);
    return {
      target: one.name,
      input: () => toHex(frame),
      run: () =>
        judged(
          () => handed(frame),
          (verdict) => verdict,
        ),
    };
  };
  return fuzz(count, seed, trialOf, onProgress);
}
