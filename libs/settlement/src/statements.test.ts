import { readFileSync } from 'node:fs';
import { AbiCoder, TypedDataEncoder, keccak256, type TypedDataField } from 'ethers';
import { describe, expect, it } from 'vitest';
import { fromHex, Rejection, to0x } from '#attestation/base';
import * as statements from '#attestation/records';
import {
  borderPath,
  bordersRoot,
  decodeTerms,
  encodeTerms,
  escrowIdOf,
  parseTermsJson,
  termsJson,
  type Terms,
} from '#attestation/records';

/** The same file drives contracts/test/Vectors.t.sol. */
const vectors = JSON.parse(
  readFileSync(new URL('../../../contracts/test/vectors/statements.json', import.meta.url), 'utf8'),
);

const fill = (n: number, size = 32) => new Uint8Array(size).fill(n);
const contract = { chainId: 31337, verifyingContract: fill(0xc0, 20) };
const escrow = statements.domainSeparator(contract);
const terms: Terms = {
  ...{ client: fill(1, 20), provider: fill(2, 20), keyBroker: fill(3, 20), token: fill(4, 20) },
  ...{ specDigest: fill(5), initialWeights: fill(6), policy: fill(7), snpPolicy: fill(10), planDigest: fill(23) },
  ...{ attestors: [fill(24, 20), fill(25, 20)], needed: 2 },
  ...{ teeSelector: statements.teeSelector, dutySelectors: [fill(8, 4), fill(9, 4)] },
  ...{ price: (1n << 128n) - 1n, stake: 11n, liveness: 12n, bond: 13n, bondFee: 14n, publishFee: 26n },
  ...{ failShareBps: 15, holdbackBps: 16, segments: 17, samples: 18 },
  ...{ unit: 27, unitSegments: 28, parts: 29, providers: fill(30) },
  ...{ mode: 53, seedCommitClient: fill(22), acceptBy: 2 ** 40 - 1 },
  windows: {
    ...{ start: 1, compute: 2, finality: 3, draw: 4, challenge: 5, prove: 6, provePer: 7, hold: 8, reveal: 9 },
    ...{ ack: 2 ** 32 - 1, drawBlocks: 11 },
  },
};

const termsType =
  'tuple(address client,address provider,address keyBroker,address token,bytes32 specDigest,bytes32 initialWeights,' +
  'bytes32 policy,bytes32 snpPolicy,bytes32 planDigest,address[] attestors,uint8 needed,bytes4 teeSelector,' +
  'bytes4[] dutySelectors,uint128 price,uint128 stake,uint128 liveness,uint128 bond,uint128 bondFee,' +
  'uint128 publishFee,uint16 failShareBps,uint16 holdbackBps,uint32 segments,uint32 samples,uint8 unit,' +
  'uint16 unitSegments,uint8 parts,bytes32 providers,uint16 mode,bytes32 seedCommitClient,uint40 acceptBy,' +
  'tuple(uint32 start,uint32 compute,uint32 finality,uint32 draw,uint32 challenge,uint32 prove,uint32 provePer,' +
  'uint32 hold,uint32 reveal,uint32 ack,uint32 drawBlocks) windows)';

const job = escrowIdOf(terms);
const keys = [fill(34, 20), fill(35, 20)];
const run = { job, upTo: 3, outcome: 2 as const, bordersRoot: fill(31), last: fill(32), delivery: fill(33) };
const segment = { job, index: 41, weightsBefore: fill(42), weightsAfter: fill(43) };
const release = {
  ...{ job, provider: fill(51, 20), dataset: fill(52), session: fill(53), key: fill(54, 20), policy: fill(55) },
  ...{ evidence: fill(56), grant: fill(57), nonce: fill(58), grantedAt: 59, notAfter: 60 },
};
const appraisal = {
  ...{ job, provider: fill(81, 20), session: fill(82), key: fill(83, 20), policy: fill(84), evidence: fill(85) },
  notAfter: 86,
};
/** Accounts as ethers takes them. */
const textual = <T extends object>(value: T): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      one instanceof Uint8Array && one.length === 20 ? to0x(one) : one,
    ]),
  );

const messages: Record<string, { got: Uint8Array; fields: string; value: object }> = {
  run: {
    got: statements.runDigest(escrow, { ...run, keys: statements.runKeysDigest(keys) }),
    fields: 'Run(bytes32 job,uint32 upTo,uint8 outcome,bytes32 bordersRoot,bytes32 last,bytes32 delivery,bytes32 keys)',
    value: { ...run, keys: vectors.digests.keys },
  },
  segment: {
    got: statements.segmentDigest(escrow, segment),
    fields: 'Segment(bytes32 job,uint32 index,bytes32 weightsBefore,bytes32 weightsAfter)',
    value: segment,
  },
  release: {
    got: statements.releaseDigest(escrow, release),
    fields:
      'Release(bytes32 job,address provider,bytes32 dataset,bytes32 session,address key,bytes32 policy,bytes32 evidence,bytes32 grant,bytes32 nonce,uint40 grantedAt,uint40 notAfter)',
    value: release,
  },
  voucher: {
    got: statements.voucherDigest(escrow, job, 61n),
    fields: 'Voucher(bytes32 job,uint256 cumulative)',
    value: { job, cumulative: 61n },
  },
  award: {
    got: statements.awardDigest(escrow, job, fill(71, 20)),
    fields: 'Award(bytes32 job,address provider)',
    value: { job, provider: fill(71, 20) },
  },
  availability: {
    got: statements.availabilityDigest(escrow, job, fill(72), 73),
    fields: 'Availability(bytes32 job,bytes32 ciphertextDigest,uint40 until)',
    value: { job, ciphertextDigest: fill(72), until: 73 },
  },
  appraisal: {
    got: statements.appraisalDigest(escrow, appraisal),
    fields:
      'Appraisal(bytes32 job,address provider,bytes32 session,address key,bytes32 policy,bytes32 evidence,uint40 notAfter)',
    value: appraisal,
  },
  revocation: {
    got: statements.revocationDigest(escrow, job, fill(91, 20), fill(92)),
    fields: 'Revocation(bytes32 job,address key,bytes32 reason)',
    value: { job, key: fill(91, 20), reason: fill(92) },
  },
};

describe('settlement statements', () => {
  it.each(Object.keys(messages))('%s has the digest of ethers and of the shared vector', (name) => {
    const { got, fields, value } = messages[name]!;
    const [, type, list] = /^(\w+)\((.*)\)$/.exec(fields)!;
    const types: TypedDataField[] = list!.split(',').map((field) => {
      const [kind, member] = field.split(' ');
      return { name: member!, type: kind! };
    });
    const domain = {
      name: 'Settlement',
      version: '2',
      chainId: contract.chainId,
      verifyingContract: to0x(contract.verifyingContract),
    };
    expect(to0x(got)).toBe(TypedDataEncoder.hash(domain, { [type!]: types }, textual(value)));
    expect(to0x(got)).toBe(vectors.digests[name]);
  });

  it('encodes terms as ethers does, and their digest is the shared vector', () => {
    const byEthers = AbiCoder.defaultAbiCoder().encode(
      [termsType],
      [{ ...textual(terms), attestors: terms.attestors.map(to0x) }],
    );
    expect(to0x(encodeTerms(terms))).toBe(byEthers);
    expect(to0x(encodeTerms(terms))).toBe(vectors.terms);
    expect(to0x(job)).toBe(vectors.digests.job);
  });

  it('reads back terms from ABI and from JSON', () => {
    expect(decodeTerms(encodeTerms(terms))).toEqual(terms);
    expect(parseTermsJson(JSON.parse(JSON.stringify(termsJson(terms))))).toEqual(terms);
    const bare = { ...terms, dutySelectors: [] };
    expect(decodeTerms(encodeTerms(bare))).toEqual(bare);
  });

  it('reads no second encoding of terms', () => {
    const encoded = encodeTerms(terms);
    for (let at = 0; at < encoded.length; at += 32) {
      const changed = encoded.slice();
      changed[at]! ^= 0x80;
      const same = (() => {
        try {
          return to0x(encodeTerms(decodeTerms(changed))) === to0x(changed);
        } catch (error) {
          expect(error).toBeInstanceOf(Rejection);
          return true;
        }
      })();
      expect(same).toBe(true);
    }
    expect(() => decodeTerms(encoded.subarray(0, encoded.length - 32))).toThrow(/TERMS_ENCODING/);
    expect(() => decodeTerms(new Uint8Array(40))).toThrow(/TERMS_ENCODING/);
  });

  it.each([
    ['a short address', { client: fill(1, 19) }],
    ['an amount of 2^128', { price: 1n << 128n }],
    ['a negative number', { segments: -1 }],
    ['a fraction', { samples: 1.5 }],
    ['nine selectors', { dutySelectors: Array.from({ length: 9 }, () => fill(1, 4)) }],
  ])('refuses terms with %s', (_, change) => {
    expect(() => encodeTerms({ ...terms, ...change } as Terms)).toThrow(/TERMS_FIELD/);
  });

  it.each([
    ['an unknown member', { extra: 1 }],
    ['a missing member', { price: undefined }],
    ['a number for an amount', { price: 5 }],
    ['a padded amount', { price: '05' }],
    ['text for a number', { segments: '3' }],
    ['a list for windows', { windows: [] }],
  ])('refuses JSON terms with %s', (_, change) => {
    expect(() => parseTermsJson({ ...termsJson(terms), ...change })).toThrow(/TERMS_FIELD/);
  });

  it('bounds the integers of statements', () => {
    const long = { ...run, upTo: 2 ** 32, keys: job };
    expect(() => statements.runDigest(escrow, long)).toThrow(/STATEMENT_RANGE/);
    expect(() => statements.voucherDigest(escrow, job, -1n)).toThrow(/STATEMENT_RANGE/);
  });

  it('binds ciphertext and key in the delivery', () => {
    expect(to0x(statements.deliveryDigest(fill(1), fill(2)))).toBe(keccak256('0x' + '01'.repeat(32) + '02'.repeat(32)));
    expect(to0x(statements.deliveryDigest(fill(1), fill(2)))).toBe(vectors.digests.delivery);
  });
});

describe('the tree of borders', () => {
  it.each([1, 2, 3, 4, 5, 148])('has the root of the shared vector for %i borders', (count) => {
    const borders = Array.from({ length: count }, (_, i) => fromHex(keccak256(to0x(fill(i & 255)))));
    expect(to0x(bordersRoot(borders))).toBe(vectors.roots[count]);
    const index = count >> 1;
    let node = fromHex(keccak256(to0x(Uint8Array.of(1, ...borders[index]!))));
    let at = index;
    for (const sibling of borderPath(borders, index)) {
      node = fromHex(keccak256(to0x(at & 1 ? Uint8Array.of(...sibling, ...node) : Uint8Array.of(...node, ...sibling))));
      at >>= 1;
    }
    expect(to0x(node)).toBe(vectors.roots[count]);
  });

  it('refuses no borders and an index outside', () => {
    expect(() => bordersRoot([])).toThrow(/BORDERS_LENGTH/);
    expect(() => borderPath([fill(1)], 1)).toThrow(/BORDERS_INDEX/);
  });
});
