/** Which segments a seed draws: contracts/SPEC.md §8, contracts/src/Duties.sol `_sampleAt`. */
import { AbiCoder, keccak256 } from 'ethers';

/**
 * @param seed    of the draw, 0x-hexadecimal
 * @param samples that the terms ask for
 * @param upTo    segments of the committed run
 * @returns segments in the order of the sample, repeated where they were drawn twice
 */
export function sampleOf(seed: string, samples: number, upTo: number): readonly number[] {
  return Array.from({ length: samples }, (_, a) => {
    const digest = keccak256(AbiCoder.defaultAbiCoder().encode(['bytes32', 'uint256'], [seed, a]));
    return Number(BigInt(digest) % BigInt(upTo));
  });
}
