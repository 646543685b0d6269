/** The OpenAPI document of the REST interface. */
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';

const text = { type: 'string' };
/** RFC 9457 with the fields of a coded error; libs/wire holds the type. */
const problem = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'detail', 'expected', 'got', 'rule', 'action', 'instance'],
  properties: {
    type: text,
    title: text,
    status: { type: 'integer' },
    code: text,
    detail: text,
    expected: text,
    got: text,
    rule: text,
    action: text,
    instance: text,
  },
};
const failure = {
  description: 'Any failure',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

export function openApiOf(app: INestApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Veritrain control plane')
    .setDescription(
      'Jobs, data sets, nodes and blobs. Every failure is application/problem+json with a stable code; a method that a path ' +
        'does not take is refused with 405 METHOD_NOT_ALLOWED, and Allow names those that it takes. ' +
        'Every POST needs an idempotency key.',
    )
    .setVersion('1')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'vt_<id>_<secret>' });
  const document = SwaggerModule.createDocument(app, builder.build());
  document.components = { ...document.components, schemas: { ...document.components?.schemas, Problem: problem } };
  for (const path of Object.values(document.paths)) {
    for (const operation of [path.get, path.put, path.post, path.patch, path.delete]) {
      if (operation !== undefined) operation.responses = { ...operation.responses, default: failure };
    }
  }
  return document;
}
