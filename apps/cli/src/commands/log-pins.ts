/** What a policy pins of code, as entries of images name it, and what no entry has a word for. */
import type { AppraisalPolicy } from '#attestation';

export interface Pin {
  /** Of an entry's measurement: a kind of evidence for what is measured at the launch, else a register (`RTMR1`, `PCR4`). */
  readonly kind: string;
  /** Hexadecimal. */
  readonly value: string;
}

interface PolicyPins {
  /** Each value once. */
  readonly pins: readonly Pin[];
  /** Fields of the policy that pin code, its configuration or who made it by something that is no measurement. */
  readonly notLookedUp: readonly string[];
}

const mrTdDigits = 96;

/** A register of zeros has measured nothing, so that no image is behind it. */
const isZero = (value: string): boolean => /^0+$/.test(value);

export function pinsOf({ cpuKinds, snp, quote, nitro }: AppraisalPolicy): PolicyPins {
  const of = (kind: string, values: readonly string[] = []): Pin[] =>
    values.filter((value) => !isZero(value)).map((value) => ({ kind, value: value.toLowerCase() }));
  const ofSnp = cpuKinds?.includes('simulated-snp') === true && !cpuKinds.includes('snp') ? 'simulated-snp' : 'snp';
  const pins = [
    ...of(ofSnp, snp.measurements),
    ...(quote.measurements ?? []).flatMap((one) => of(one.length === mrTdDigits ? 'tdx' : 'sgx', [one])),
    ...Object.entries(quote.rtmrs ?? {}).flatMap(([index, values]) => of(`RTMR${index}`, values)),
    ...Object.entries(nitro.pcrs).flatMap(([index, values]) => of(index === '0' ? 'nitro' : `PCR${index}`, values)),
  ];
  const { idKeyDigests, authorKeyDigests, hostData, launches } = snp;
  const { mrSigners, mrConfigId, mrOwner, mrOwnerConfig, mrServiceTd } = quote;
  const others = {
    ...{ 'snp.idKeyDigests': idKeyDigests, 'snp.authorKeyDigests': authorKeyDigests, 'snp.hostData': hostData },
    'snp.launches': launches?.map(({ kernel }) => kernel),
    ...{ 'quote.mrSigners': mrSigners, 'quote.mrConfigId': mrConfigId, 'quote.mrServiceTd': mrServiceTd },
    ...{ 'quote.mrOwner': mrOwner, 'quote.mrOwnerConfig': mrOwnerConfig },
  };
  return {
    pins: [...new Map(pins.map((pin) => [`${pin.kind} ${pin.value}`, pin])).values()],
    notLookedUp: Object.entries(others).flatMap(([field, value = []]) => ([value].flat().every(isZero) ? [] : field)),
  };
}
