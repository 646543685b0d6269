/** The smaller formats around a report: certificate table, paravisor report, ID block, firmware, addresses. */
import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { sha256, sha384 } from '@noble/hashes/sha2.js';
import { describe, expect, it } from 'vitest';
import { loadSamples } from '#test/samples';
import { concatBytes, fromBase64, fromHex, fromUtf8, toHex } from '../base/bytes.js';
import { certTableEndorsements, parseCertTable } from '../base/cert-table.js';
import { launchDigest, type LaunchInput } from '../measure/launch-digest.js';
import { cpuSignature } from '../measure/vmsa.js';
import { parseSnpReport, describeSnpReport, snpFieldsOf, snpReportBytes, snpReportFields } from './abi.js';
import { checkHclBinding, parseHclReport } from './hcl.js';
import { verifyIdBlock } from './id-block.js';
import { kdsChainUrl, kdsCrlUrl, kdsVcekUrl } from './kds.js';
import { candidateProducts } from './product.js';
import { readTcb, tcbBelow } from './tcb.js';

const samples = loadSamples('amd-snp');
const fileOf = (id: string, role: string) => samples.find((sample) => sample.id === id)?.files.get(role);

describe('the report layout', () => {
  it('covers every byte once in every version', () => {
    for (const version of [2, 3, 4, 5]) {
      let next = 0;
      for (const { offset, size } of snpFieldsOf(version)) {
        expect(offset).toBe(next);
        next = offset + size;
      }
      expect(next).toBe(snpReportBytes);
    }
    expect(new Set(snpReportFields.map(({ name }) => name)).size).toBe(snpReportFields.length);
  });

  it.skipIf(samples.length === 0)('is dumped with offsets', () => {
    const lines = describeSnpReport(fileOf('turin-v5-vcek-azure', 'report')!);
    expect(lines.find(({ name }) => name === 'PLATFORM_INFO')).toEqual({
      offset: 0x40,
      size: 8,
      name: 'PLATFORM_INFO',
      value: '0x65',
    });
    expect(lines.map(({ size }) => size).reduce((a, b) => a + b)).toBe(snpReportBytes);
  });
});

describe.skipIf(samples.length === 0)('the certificate table of a real host', () => {
  const table = () => {
    const tsm = JSON.parse(fromUtf8(fileOf('genoa-v3-vcek-configfs-tsm', 'tsmReportJson')!)) as { auxblob: string };
    return fromBase64(tsm.auxblob);
  };
  const patched = (offset: number, ...bytes: number[]) => {
    const copy = table();
    copy.set(bytes, offset);
    return copy;
  };

  it('holds the chain, and the sample’s leaf', () => {
    expect(
      parseCertTable(table())
        .map(({ role }) => role)
        .sort(),
    ).toEqual(['ark', 'ask', 'vcek']);
    const leaf = toHex(fileOf('genoa-v3-vcek-configfs-tsm', 'leaf')!);
    expect(certTableEndorsements(table()).certificates.map(toHex)).toContain(leaf);
  });

  it.each([
    ['an offset into the header', () => patched(16, 0, 0, 0, 0)],
    ['an offset beyond the end', () => patched(16, 0xff, 0xff, 0xff, 0x7f)],
    ['a length beyond the end', () => patched(20, 0xff, 0xff, 0xff, 0xff)],
    ['an overlap', () => patched(40, ...table().subarray(16, 20))],
    ['the same GUID twice', () => patched(24, ...table().subarray(0, 16))],
    ['no end', () => table().subarray(0, 60)],
    ['nothing', () => new Uint8Array()],
    ['too much', () => new Uint8Array(300 * 1024)],
  ])('is refused with %s', (_, build) => {
    expect(() => parseCertTable(build())).toThrow('SNP_CERT_TABLE');
  });
});

describe.skipIf(samples.length === 0)('the paravisor report', () => {
  const hcl = () => fileOf('milan-v2-azure-hcl-vtpm', 'hclReport')!;

  it('holds the report, and claims that REPORT_DATA covers', () => {
    const parsed = parseHclReport(hcl());
    expect(toHex(parsed.report)).toBe(toHex(fileOf('milan-v2-azure-hcl-vtpm', 'report')!));
    checkHclBinding(parsed, parseSnpReport(parsed.report).reportData);
    expect(JSON.stringify(parsed.claims)).toContain('HCLAkPub');
  });

  it('is refused when claims or framing differ', () => {
    const altered = hcl().slice();
    altered[1300]! ^= 1;
    const parsed = parseHclReport(altered);
    expect(() => checkHclBinding(parsed, parseSnpReport(parsed.report).reportData)).toThrow('HCL_REPORT_DATA');
    for (const [offset, value] of [
      [0, 0],
      [1224, 9],
      [1228, 2],
      [1234, 9],
    ] as const) {
      const bad = hcl().slice();
      bad[offset] = value;
      expect(() => parseHclReport(bad)).toThrow('HCL_MALFORMED');
    }
    expect(() => parseHclReport(hcl().subarray(0, 1200))).toThrow('HCL_MALFORMED');
    expect(() =>
      checkHclBinding(
        parseHclReport(hcl()),
        concatBytes(sha256(parsed.runtimeClaims), new Uint8Array(31), Uint8Array.of(1)),
      ),
    ).toThrow('HCL_REPORT_DATA');
  });
});

describe('the ID block', () => {
  const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const reversed = (bytes: Uint8Array) => concatBytes(bytes.slice().reverse(), new Uint8Array(24));
  const structure = (key: KeyObject) => {
    const { x, y } = key.export({ format: 'jwk' }) as { x: string; y: string };
    return concatBytes(
      Uint8Array.of(2, 0, 0, 0),
      reversed(fromBase64(x)),
      reversed(fromBase64(y)),
      new Uint8Array(0x404 - 148),
    );
  };
  const signature = (key: KeyObject, data: Uint8Array) => {
    const raw = new Uint8Array(
      sign('sha384', data, {
        key: createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' })),
        dsaEncoding: 'ieee-p1363',
      }),
    );
    return concatBytes(reversed(raw.slice(0, 48)), reversed(raw.slice(48)), new Uint8Array(512 - 144));
  };
  const build = () => {
    const [id, author] = [pair(), pair()];
    const block = new Uint8Array(96);
    block.set(new Uint8Array(48).fill(5));
    block[80] = 1;
    block[84] = 7;
    const auth = new Uint8Array(4096);
    auth.set([1, 0, 0, 0, 1, 0, 0, 0]);
    auth.set(signature(id.privateKey, block), 0x40);
    auth.set(structure(id.publicKey), 0x240);
    auth.set(signature(author.privateKey, structure(id.publicKey)), 0x680);
    auth.set(structure(author.publicKey), 0x880);
    return {
      block,
      auth,
      idDigest: toHex(sha384(structure(id.publicKey))),
      authorDigest: toHex(sha384(structure(author.publicKey))),
    };
  };

  it('gives what the report must show', async () => {
    const { block, auth, idDigest, authorDigest } = build();
    expect(await verifyIdBlock(block, auth)).toMatchObject({
      measurement: '05'.repeat(48),
      guestSvn: 7,
      idKeyDigest: idDigest,
      authorKeyDigest: authorDigest,
    });
  });

  it('is refused when anything signed or reserved is altered', async () => {
    const { block, auth } = build();
    const flip = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));
    for (const at of [0, 50, 70, 84, 88])
      await expect(verifyIdBlock(flip(block, at), auth)).rejects.toThrow('SNP_ID_BLOCK_SIGNATURE');
    for (const at of [0x40, 0x244, 0x680, 0x884])
      await expect(verifyIdBlock(block, flip(auth, at))).rejects.toThrow(/SNP_ID_BLOCK_SIGNATURE|SIGNATURE_/);
    for (const at of [0, 0x40 + 60, 0x40 + 300, 0x240, 0x240 + 60])
      await expect(verifyIdBlock(block, flip(auth, at))).rejects.toThrow('SNP_ID_BLOCK');
    await expect(verifyIdBlock(flip(block, 80), auth)).rejects.toThrow('SNP_ID_BLOCK');
    await expect(verifyIdBlock(block.subarray(1), auth)).rejects.toThrow('SNP_ID_BLOCK');
  });
});

describe.skipIf(samples.length === 0)('the launch digest', () => {
  const input = (change: Partial<LaunchInput> = {}): LaunchInput => ({
    firmware: fileOf('launch-digest', 'ovmfAmdSev')!,
    kernel: { image: new Uint8Array(), initrd: new Uint8Array(), commandLine: '' },
    vcpus: 1,
    cpuSignature: cpuSignature('EPYC-v4'),
    guestFeatures: 1n,
    vmm: 'QEMU',
    ...change,
  });

  it('depends on every input', () => {
    const kernel = input().kernel!;
    const digests = [
      input(),
      input({ vcpus: 2 }),
      input({ cpuSignature: cpuSignature('EPYC-Milan') }),
      input({ guestFeatures: 0x21n }),
      input({ kernel: { ...kernel, commandLine: 'x' } }),
      input({ kernel: { ...kernel, initrd: Uint8Array.of(1) } }),
      input({ kernel: { ...kernel, image: Uint8Array.of(1) } }),
      input({ vmm: 'ec2' }),
      input({ vmm: 'gce' }),
      input({ firmwareDigest: new Uint8Array(48) }),
    ].map((each) => toHex(launchDigest(each)));
    expect(new Set(digests).size).toBe(digests.length);
  });

  it('refuses firmware, CPUs and kernels it cannot measure', () => {
    const firmware = fileOf('launch-digest', 'ovmfAmdSev')!;
    const flip = (at: number) => firmware.map((byte, index) => (index === at ? byte ^ 0xff : byte));
    expect(() => launchDigest(input({ firmware: firmware.subarray(1) }))).toThrow('SNP_MEASURE_FIRMWARE');
    for (const at of [4096 - 33, 4096 - 49, 4096 - 50])
      expect(() => launchDigest(input({ firmware: flip(at) }))).toThrow('SNP_MEASURE_FIRMWARE');
    expect(() => launchDigest(input({ vcpus: 0 }))).toThrow('SNP_MEASURE_VCPUS');
    expect(() => launchDigest(input({ firmware: fileOf('launch-digest', 'ovmfX64')! }))).toThrow('SNP_MEASURE_KERNEL');
    expect(() => cpuSignature('Nehalem')).toThrow('SNP_MEASURE_VCPU_TYPE');
    for (let at = 0; at < 4096; at++) {
      try {
        launchDigest(input({ firmware: flip(at), firmwareDigest: new Uint8Array(48) }));
      } catch (error) {
        expect((error as { code?: string }).code).toMatch(/^SNP_MEASURE_/);
      }
    }
  });
});

describe('TCB and products', () => {
  it('compares component by component', () => {
    const low = { bootLoader: 1, tee: 0, snp: 5, microcode: 255 };
    expect(tcbBelow(low, { bootLoader: 2, microcode: 1 })).toEqual(['bootLoader']);
    expect(tcbBelow(low, { snp: 5 })).toEqual([]);
    expect(tcbBelow(low, { fmc: 1 })).toEqual(['fmc']);
    const bytes = fromHex('0102030400000009');
    expect(readTcb(bytes, 1)).toEqual({ fmc: 1, bootLoader: 2, tee: 3, snp: 4, microcode: 9 });
    expect(() => readTcb(bytes, 0)).toThrow('SNP_TCB_RESERVED');
  });

  it.each([
    [0x19, 0x00, 'Milan'],
    [0x19, 0x0f, 'Milan'],
    [0x19, 0x10, 'Genoa'],
    [0x19, 0xa0, 'Genoa'],
    [0x19, 0xaf, 'Genoa'],
    [0x1a, 0x00, 'Turin'],
    [0x1a, 0x11, 'Turin'],
    [0x1a, 0x12, null],
    [0x1a, 0x50, null],
    [0x19, 0x20, null],
    [0x17, 0x31, null],
  ])('family %i model %i is %s', (family, model, product) => {
    const report = { cpuid: { family, model, stepping: 0 }, chipId: new Uint8Array(64) } as never;
    if (product === null) expect(() => candidateProducts(report)).toThrow('SNP_PRODUCT_UNSUPPORTED');
    else expect(candidateProducts(report)).toEqual([product]);
  });

  it('names the addresses of the key distribution service', () => {
    expect(kdsChainUrl('Genoa', 'vlek')).toBe('https://kdsintf.amd.com/vlek/v1/Genoa/cert_chain');
    expect(kdsCrlUrl('Milan', 'vcek')).toBe('https://kdsintf.amd.com/vcek/v1/Milan/crl');
    const chip = new Uint8Array(64).fill(0xab);
    const tcb = { bootLoader: 3, tee: 0, snp: 22, microcode: 209 };
    expect(kdsVcekUrl('Milan', chip, tcb)).toBe(
      `https://kdsintf.amd.com/vcek/v1/Milan/${'ab'.repeat(64)}?blSPL=03&teeSPL=00&snpSPL=22&ucodeSPL=209`,
    );
    expect(kdsVcekUrl('Turin', chip, { fmc: 1, ...tcb })).toBe(
      `https://kdsintf.amd.com/vcek/v1/Turin/${'ab'.repeat(8)}?fmcSPL=01&blSPL=03&teeSPL=00&snpSPL=22&ucodeSPL=209`,
    );
  });
});
