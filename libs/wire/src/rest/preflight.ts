/** What a preflight found on the host of a node, as its operator posts it: nothing of it is evidence. */
import { z } from 'zod';
import { text } from '../dispatch/fields.js';

export const preflightLimits = { checks: 64, name: 100, text: 400 } as const;
const said = text(preflightLimits.text);

export const PreflightCheck = z.object({
  name: text(preflightLimits.name).min(1),
  /** `missing`: the host cannot start guests, or the policy would refuse it; `skipped`: the profile does not need it. */
  state: z.enum(['ok', 'missing', 'warning', 'skipped']),
  found: said,
  expected: said,
  /** What to do; empty where nothing is. */
  action: said,
});
export type PreflightCheck = z.infer<typeof PreflightCheck>;

export const PreflightReport = z.object({
  /** `host`: what guests take, by `host preflight`; `policy`: what a policy demands, by `node preflight`. */
  kind: z.enum(['host', 'policy']),
  simulated: z.boolean(),
  /** By the host's clock. */
  at: z.iso.datetime(),
  /** Id of the policy that the host was held against. */
  policy: text(preflightLimits.name).nullable(),
  checks: z.array(PreflightCheck).min(1).max(preflightLimits.checks),
});
export type PreflightReport = z.infer<typeof PreflightReport>;
