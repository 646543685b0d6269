/** What a node reports names blobs that its operator uploaded. */
import type { EntityManager } from 'typeorm';
import { BlobRecord } from '#libs/persistence';
import type { Principal } from '../core/auth/principal.js';
import { refusal } from '../core/problem/codes.js';

/** @throws Rejection BLOB_UNKNOWN */
export async function requireBlob(manager: EntityManager, { tenant }: Principal, sha256: string): Promise<void> {
  if (await manager.existsBy(BlobRecord, { sha256, tenant })) return;
  throw refusal('BLOB_UNKNOWN', {
    expected: 'a blob that this operator uploaded',
    got: sha256,
    rule: 'apps/control-plane/README.md, blobs',
    action: 'Upload it first.',
  });
}
