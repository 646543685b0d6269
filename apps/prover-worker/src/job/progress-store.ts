/**
 * What a prover keeps of a job, so that a killed one goes on at the last proved segment. A segment's seal is written
 * last: where it lies, its statement and the secrets that the next segment starts from lie too. Files are written whole
 * or not at all. The secrets of a border are removed once the next segment is done.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { concatBytes } from '#attestation';
import { decodeWeights, encodeWeights, type Manifest } from '#libs/step';
import type { WeightSecret } from '#libs/zk';
import { parseProofStatement, proofStatementText, type ProofStatement } from '#libs/proof';

export interface ProgressStore {
  /** Segments proved so far, without a gap. */
  done(): number;
  save(index: number, seal: Uint8Array, statement: ProofStatement, after: WeightSecret): void;
  statement(index: number): ProofStatement;
  /** What the segment after `index` starts from. */
  after(index: number): WeightSecret;
  sealFile(index: number): string;
  statementFile(index: number): string;
}

export function openProgressStore(folder: string, m: Manifest): ProgressStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = (index: number, kind: string): string =>
    join(folder, `segment-${String(index).padStart(5, '0')}.${kind}`);
  const write = (path: string, data: Uint8Array | string): void => {
    const partial = `${path}.partial`;
    writeFileSync(partial, data, { mode: 0o600 });
    renameSync(partial, path);
  };
  return {
    done() {
      let count = 0;
      while (existsSync(file(count, 'seal'))) count++;
      return count;
    },
    save(index, seal, statement, { weights, seed, aux = new Uint8Array() }) {
      write(file(index, 'after'), concatBytes(seed, encodeWeights(weights), aux));
      write(file(index, 'json'), `${proofStatementText(statement)}\n`);
      write(file(index, 'seal'), seal);
      if (index > 0) rmSync(file(index - 1, 'after'), { force: true });
    },
    statement: (index) => parseProofStatement(JSON.parse(readFileSync(file(index, 'json'), 'utf8'))),
    after(index) {
      const bytes = new Uint8Array(readFileSync(file(index, 'after')));
      const end = 32 + weightBytes(m);
      const aux = bytes.slice(end);
      const weights = decodeWeights(m, bytes.slice(32, end));
      return { weights, seed: bytes.slice(0, 32), ...(aux.length > 0 && { aux }) };
    },
    sealFile: (index) => file(index, 'seal'),
    statementFile: (index) => file(index, 'json'),
  };
}

function weightBytes({ dims }: Manifest): number {
  let count = 0;
  for (let l = 1; l < dims.length; l++) count += (dims[l - 1]! + 1) * dims[l]!;
  return 8 * count;
}
