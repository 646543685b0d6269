/**
 * Mutates real and simulated evidence by a seed and hands it to the verifiers: whatever comes in, a verdict comes out,
 * and no mutant of signed bytes is ever authentic.
 */
import {
  CodedError,
  appraise,
  decodeCanonical,
  neutralPolicy,
  noEndorsements,
  parseCertTable,
  parseCrl,
  parseHclReport,
  parsePemCertificates,
  parsePolicy,
  parseQuote,
  readSign1,
  toHex,
  type Endorsements,
  type Evidence,
} from '#attestation';
import { loadSamples, type LoadedSample } from '#test/samples';
import { random } from './random.js';

export interface FuzzReport {
  readonly seed: number;
  readonly inputs: number;
  readonly refused: number;
  /** Mutants that were accepted or made the verifier crash: always empty, or there is a bug. */
  readonly failures: readonly { readonly target: string; readonly what: string; readonly input: string }[];
}

type Mutation = (bytes: Uint8Array, below: (n: number) => number) => Uint8Array;
const mutations: readonly Mutation[] = [
  (bytes, below) => replaced(bytes, below(bytes.length), (byte) => byte ^ (1 << below(8))),
  (bytes, below) => replaced(bytes, below(bytes.length), () => [0, 1, 0x7f, 0x80, 0xff][below(5)]!),
  (bytes, below) => bytes.slice(0, below(bytes.length)),
  (bytes, below) => Uint8Array.of(...bytes, ...Uint8Array.from({ length: 1 + below(64) }, () => below(256))),
  (bytes, below) => {
    const at = below(bytes.length);
    return Uint8Array.of(...bytes.subarray(0, at), ...bytes.subarray(Math.min(bytes.length, at + 1 + below(32))));
  },
  (bytes, below) => {
    const copy = bytes.slice();
    const size = Math.min(1 + below(64), bytes.length);
    copy.copyWithin(below(bytes.length), below(bytes.length - size + 1), size);
    return copy;
  },
];

function replaced(bytes: Uint8Array, at: number, change: (byte: number) => number): Uint8Array {
  const copy = bytes.slice();
  copy[at] = change(copy[at]!);
  return copy;
}

interface Target {
  readonly name: string;
  readonly input: Uint8Array;
  /** @returns whether the input was accepted as genuine */
  run(input: Uint8Array): Promise<boolean>;
}

async function affirmed(evidence: Evidence, endorsements: Endorsements, at: number): Promise<boolean> {
  const { authenticity } = await appraise({ evidence, endorsements, policy: neutralPolicy, at });
  return authenticity === 'authentic';
}

function targetsOf({ folder, id, files, anchors, at }: LoadedSample): Target[] {
  const name = `${folder}/${id}`;
  const certificates = anchors.flatMap(parsePemCertificates).map(({ raw }) => raw);
  const [report, leaf, quote, document, chain] = ['report', 'leaf', 'quote', 'document', 'chain'].map((role) =>
    files.get(role),
  );
  const endorsed = (own: Uint8Array): Endorsements => ({ ...noEndorsements, certificates: [own, ...certificates] });
  const targets: Target[] = [];
  if (report && leaf) {
    targets.push(
      { name, input: report, run: (input) => affirmed({ kind: 'snp', report: input }, endorsed(leaf), at) },
      { name: `${name} leaf`, input: leaf, run: (input) => affirmed({ kind: 'snp', report }, endorsed(input), at) },
    );
  }
  if (quote) targets.push({ name, input: quote, run: (input) => quoteAffirmed(quote, input, at) });
  if (document)
    targets.push({
      name,
      input: document,
      run: (input) => affirmed({ kind: 'nitro', document: input }, noEndorsements, at),
    });
  if (report && chain) {
    const certificateChain = new TextDecoder().decode(chain);
    targets.push({
      name,
      input: report,
      run: (input) => affirmed({ kind: 'nvidia', report: input, certificateChain }, noEndorsements, at),
    });
  }
  return targets;
}

/** Bytes behind the declared end of a quote are a matter of policy: only the parts before it make a mutant. */
async function quoteAffirmed(original: Uint8Array, input: Uint8Array, at: number): Promise<boolean> {
  if (!(await affirmed({ kind: 'tdx', quote: input }, noEndorsements, at))) return false;
  const declared = (bytes: Uint8Array): string =>
    toHex(bytes.subarray(0, bytes.length - parseQuote(bytes).trailing.length));
  return declared(original) !== declared(input);
}

/** Readers without a signature: only a coded error or a value may come out. */
const readers: readonly Target[] = [
  reader('cbor', Uint8Array.of(0xa2, 0x61, 0x61, 0x82, 1, 2, 0x61, 0x62, 0x43, 1, 2, 3), decodeCanonical),
  reader(
    'cose',
    Uint8Array.of(0xd2, 0x84, 0x43, 0xa1, 0x01, 0x27, 0xa0, 0x41, 0x00, 0x58, 0x40, ...new Uint8Array(64)),
    (bytes) => readSign1(bytes, 'tagged'),
  ),
  reader('policy', new TextEncoder().encode(JSON.stringify(neutralPolicy)), (bytes) =>
    parsePolicy(new TextDecoder().decode(bytes)),
  ),
  reader('crl', Uint8Array.of(0x30, 0x06, 0x30, 0x00, 0x30, 0x00, 0x03, 0x00), parseCrl),
  reader('cert-table', new Uint8Array(96), parseCertTable),
  reader('hcl', Uint8Array.of(0x48, 0x43, 0x4c, 0x41, ...new Uint8Array(2000)), parseHclReport),
  reader('quote', Uint8Array.of(4, 0, 2, 0, 0x81, ...new Uint8Array(700)), parseQuote),
];

function reader(name: string, input: Uint8Array, read: (bytes: Uint8Array) => unknown): Target {
  return {
    name: `reader ${name}`,
    input,
    async run(bytes) {
      try {
        read(bytes);
      } catch (error) {
        if (!(error instanceof CodedError)) throw error;
      }
      return false;
    },
  };
}

/** One to three mutations after each other; never the input itself. */
function mutantOf(input: Uint8Array, below: (n: number) => number): Uint8Array {
  for (;;) {
    let mutant = input;
    for (let round = 1 + below(3); round > 0 && mutant.length > 0; round--)
      mutant = mutations[below(mutations.length)]!(mutant, below);
    if (toHex(mutant) !== toHex(input)) return mutant;
  }
}

/** @param count  mutants in all, spread over every target; @param seed  printed with every failure */
export async function fuzzAttestation(count: number, seed: number): Promise<FuzzReport> {
  const below = random(seed);
  const genuine = loadSamples().filter((sample) => sample.expect?.authentic === true);
  const targets = [...genuine.flatMap(targetsOf), ...readers];
  const failures: { target: string; what: string; input: string }[] = [];
  let refused = 0;
  for (let i = 0; i < count; i++) {
    const target = targets[i % targets.length]!;
    const input = mutantOf(target.input, below);
    try {
      if (await target.run(input)) failures.push({ target: target.name, what: 'accepted', input: toHex(input) });
      else refused++;
    } catch (error) {
      failures.push({
        target: target.name,
        what: error instanceof Error ? `${error.name}: ${error.message}` : 'crash',
        input: toHex(input),
      });
    }
  }
  return { seed, inputs: count, refused, failures };
}
