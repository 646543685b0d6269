/** Where what lies in a host's folder. */
import { join, resolve } from 'node:path';

export function placesOf(dir: string, number: number) {
  const at = (...parts: readonly string[]): string => resolve(join(dir, ...parts));
  return {
    guest: at('guest', `${number}.json`),
    manifest: at('guest', `${number}.manifest.json`),
    /** Of the last guest that was asked: SNP report. */
    report: at('guest', `${number}.report.bin`),
    agent: at(`host-${number}.json`),
    providerKey: at('provider.key'),
    hostSecret: at('host-secret.key'),
    units: at('systemd'),
  };
}
