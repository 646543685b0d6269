/** A vector file of `fxt/2`: a manifest with its data, trained to its digests (libs/step/SPEC.md §30). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rejection } from '#attestation/base';
import { parseIdxImages, parseIdxLabels, parseNetManifest } from '#libs/step';
import { fashionFiles } from '../demo/fashion.js';
import { mnistFiles } from '../demo/mnist.js';
import { readIdx } from '../demo/idx.js';
import { runEngine, type EngineReport } from './engine-process.js';
import { joinNetRecords } from './net-records.js';
import { vectorExamples, type ImageSet, type VectorData } from './vector-data.js';

interface VectorRequest {
  readonly digestAt: readonly number[];
  readonly threads: number;
  readonly carrier: 'auto' | 'float64';
}

/** @param json parsed JSON of a vector file @throws Rejection MANIFEST_*, VECTOR_DATA; ConfigurationError FASHION_MISSING */
export async function runVector(
  json: unknown,
  request: VectorRequest,
  onTold?: Parameters<typeof runEngine>[1],
): Promise<EngineReport> {
  const { data, ...manifest } = (typeof json === 'object' && json !== null ? json : {}) as { data?: VectorData };
  if (typeof data !== 'object' || data === null) {
    const rule = 'libs/step/SPEC.md §30';
    const action = 'add the member data; to train a manifest on your own data say --manifest, --data and --out';
    throw new Rejection('VECTOR_DATA', { expected: 'a manifest with a member data', got: 'no data', rule, action });
  }
  const m = parseNetManifest(manifest);
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-vector-'));
  try {
    const records = join(folder, 'records');
    writeFileSync(
      records,
      joinNetRecords(
        m,
        vectorExamples(m, data, (kind) => imagesOf(kind === 'mnist' ? mnistFiles : fashionFiles())),
      ),
      { mode: 0o600 },
    );
    return await runEngine({ ...request, manifest, records }, onTold);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function imagesOf({ trainImages, trainLabels }: typeof mnistFiles): ReturnType<ImageSet> {
  return { data: parseIdxImages(readIdx(trainImages)).data, labels: parseIdxLabels(readIdx(trainLabels)) };
}
