/** The demand for acpi=off: what meets it, and everything that a host or a careless policy may try instead. */
import { beforeAll, describe, expect, it } from 'vitest';
import { withListed } from '#test/made-guest';
import { madeFirmware } from '#test/made-firmware';
import { sha256 } from '@noble/hashes/sha2.js';
import { fromHex, toHex } from '../base/bytes.js';
import { isAcpiOff } from '../measure/acpi.js';
import { measurementOf } from '../measure/manifest.js';
import type { SnpLaunch } from '../snp/appraise.js';
import { neutralSnpPolicy } from '../snp/appraise.js';
import type { SnpClaims } from '../snp/verify.js';
import { appraiseAcpi } from './acpi.js';
import { openDemands } from './demands.js';
import { neutralPolicy, parsePolicy } from './policy.js';

const firmware = madeFirmware();
const launch: SnpLaunch = {
  firmware: toHex(sha256(firmware)),
  kernel: '11'.repeat(32),
  initrd: '22'.repeat(32),
  commandLine: 'console=ttyS0 rdinit=/init acpi=off',
  ...{ vcpus: 1, cpu: 'EPYC-Milan', features: 1 },
};

function measured({ kernel, initrd, commandLine, vcpus, cpu, features }: SnpLaunch): Uint8Array {
  const file = (hash: string) => ({ sha256: hash, bytes: 1 });
  const files = { kernel: file(kernel), initrd: file(initrd), cmdline: commandLine };
  return fromHex(measurementOf({ files }, firmware, { vcpus, cpu, features: `0x${features.toString(16)}` }));
}

type Appraiser = typeof appraiseAcpi;

/** What a report with this measurement comes to under this policy. */
async function judged(measurement: Uint8Array, launches: readonly SnpLaunch[], appraiser: Appraiser = appraiseAcpi) {
  let found: readonly string[] = [];
  const claims = { report: { measurement } } as unknown as Pick<SnpClaims, 'report'>;
  await withListed(firmware, () => {
    const checks = appraiser(claims, { ...neutralSnpPolicy, acpi: 'off', launches });
    found = checks.map(({ code, status }) => `${code} ${status}`);
    return Promise.resolve();
  });
  return found;
}

const met = ['SNP_ACPI met'];
const refused = ['SNP_ACPI refused'];
const on = { ...launch, commandLine: 'console=ttyS0 rdinit=/init' };

/** Each is a guest that takes the host's tables, and a policy of whoever wants it accepted. */
const forgeries: readonly (readonly [string, Uint8Array, readonly SnpLaunch[]])[] = [];
beforeAll(() => {
  const add = (name: string, ran: SnpLaunch, launches: readonly SnpLaunch[]): void =>
    void (forgeries as (readonly [string, Uint8Array, readonly SnpLaunch[]])[]).push([name, measured(ran), launches]);
  add('the same image without the word', on, [launch]);
  add('a launch that says so of another measurement', on, [{ ...launch, vcpus: 2 }]);
  add('a launch that is described as it ran', on, [on]);
  for (const words of ['acpi=off acpi=force', 'rdinit=/init -- acpi=off', 'x="a acpi=off b"', 'bootconfig acpi=off'])
    add(words, { ...launch, commandLine: words }, [{ ...launch, commandLine: words }]);
  add('another initial RAM disk', { ...on, initrd: '33'.repeat(32) }, [launch]);
  add('another kernel', { ...on, kernel: '33'.repeat(32) }, [launch]);
  add('more processors', { ...launch, vcpus: 4 }, [launch]);
  add('no launch', launch, []);
  add('firmware that is on no list', launch, [{ ...launch, firmware: '44'.repeat(32) }]);
});

describe('a policy that demands acpi=off', () => {
  it('accepts the launch that it describes, among others', async () => {
    expect(await judged(measured(launch), [launch])).toEqual(met);
    expect(await judged(measured(launch), [on, { ...launch, vcpus: 2 }, launch])).toEqual(met);
  });

  it('SNP_ACPI: refuses every guest that may take the tables of its host', async () => {
    for (const [name, measurement, launches] of forgeries)
      expect(await judged(measurement, launches), name).toEqual(refused);
  });

  it('refuses firmware that is on no list, however it is described', async () => {
    const claims = { report: { measurement: measured(launch) } } as unknown as Pick<SnpClaims, 'report'>;
    const [check] = appraiseAcpi(claims, { ...neutralSnpPolicy, acpi: 'off', launches: [launch] });
    expect(check).toMatchObject({ status: 'refused', got: 'a measurement that no launch gives' });
  });

  it('is missed by appraisers that trust what the policy says of a launch, or look for the word alone', async () => {
    const none = { report: { measurement: new Uint8Array(48) } } as unknown as Pick<SnpClaims, 'report'>;
    const [check] = appraiseAcpi(none, { ...neutralSnpPolicy, acpi: 'off', launches: [] });
    const answer = (isMet: boolean): ReturnType<Appraiser> => [{ ...check!, status: isMet ? 'met' : 'refused' }];
    const broken: Record<string, Appraiser> = {
      'any launch': (_, { launches = [] }) => answer(launches.some(({ commandLine }) => isAcpiOff(commandLine))),
      'the word': ({ report }, { launches = [] }) =>
        answer(
          launches.some(
            (each) => each.commandLine.includes('acpi=off') && toHex(measured(each)) === toHex(report.measurement),
          ),
        ),
    };
    for (const [name, appraiser] of Object.entries(broken)) {
      const missed = [];
      for (const [, measurement, launches] of forgeries)
        if ((await judged(measurement, launches, appraiser))[0] !== refused[0]) missed.push(name);
      expect(missed, name).not.toEqual([]);
    }
  });

  it('says nothing where it is not demanded, and then says that it is not', () => {
    const claims = { report: { measurement: new Uint8Array(48) } } as unknown as Pick<SnpClaims, 'report'>;
    expect(appraiseAcpi(claims, neutralSnpPolicy)).toEqual([]);
    expect(openDemands(neutralPolicy).map(({ field }) => field)).toContain('snp.acpi');
    const demanding = { ...neutralPolicy, snp: { ...neutralSnpPolicy, acpi: 'off' as const, launches: [launch] } };
    expect(parsePolicy(JSON.stringify(demanding))).toEqual(demanding);
    expect(openDemands(demanding).map(({ field }) => field)).not.toContain('snp.acpi');
    for (const change of [{ vcpus: 513 }, { cpu: 'EPYC-Next' }, { features: 0 }, { kernel: '11' }, { note: 'x' }])
      expect(() =>
        parsePolicy(JSON.stringify({ ...demanding, snp: { ...demanding.snp, launches: [{ ...launch, ...change }] } })),
      ).toThrow('DOCUMENT_SHAPE');
  });
});
