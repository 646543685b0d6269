/** What is to stand in the transparency log is kept until it does. Jobs of before are not logged. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class LogOutbox1763830000000 implements MigrationInterface {
  readonly name = 'LogOutbox1763830000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "log_outbox" (
         "id" bigserial NOT NULL,
         "kind" text NOT NULL,
         "subject" text NOT NULL,
         "data" jsonb NOT NULL,
         "entry" bytea,
         "salt" bytea,
         "body" bytea,
         "bundle" text,
         "proof" text,
         "member" bytea,
         "attempts" integer NOT NULL,
         "next_at" timestamptz NOT NULL,
         "created_at" timestamptz NOT NULL,
         "ended_at" timestamptz,
         "code" text,
         CONSTRAINT "PK_log_outbox" PRIMARY KEY ("id")
       )`,
    );
    await runner.query(`CREATE INDEX "IDX_log_outbox_due" ON "log_outbox" ("next_at") WHERE "ended_at" IS NULL`);
    await runner.query(
      `CREATE UNIQUE INDEX "IDX_log_outbox_policy" ON "log_outbox" ("subject") WHERE "kind" = 'policy'`,
    );
    await runner.query(`CREATE INDEX "IDX_log_outbox_subject" ON "log_outbox" ("kind", "subject")`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "log_outbox"`);
  }
}
