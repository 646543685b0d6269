/** A job of `fxt/2` at the control plane: its data set is registered and uploaded. */
import { to0x } from '#attestation/base';
import { sealedDatasetJson, shardCount, type JobSpec } from '#attestation/records';
import { canonicalManifest } from '#libs/step';
import { tableData, tableNet, type TableData } from '#test/net-job';
import { makeJob, segmentSteps, type Fixture } from './job-fixture.js';
import type { TestPlane } from './harness.js';

/** Data sets made so far: no two are the same. */
let made = 0;

/** @param changes of the spec */
export async function netFixture(
  test: TestPlane,
  changes: Partial<JobSpec> = {},
  change: (data: TableData['manifest']) => TableData['manifest'] = (manifest) => manifest,
  net = tableNet(),
): Promise<Fixture> {
  const data = await tableData(net, { salt: made++ });
  const { id, root, records, shards, validation } = data.manifest;
  const client = test.as('client');
  const registered = change(data.manifest);
  await client.post('/v1/datasets', { manifest: sealedDatasetJson(registered) }).expect(201);
  for (const [index, bytes] of data.shards.slice(0, shardCount(registered)).entries()) {
    await client.put(`/v1/datasets/${to0x(id)}/shards/${index}`, bytes).expect(204);
  }
  const spec: Partial<JobSpec> = {
    dataset: { id, root, records, shards: shards.length },
    validation: { root: validation!.root, records: validation!.records },
    ...changes,
  };
  const terms = { segments: net.steps / segmentSteps };
  return makeJob(test.clock.at(), { manifest: canonicalManifest(net), spec, terms });
}
