/** The rest of the corpus, which takes longer to make: proofs beside receipts, samples, Groth16, many segments. */
import { hasGroth16Tools } from '#test/groth16-tools';
import { longBundle } from '#test/long-bundle';
import { groth16Bundle, groth16Keys, provedBundle, unitsBundle, type MadeKey } from '#test/proved-bundle';
import type { Sample } from './corpus.js';

export async function costlyCorpus(): Promise<readonly Sample[]> {
  return [
    {
      ...{ name: 'sampled', bytes: await provedBundle('sampled'), heading: 'verified-with-remarks' },
      states: { proof: 'remark', seal: 'holds' },
    },
    {
      ...{ name: 'tee-and-proof', bytes: await provedBundle('tee+zk'), heading: 'simulated' },
      states: { receipts: 'holds', seal: 'holds' },
    },
    {
      ...{ name: 'units', bytes: await unitsBundle(), heading: 'verified-with-remarks' },
      ...{ states: { proof: 'remark', receipts: 'holds' }, shows: 'covers up to 32 superblocks of 2 steps' },
    },
    ...(hasGroth16Tools ? await groth16Samples() : []),
    { name: 'many-segments', bytes: await longBundle(4000), heading: 'simulated', states: { receipts: 'holds' } },
  ];
}

/** A key that one machine made forges proofs; one of a ceremony the reader may choose, and another one counts for nothing. */
async function groth16Samples(): Promise<readonly Sample[]> {
  const [development, external] = await groth16Keys();
  const bytes = await groth16Bundle(external);
  const key = ({ document, verificationKey: digest }: MadeKey) => [
    { ...{ name: 'key.json', bytes: document, digest }, kind: 'groth16-key' as const },
  ];
  return [
    {
      ...{ name: 'groth16-development', bytes: await groth16Bundle(development), heading: 'do-not-rely' },
      broken: ['proof'],
    },
    { name: 'groth16', bytes, heading: 'verified-with-remarks', states: { proof: 'remark' } },
    { name: 'groth16-own-key', bytes, heading: 'verified-with-remarks', beside: key(external) },
    {
      ...{ name: 'groth16-other-key', bytes, heading: 'do-not-rely', beside: key(development) },
      broken: ['proof'],
    },
  ];
}
