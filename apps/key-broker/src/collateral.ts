/** Endorsements that the owner keeps at hand, in the files that the vendors publish. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseCollateralBundle } from '#attestation';
import { ConfigurationError, fromUtf8 } from '#attestation/base';
import { type EndorsementRecord } from '#attestation/records';

const fileBytesMax = 4 * 1024 * 1024;
const filesMax = 256;

/**
 * Read anew for every appraisal, so that a newer list counts at once. By ending: `.crl` certificate revocation list,
 * `.ocsp` OCSP response, `.der` certificate, all DER; `.xml` NVIDIA reference manifest; `.json` Intel's collateral, of
 * which one is read; `.advisories` signed advisories. They are untrusted: each is verified when it is used.
 *
 * @throws ConfigurationError BROKER_COLLATERAL when the folder or a file in it cannot be read
 */
export function readCollateral(folder: string): EndorsementRecord {
  const names = attempt(folder, () => readdirSync(folder)).sort();
  if (names.length > filesMax) throw invalid(folder, `at most ${filesMax} files`, `${names.length}`);
  const files = (ending: string): string[] =>
    names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
  const json = files('.json');
  if (json.length > 1) throw invalid(folder, 'one JSON file', `${json.length}`);
  const intel = json.map(read);
  intel.forEach((file, at) => attempt(json[at]!, () => parseCollateralBundle(fromUtf8(file))));
  return {
    certificates: files('.der').map(read),
    crls: files('.crl').map(read),
    ocsp: files('.ocsp').map(read),
    rims: files('.xml').map(read),
    intel,
    advisories: files('.advisories').map(read),
  };
}

function read(file: string): Uint8Array {
  return attempt(file, () => {
    const { size } = statSync(file);
    if (size > fileBytesMax) throw invalid(file, `at most ${fileBytesMax} bytes`, `${size}`);
    return new Uint8Array(readFileSync(file));
  });
}

function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw invalid(path, 'a readable folder of collateral', (error as { code?: string }).code ?? 'an error');
  }
}

function invalid(path: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError('BROKER_COLLATERAL', {
    expected: `${path}: ${expected}`,
    got,
    rule: 'key broker settings',
  });
}
