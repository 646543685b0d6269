/** An OCI image layout (image-spec 1.1): blobs by digest, manifests, one index. Equal contents give equal bytes. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:HEX`. */
  readonly digest: string;
  readonly size: number;
  readonly artifactType?: string;
  readonly platform?: { readonly architecture: string; readonly os: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

const prefix = 'application/vnd.oci.image';
export const mediaTypes = {
  index: `${prefix}.index.v1+json`,
  manifest: `${prefix}.manifest.v1+json`,
  config: `${prefix}.config.v1+json`,
  /** Not compressed: a compressor's bytes change with its version. */
  layer: `${prefix}.layer.v1.tar`,
  empty: 'application/vnd.oci.empty.v1+json',
} as const;

/** Annotation of the specification: what an index calls a manifest. */
export const named = 'org.opencontainers.image.ref.name';

/** Writes one blob; one that is there is left. */
export function writeBlob(layout: string, mediaType: string, parts: readonly Uint8Array[]): Descriptor {
  const digest = parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');
  const folder = join(layout, 'blobs', 'sha256');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, digest);
  if (!existsSync(path)) {
    const file = openSync(`${path}.partial`, 'w', 0o644);
    try {
      for (const part of parts) for (let at = 0; at < part.length; at += writeSync(file, part, at));
    } finally {
      closeSync(file);
    }
    renameSync(`${path}.partial`, path);
  }
  return { mediaType, digest: `sha256:${digest}`, size: parts.reduce((sum, { length }) => sum + length, 0) };
}

/** A document as a blob, members in their order, without white space. */
export function writeDocument(layout: string, mediaType: string, value: unknown): Descriptor {
  return writeBlob(layout, mediaType, [Buffer.from(JSON.stringify(value))]);
}

/** The index comes last: a layout without one is none. @returns the index's digest */
export function writeIndex(layout: string, manifests: readonly Descriptor[]): string {
  const index = JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.index, manifests });
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(join(layout, 'index.json.partial'), index);
  renameSync(join(layout, 'index.json.partial'), join(layout, 'index.json'));
  return `sha256:${createHash('sha256').update(index).digest('hex')}`;
}
