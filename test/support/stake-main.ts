/** A provider's process with one thing to do, to be killed: `accept`, or `release`, which takes all free stake out. */
import { readFileSync } from 'node:fs';
import { fromHex } from '#attestation/base';
import { decodeTerms } from '#attestation/records';
import { connect, SettlementClient, type Deployment } from '#libs/settlement';
import { native, walletOf } from './escrow-market.js';

const [call, url, file, terms] = process.argv.slice(2) as [string, string, string, string];
const deployment = JSON.parse(readFileSync(file, 'utf8')) as Deployment;
const provider = new SettlementClient(deployment, walletOf('provider').connect(connect(url, deployment.chainId, 20)));
if (call === 'accept') await provider.accept(decodeTerms(fromHex(terms)));
else await provider.stakeDownTo(native, 0n);
process.exit(0);
