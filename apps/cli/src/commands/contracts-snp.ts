/** `veritrain contracts snp-certificate | snp-image | snp-register`: SEV-SNP evidence that the chain itself verifies. */
import type { Command } from 'commander';
import { later } from '../later.js';
import { digest, withSigner } from './contracts-target.js';

export function addSnpCommands(contracts: Command): void {
  withSigner(contracts.command('snp-certificate'))
    .description('have the chain verify a VCEK or VLEK; once for each chip and firmware')
    .requiredOption('--leaf <file>', 'certificate of the VCEK or VLEK, DER or PEM')
    .requiredOption('--issuer <file>', 'certificate of the ASK or ASVK that signed it')
    .action(later(async () => (await import('../contracts/snp.js')).addCertificate));
  withSigner(contracts.command('snp-image'))
    .description('allow an image under a policy of SnpRegistry, as its owner')
    .requiredOption('--policy <file>', 'policy as `veritrain policy snp` wrote it')
    .requiredOption('--image <digest>', 'keccak256 of the launch measurement', digest)
    .option('--disallow', 'refuse it for keys to come instead')
    .action(later(async () => (await import('../contracts/snp.js')).setImage));
  withSigner(contracts.command('snp-register'))
    .description('register the settlement key of a session on its own SEV-SNP report')
    .requiredOption('--policy <file>', 'policy as `veritrain policy snp` wrote it')
    .requiredOption('--evidence <file>', 'evidence of the session over the hash of a recent block')
    .option('--leaf <file>', 'certificate of the VCEK or VLEK, where the evidence has none')
    .option('--issuer <file>', 'certificate of its ASK or ASVK: adds the first where the chain does not know it')
    .action(later(async () => (await import('../contracts/snp.js')).register));
}
