import { readdirSync, readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { describeSamples } from '#test/describe-samples';
import { samplesRoot } from '#test/samples';
import { parsePemCertificates, parseCertificate } from './certificate.js';
import { verifyPath } from './path.js';

describeSamples('certificates of the real samples', () => {
  const folder = `${samplesRoot}/amd-snp`;
  const anchors = readdirSync(`${folder}/anchors`)
    .filter((name) => name.endsWith('.pem'))
    .flatMap((name) => parsePemCertificates(readFileSync(`${folder}/anchors/${name}`, 'utf8')));

  it('reads them as node:crypto does', () => {
    for (const certificate of anchors) {
      const other = new X509Certificate(certificate.raw);
      expect(BigInt(`0x${certificate.serial}`)).toBe(BigInt(`0x${other.serialNumber}`));
      expect(certificate.notAfter).toBe(Date.parse(other.validTo) / 1000);
      expect(certificate.notBefore).toBe(Date.parse(other.validFrom) / 1000);
    }
  });

  it('builds the path of a VCEK to the pinned root', async () => {
    const leaf = parseCertificate(readFileSync(`${folder}/genoa-v3-vcek-azure/vcek.der`));
    const pin = anchors.find((certificate) => certificate.subjectText.includes('CN=ARK-Genoa'))!.spkiSha256;
    const path = await verifyPath({ leaf, pool: anchors, rootSpkiSha256: new Set([pin]), at: 1_781_481_600 });
    expect(path.certificates.length).toBe(3);
  });
});
