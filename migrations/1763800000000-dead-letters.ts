/** Messages that could not be taken. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DeadLetters1763800000000 implements MigrationInterface {
  readonly name = 'DeadLetters1763800000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "dead_letter" ("id" BIGSERIAL NOT NULL, "at" TIMESTAMP WITH TIME ZONE NOT NULL, "source" text NOT NULL, "pattern" text NOT NULL, "actor" text, "code" text NOT NULL, "reason" jsonb NOT NULL, "payload" bytea NOT NULL, "bytes" integer NOT NULL, "replayed_at" TIMESTAMP WITH TIME ZONE, "replay_code" text, CONSTRAINT "PK_e51e9e534cd18984b2aad76403c" PRIMARY KEY ("id"))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "dead_letter"`);
  }
}
