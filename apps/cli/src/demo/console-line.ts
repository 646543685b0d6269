/** Where people look on while a demonstration runs, and what they sign in with; both end with it. */
import { loadProfile } from '#libs/client/api';
import type { EmbeddedSystem } from '../system/embedded.js';

export function consoleLine({ urls, profileFile }: Pick<EmbeddedSystem, 'urls' | 'profileFile'>): string {
  const { apiKey } = loadProfile(profileFile).controlPlane;
  return `  console  ${urls['console']}  until this ends; sign in with the test key ${apiKey}`;
}
