/** For every route of the control plane's REST that takes a body, a request that it takes. */
import { to0x } from '#attestation/base';
import { datasetManifestJson } from '#attestation/records';
import { keys, type KeyName, type TestPlane } from '../../apps/control-plane/test/harness.js';
import { makeJob, sha256, submit, upload } from '../../apps/control-plane/test/job-fixture.js';
import type { HttpRequest } from './http-line.js';

export interface RestRequest extends HttpRequest {
  /** JSON, or bytes. */
  readonly body: unknown;
  /** Members of a JSON body, or all bytes, whose every change must be refused; or whether a body says the same. */
  readonly bound: readonly string[] | 'bytes' | ((body: unknown) => boolean);
}

/** Makes a request that is taken; after a mutant was, another is made. */
export interface RequestMaker {
  /** Of the route, `POST /v1/jobs`. */
  readonly name: string;
  make(): Promise<RestRequest>;
}

export const maker = (name: string, make: RequestMaker['make']): RequestMaker => ({ name, make });

const json = { 'content-type': 'application/json' };
const bytes = { 'content-type': 'application/octet-stream' };

export function controlPlaneMakers(test: TestPlane): readonly RequestMaker[] {
  const of = (who: KeyName, method: string, path: string, body: unknown, bound: RestRequest['bound']): RestRequest => ({
    ...{ port: test.plane.httpPort, method, path, body, bound },
    headers: { authorization: `Bearer ${keys[who]}`, ...(body instanceof Uint8Array ? bytes : json) },
  });
  const jobRoute = (action: string, body: object): RequestMaker =>
    maker(`POST /v1/jobs/:id/${action}`, async () => {
      const { jobId } = await submit(test);
      return of('tenantAdmin', 'POST', `/v1/jobs/${jobId}/${action}`, body, []);
    });
  const shardRoute = async (): Promise<readonly [path: string, shard: Uint8Array]> => {
    const { dataset, shards } = makeJob(test.clock.at());
    await test
      .as('client')
      .post('/v1/datasets', { manifest: datasetManifestJson(dataset) })
      .expect(201);
    return [`/v1/datasets/${to0x(dataset.id)}/shards/0`, shards[0]!];
  };
  return [
    maker('POST /v1/datasets', async () =>
      of('client', 'POST', '/v1/datasets', { manifest: datasetManifestJson(makeJob(0).dataset) }, []),
    ),
    maker('PUT /v1/datasets/:id/shards/:index', async () => of('client', 'PUT', ...(await shardRoute()), 'bytes')),
    maker('PATCH /v1/datasets/:id/shards/:index', async () => {
      // A part may come first: only the whole is looked at.
      const request = of('client', 'PATCH', ...(await shardRoute()), []);
      return { ...request, headers: { ...request.headers, 'upload-offset': '0' } };
    }),
    maker('POST /v1/jobs', async () => {
      const job = makeJob(test.clock.at());
      await upload(test, job);
      return of('client', 'POST', '/v1/jobs', { ...job.body, priority: 5, requirements: { cores: 1 } }, [
        'spec',
        'policy',
      ]);
    }),
    jobRoute('cancel', {}),
    jobRoute('pause', {}),
    jobRoute('priority', { priority: 7 }),
    maker('POST /v1/keys', async () =>
      of('admin', 'POST', '/v1/keys', { tenant: 'acme', role: 'reviewer', name: 'fuzzed' }, []),
    ),
    maker('POST /v1/webhooks', async () =>
      webhookOf(test, (body) => of('otherClient', 'POST', '/v1/webhooks', body, [])),
    ),
    maker('PUT /v1/blobs/:sha256', async () => {
      const blob = sha256('a blob');
      return of('operator', 'PUT', `/v1/blobs/${to0x(sha256(blob))}`, blob, 'bytes');
    }),
    maker('POST /graphql', async () => {
      const query = 'query Jobs($limit: Int!) { jobPage(limit: $limit) { items { id state } } }';
      return of('client', 'POST', '/graphql', { query, variables: { limit: 2 }, operationName: 'Jobs' }, []);
    }),
  ];
}

/** Of a tenant without jobs: nothing is ever sent to what a mutant names. */
async function webhookOf(test: TestPlane, request: (body: object) => RestRequest): Promise<RestRequest> {
  const client = test.as('otherClient');
  const { body } = await client.get('/v1/webhooks').expect(200);
  for (const { id } of body as readonly { id: string }[]) await client.remove(`/v1/webhooks/${id}`).expect(204);
  return request({ url: 'http://127.0.0.1:9/hook', states: ['completed'] });
}
