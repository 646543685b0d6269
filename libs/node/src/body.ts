/** Problem documents in answers of a control plane or key broker. */
import { readBody } from '#libs/process';

/** A problem document (RFC 9457), or nothing where the answer is none. @throws Rejection ANSWER_TOO_LARGE */
export async function readProblem(response: Response): Promise<Record<string, unknown>> {
  const text = Buffer.from(await readBody(response, 64 * 1024)).toString('utf8');
  try {
    const problem: unknown = JSON.parse(text);
    return typeof problem === 'object' && problem !== null ? (problem as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
