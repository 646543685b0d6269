/** People who sign in to the console: their cookies as digests, each of an API key. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ConsoleSessions1763825000000 implements MigrationInterface {
  readonly name = 'ConsoleSessions1763825000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "console_session" ("digest" text NOT NULL, "key_id" text NOT NULL, "created_at" TIMESTAMP WITH TIME ZONE NOT NULL, "used_at" TIMESTAMP WITH TIME ZONE NOT NULL, CONSTRAINT "PK_console_session" PRIMARY KEY ("digest"))`,
    );
    await runner.query(`CREATE INDEX "IDX_console_session_key" ON "console_session" ("key_id")`);
    await runner.query(`CREATE INDEX "IDX_console_session_created" ON "console_session" ("created_at")`);
    await runner.query(
      `ALTER TABLE "console_session" ADD CONSTRAINT "FK_7e1b6ea14c1168a1b65d0800257" FOREIGN KEY ("key_id") REFERENCES "api_key"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "console_session"`);
  }
}
