import type { z } from 'zod';
import { Rejection } from '#attestation/base';
import { pattern, type HeartbeatAnswer, type NodeHeartbeat, type NodeRegister } from '#libs/wire';
import { parseBeat } from './answers.js';
import type { ControlPlane, Patience } from './control-plane.js';

/** What a node registers with. */
export type NodeOffer = Omit<z.input<typeof NodeRegister>, 'auth'>;

/**
 * A control plane whose database was restored from before the node registered is told of it again; it keeps its id.
 *
 * @param offer what it registered with
 * @throws Rejection CONTROL_PLANE_ANSWER and what the control plane refuses with; CollateralError where it cannot be reached
 */
export async function beat(
  controlPlane: Pick<ControlPlane, 'send'>,
  offer: NodeOffer,
  heartbeat: Omit<NodeHeartbeat, 'auth'>,
  patience?: Patience,
): Promise<HeartbeatAnswer> {
  const send = async (): Promise<HeartbeatAnswer> =>
    parseBeat(await controlPlane.send(pattern.nodeHeartbeat, heartbeat, patience));
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof Rejection && error.code === 'NODE_UNKNOWN')) throw error;
    await controlPlane.send(pattern.nodeRegister, offer);
    return send();
  }
}
