/** The OpenAPI document of the REST interface. */
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';

export function openApiOf(app: INestApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Veritrain control plane')
    .setDescription(
      'Jobs, data sets, nodes and blobs. Every failure is application/problem+json with a stable code. ' +
        'Every POST needs an idempotency key.',
    )
    .setVersion('1')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'vt_<id>_<secret>' });
  return SwaggerModule.createDocument(app, builder.build());
}
