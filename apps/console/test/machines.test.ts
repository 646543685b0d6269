/**
 * Whole machines with a GPU and with TDX in the page, which is built to take made-up vendors: it says of each what the
 * command line says, check for check.
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { headingOf } from '#libs/review';
import { hasBrowser } from '#test/browser';
import type { FakeRoot } from '#test/fake-intel';
import { madeGpuVendor } from '#test/made-machine';
import { tinyBundle } from '#test/tiny-bundle';
import { chainOf } from '../src/reviewer/links.js';
import { partings } from './altered.js';
import { buildReviewer, openBrowser, openTab } from './browser.js';
import type { Sample } from './corpus.js';
import { presentOfTest } from './flips.js';
import { judgedHere } from './judged.js';
import { machineSamples, pinsOf } from './machines.js';

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

let samples: readonly Sample[];
let alterations: Awaited<ReturnType<typeof pinsOf>>;
beforeAll(async () => {
  const vendor = await madeGpuVendor();
  trusted.nvidia.device.push(...vendor.nvidia.pins.device);
  trusted.nvidia.rim.push(...vendor.nvidia.pins.rim);
  const made = { vendor, intel: trusted.intel as FakeRoot };
  samples = await machineSamples({ ...made, trained: (await tinyBundle()).bundle });
  alterations = await pinsOf(made);
});

it('a machine is what its evidence makes it, and broken where it is altered', async () => {
  for (const sample of samples) {
    const [was, later] = await judgedHere(sample, sample.at!);
    const chain = chainOf(was.checks, was.simulated, false);
    const broken = chain.filter(({ state }) => state === 'broken').map(({ id }) => id);
    expect([sample.name, headingOf(was)]).toEqual([sample.name, sample.heading]);
    expect([sample.name, headingOf(later)]).toEqual([sample.name, sample.later ?? sample.heading]);
    expect([sample.name, broken]).toEqual([sample.name, sample.broken ?? []]);
    for (const [id, state] of Object.entries(sample.states ?? {})) {
      expect([sample.name, id, chain.find((link) => link.id === id)?.state]).toEqual([sample.name, id, state]);
    }
  }
});

describe.skipIf(!hasBrowser)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it('a machine is what the command line says of it', async () => {
    const { page, complaints, close } = await openTab(browser, buildReviewer({}, alterations).file);
    for (const sample of samples) {
      const found = await partings(page, sample, sample.at ?? presentOfTest);
      expect([sample.name, found]).toEqual([sample.name, []]);
    }
    expect(complaints).toEqual([]);
    await close();
  }, 300_000);

  it('a machine of vendors that the page does not take is broken at its root', async () => {
    const { page, close } = await openTab(browser, buildReviewer().file);
    const found = await partings(
      page,
      samples.find(({ name }) => name === 'td')!,
    );
    expect(found.join('; ')).toContain('report.json differs');
    await close();
  });
});
