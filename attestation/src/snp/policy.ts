/** Bit fields of the report: guest policy (AMD 56860, GUEST_POLICY) and PLATFORM_INFO, as data. */

export const guestPolicyBits = {
  smtAllowed: 16,
  migrationAllowed: 18,
  debugAllowed: 19,
  singleSocket: 20,
  cxlAllowed: 21,
  memAes256Xts: 22,
  raplDisabled: 23,
  ciphertextHiding: 24,
  pageSwapDisabled: 25,
} as const;
export type GuestPolicyBit = keyof typeof guestPolicyBits;

export type GuestPolicy = Readonly<Record<GuestPolicyBit, boolean>> & {
  readonly abiMajor: number;
  readonly abiMinor: number;
};

/** @param value  POLICY, 64 bits; reserved bits were checked by the parser */
export function readGuestPolicy(value: bigint): GuestPolicy {
  const bits = Object.entries(guestPolicyBits).map(([name, bit]) => [name, ((value >> BigInt(bit)) & 1n) === 1n]);
  return {
    ...(Object.fromEntries(bits) as Record<GuestPolicyBit, boolean>),
    abiMinor: Number(value & 0xffn),
    abiMajor: Number((value >> 8n) & 0xffn),
  };
}

export const platformInfoBits = {
  smtEnabled: 0,
  tsmeEnabled: 1,
  eccEnabled: 2,
  raplDisabled: 3,
  ciphertextHiding: 4,
  aliasCheckComplete: 5,
  tioEnabled: 7,
} as const;
export type PlatformInfoBit = keyof typeof platformInfoBits;

export interface PlatformInfo {
  readonly set: readonly PlatformInfoBit[];
  /** Numbers of set bits without a published name (bit 6 is set on genuine Turin machines): policy decides. */
  readonly unknownBits: readonly number[];
}

export function readPlatformInfo(value: bigint): PlatformInfo {
  const setBits = Array.from({ length: 64 }, (_, bit) => bit).filter((bit) => ((value >> BigInt(bit)) & 1n) === 1n);
  const names = Object.entries(platformInfoBits) as [PlatformInfoBit, number][];
  return {
    set: names.filter(([, bit]) => setBits.includes(bit)).map(([name]) => name),
    unknownBits: setBits.filter((bit) => !names.some(([, known]) => known === bit)),
  };
}
