/**
 * Mutates real and simulated evidence by a seed and hands it to the verifiers: whatever comes in, a verdict comes out,
 * and no mutant of signed bytes is ever authentic.
 */
import {
  appraise,
  neutralPolicy,
  noEndorsements,
  parseCrl,
  parseHclReport,
  parsePemCertificates,
  parsePolicy,
  parseQuote,
  type Endorsements,
  type Evidence,
} from '#attestation';
import { decodeCanonical, equalBytes, parseCertTable, readSign1, toHex } from '#attestation/base';
import { loadSamples, type LoadedSample } from '#test/samples';
import { fuzz, judged, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { mutantOf } from './mutants.js';

interface Target {
  readonly name: string;
  readonly input: Uint8Array;
  run(input: Uint8Array): Promise<Verdict>;
}

type Appraise = (
  request: Parameters<typeof appraise>[0],
) => Promise<Pick<Awaited<ReturnType<typeof appraise>>, 'authenticity'>>;

function targetsOf({ folder, id, files, anchors, at }: LoadedSample, judge: Appraise): Target[] {
  const affirmed = async (evidence: Evidence, endorsements: Endorsements): Promise<Verdict> => {
    const { authenticity } = await judge({ evidence, endorsements, policy: neutralPolicy, at });
    return authenticity === 'authentic' ? 'accepted' : 'refused';
  };
  const name = `${folder}/${id}`;
  const certificates = anchors.flatMap(parsePemCertificates).map(({ raw }) => raw);
  const [report, leaf, quote, document, chain] = ['report', 'leaf', 'quote', 'document', 'chain'].map((role) =>
    files.get(role),
  );
  const endorsed = (own: Uint8Array): Endorsements => ({ ...noEndorsements, certificates: [own, ...certificates] });
  const targets: Target[] = [];
  if (report && leaf) {
    targets.push(
      { name, input: report, run: (input) => affirmed({ kind: 'snp', report: input }, endorsed(leaf)) },
      { name: `${name} leaf`, input: leaf, run: (input) => affirmed({ kind: 'snp', report }, endorsed(input)) },
    );
  }
  if (quote) {
    const run = async (input: Uint8Array): Promise<Verdict> => {
      const verdict = await affirmed({ kind: 'tdx', quote: input }, noEndorsements);
      return verdict === 'accepted' && sameQuote(quote, input) ? 'taken' : verdict;
    };
    targets.push({ name, input: quote, run });
  }
  if (document)
    targets.push({
      name,
      input: document,
      run: (input) => affirmed({ kind: 'nitro', document: input }, noEndorsements),
    });
  if (report && chain) {
    const certificateChain = new TextDecoder().decode(chain);
    targets.push({
      name,
      input: report,
      run: (input) => affirmed({ kind: 'nvidia', report: input, certificateChain }, noEndorsements),
    });
  }
  return targets;
}

/** Bytes behind the declared end of a quote are a matter of policy. */
function sameQuote(original: Uint8Array, input: Uint8Array): boolean {
  const declared = (bytes: Uint8Array): Uint8Array =>
    bytes.subarray(0, bytes.length - parseQuote(bytes).trailing.length);
  return equalBytes(declared(original), declared(input));
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
    run: (bytes) =>
      judged(
        () => read(bytes),
        () => 'taken',
      ),
  };
}

/** @param count mutants in all, spread over every target; @param judge the verifier */
export function fuzzAttestation(
  count: number,
  seed: number,
  onProgress?: OnProgress,
  judge: Appraise = appraise,
): Promise<FuzzReport> {
  const genuine = loadSamples().filter((sample) => sample.expect?.authentic === true);
  const targets = [...genuine.flatMap((sample) => targetsOf(sample, judge)), ...readers];
  const trialOf: Parameters<typeof fuzz>[2] = (draw, k) => {
    const target = targets[k % targets.length]!;
    const mutant = mutantOf(target.input, draw);
    return { target: target.name, input: () => toHex(mutant), run: () => target.run(mutant) };
  };
  return fuzz(count, seed, trialOf, onProgress);
}
