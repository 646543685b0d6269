/** A vector file of `fxt/2`: a manifest with its data, trained to its digests (libs/step/SPEC.md §30). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Rejection } from '#attestation/base';
import { parseIdxImages, parseIdxLabels, parseNetManifest } from '#libs/step';
import { mnistFiles } from '../demo/mnist.js';
import { readBytes } from '#libs/client';
import { runEngine, type EngineReport } from './engine-process.js';
import { joinNetRecords } from './net-records.js';
import { vectorExamples, type VectorData } from './vector-data.js';

const imagesMax = 64 * 1024 * 1024;

/** @param json parsed JSON of a vector file @throws Rejection MANIFEST_*, VECTOR_DATA */
export async function runVector(json: unknown, digestAt: readonly number[], threads: number): Promise<EngineReport> {
  const { data, ...manifest } = (typeof json === 'object' && json !== null ? json : {}) as { data?: VectorData };
  if (typeof data !== 'object' || data === null) {
    const rule = 'libs/step/SPEC.md §30';
    throw new Rejection('VECTOR_DATA', { expected: 'a manifest with a member data', got: 'no data', rule });
  }
  const m = parseNetManifest(manifest);
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-vector-'));
  try {
    const records = join(folder, 'records');
    writeFileSync(records, joinNetRecords(m, vectorExamples(m, data, mnistImages)), { mode: 0o600 });
    return await runEngine({ manifest, records, digestAt, threads });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function mnistImages(): { readonly data: Uint8Array; readonly labels: Uint8Array } {
  return {
    data: parseIdxImages(readBytes(mnistFiles.trainImages, imagesMax)).data,
    labels: parseIdxLabels(readBytes(mnistFiles.trainLabels, imagesMax)),
  };
}
