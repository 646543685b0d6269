/** OpenSSF Model Signing 1.0 (github.com/ossf/model-signing-spec): a detached signature over the exported files. */
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, fromHex, toHex } from '#attestation/base';
import { jsonBytes } from './json.js';
import { keyHint, sealStatement, type EcdsaKey } from './dsse.js';
import { statementType, type Statement } from './in-toto.js';
import { orderedFiles, type ModelFile } from './model-files.js';

/** @param name of the model's folder @throws ConfigurationError REPORT_MODEL */
export function modelSignature(name: string, given: readonly ModelFile[], key: EcdsaKey): object {
  return {
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: keyHint(key) }, tlogEntries: [] },
    dsseEnvelope: sealStatement(jsonBytes(signedStatement(name, given)), key),
  };
}

function signedStatement(name: string, given: readonly ModelFile[]): Statement {
  const files = orderedFiles(given);
  const root = sha256(concatBytes(...files.map((file) => fromHex(file.sha256))));
  return {
    _type: statementType,
    subject: [{ name, digest: { sha256: toHex(root) } }],
    predicateType: 'https://model_signing/signature/v1.0',
    predicate: {
      serialization: {
        ...{ method: 'files', hash_type: 'sha256', allow_symlinks: false },
        ignore_paths: ['.git', '.gitattributes', '.github', '.gitignore'],
      },
      resources: files.map((file) => ({ name: file.name, digest: file.sha256, algorithm: 'sha256' })),
    },
  };
}
