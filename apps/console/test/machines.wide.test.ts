/** The long form of machines under made-up vendors: every part altered in its turn, bits flipped, and how they look. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseBundle } from '#attestation/records';
import { alteredEndorsements } from '#test/altered-endorsements';
import { hasBrowser } from '#test/browser';
import type { FakeRoot } from '#test/fake-intel';
import { madeGpuVendor } from '#test/made-machine';
import { tinyBundle } from '#test/tiny-bundle';
import { expectAltered } from './altered.js';
import { buildReviewer, openBrowser, openTab } from './browser.js';
import type { Sample } from './corpus.js';
import { flipsOf } from './flips.js';
import { expectLooks, looks } from './looks.js';
import { machineSamples, pinsOf } from './machines.js';
import { alterationsOf } from './parts.js';

const apart = Number(process.env['VERITRAIN_ALTERATIONS'] ?? 12);
const flips = Number(process.env['VERITRAIN_FLIPS'] ?? 40);

const trusted = vi.hoisted(() => ({ nvidia: { device: [] as string[], rim: [] as string[] }, intel: null as unknown }));
vi.mock('../../../attestation/src/nvidia/constants.js', async (original) => ({
  ...(await original<object>()),
  nvidiaPins: trusted.nvidia,
}));
vi.mock('../../../attestation/src/intel/verify.js', async (original) => {
  const { fakeIntel, fakeIntelRoot } = await import('#test/fake-intel');
  const root = await fakeIntelRoot();
  trusted.intel = root;
  const { pins } = await fakeIntel({ root });
  return { ...(await original<object>()), intelRootSpkiSha256: [...pins][0] };
});

describe.skipIf(!hasBrowser)('a machine in the page', () => {
  let browser: Browser;
  let file: string;
  let samples: readonly Sample[];
  beforeAll(async () => {
    const vendor = await madeGpuVendor();
    trusted.nvidia.device.push(...vendor.nvidia.pins.device);
    trusted.nvidia.rim.push(...vendor.nvidia.pins.rim);
    const made = { vendor, intel: trusted.intel as FakeRoot };
    samples = await machineSamples({ ...made, trained: (await tinyBundle()).bundle });
    ({ file } = buildReviewer({}, await pinsOf(made)));
    browser = await openBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
  });

  it.each(['gpu', 'td'])(
    'is what the command line says with one part altered, and with one bit flipped: %s',
    async (name) => {
      const sample = samples.find((one) => one.name === name)!;
      const { page, complaints, close } = await openTab(browser, file);
      const parts = alterationsOf(sample.bytes).filter((_, at) => at % apart === 0);
      console.warn(`${name}, parts: ${await expectAltered(page, sample, parts)}`);
      const bits = flipsOf(sample.bytes, flips).map((flip) => ({ ...flip, what: `byte ${flip.place}` }));
      console.warn(`${name}, flips: ${await expectAltered(page, sample, bits)}`);
      const bundle = parseBundle(sample.bytes);
      if (bundle.version !== 4) throw new Error(`version ${bundle.version}`);
      const others = [...alteredEndorsements(bundle, Math.ceil(flips / 10))];
      console.warn(`${name}, endorsements: ${await expectAltered(page, sample, others)}`);
      expect(complaints).toEqual([]);
      await close();
    },
    3_600_000,
  );

  it.each(looks)(
    'has no fault of accessibility and fits, %s at %i px',
    async (...look) => expectLooks(browser, file, samples, look),
    900_000,
  );
});
