/** Headers of blocks as the chain hashes them, for what a contract reads from one. contracts/SPEC.md §8. */
import { encodeRlp, getBytes, keccak256, type JsonRpcApiProvider } from 'ethers';
import { CollateralError } from '#attestation/base';

type RpcHeader = Readonly<Record<string, string>>;

/** Of the yellow paper and the EIPs after it; what a chain does not have is left out from the end. */
const quantities = ['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'];
const members = [
  ...['parentHash', 'sha3Uncles', 'beneficiary', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'],
  ...[...quantities, 'extraData', 'mixHash', 'nonce', 'baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed'],
  ...['excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'],
];
const integers = new Set([...quantities, 'baseFeePerGas', 'blobGasUsed', 'excessBlobGas']);

/** RLP of a block header as a node gives it. */
function encodeHeader(block: RpcHeader): Uint8Array {
  // Nodes call the beneficiary by several names; it is the one account in a header.
  const beneficiary = Object.values(block).find((value) => /^0x[0-9a-fA-F]{40}$/.test(value)) ?? '0x';
  const named: RpcHeader = { ...block, beneficiary };
  const present = members.filter((name) => named[name] !== undefined && named[name] !== null);
  const words = present.map((name) => (integers.has(name) ? shortest(named[name]!) : named[name]!));
  return getBytes(encodeRlp(words));
}

function shortest(quantity: string): string {
  const value = BigInt(quantity);
  if (value === 0n) return '0x';
  const digits = value.toString(16);
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}

/** @throws CollateralError CHAIN_HEADER where the node's block is none whose hash this header has */
export async function headerOf(provider: JsonRpcApiProvider, number: number): Promise<Uint8Array> {
  const block = (await provider.send('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])) as RpcHeader | null;
  if (block === null) throw noHeader(`block ${number}`, 'none');
  const header = encodeHeader(block);
  if (keccak256(header) !== block['hash']) throw noHeader(`the header of ${block['hash']}`, keccak256(header));
  return header;
}

export function noHeader(expected: string, got: string): CollateralError {
  return new CollateralError('CHAIN_HEADER', {
    expected,
    got,
    rule: 'contracts/SPEC.md §8',
    action: 'wait for the block, or ask another node',
  });
}
