/** What preflights of hosts found, as their operators posted it. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class NodePreflights1763850000000 implements MigrationInterface {
  readonly name = 'NodePreflights1763850000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "node_preflight" (
         "id" bigserial NOT NULL,
         "node_id" uuid NOT NULL,
         "posted_at" timestamptz NOT NULL,
         "posted_by" text NOT NULL,
         "report" jsonb NOT NULL,
         CONSTRAINT "PK_node_preflight" PRIMARY KEY ("id")
       )`,
    );
    await runner.query(`CREATE INDEX "IDX_node_preflight_node" ON "node_preflight" ("node_id", "id")`);
    await runner.query(
      `ALTER TABLE "node_preflight" ADD CONSTRAINT "FK_bc57648e1e627f6d628a6bcfaa8" FOREIGN KEY ("node_id") REFERENCES "node"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "node_preflight"`);
  }
}
