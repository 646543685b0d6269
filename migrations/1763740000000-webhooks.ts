/** Webhooks and their deliveries. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Webhooks1763740000000 implements MigrationInterface {
  readonly name = 'Webhooks1763740000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "webhook" ("id" text NOT NULL, "tenant" text NOT NULL, "url" text NOT NULL, "secret" bytea NOT NULL, "states" jsonb NOT NULL, "created_at" TIMESTAMP WITH TIME ZONE NOT NULL, "disabled_at" TIMESTAMP WITH TIME ZONE, CONSTRAINT "PK_e6765510c2d078db49632b59020" PRIMARY KEY ("id"))`,
    );
    await runner.query(`CREATE INDEX "IDX_83f0f0ad6ed276e0a377d67aba" ON "webhook" ("tenant")`);
    await runner.query(
      `CREATE TABLE "webhook_delivery" ("id" BIGSERIAL NOT NULL, "webhook_id" text NOT NULL, "body" text NOT NULL, "attempts" integer NOT NULL, "created_at" TIMESTAMP WITH TIME ZONE NOT NULL, "next_at" TIMESTAMP WITH TIME ZONE NOT NULL, "ended_at" TIMESTAMP WITH TIME ZONE, "last_outcome" text, CONSTRAINT "PK_b1ae290239a778f12399db91354" PRIMARY KEY ("id"))`,
    );
    await runner.query(`CREATE INDEX "IDX_ef25cc28dcf88ea3dd81f39af2" ON "webhook_delivery" ("webhook_id")`);
    await runner.query(
      `CREATE INDEX "IDX_afd282f8fbaa58974094b98cd7" ON "webhook_delivery" ("next_at") WHERE "ended_at" IS NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "webhook_delivery"`);
    await runner.query(`DROP TABLE "webhook"`);
  }
}
