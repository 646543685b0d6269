/** Segments of data-parallel jobs, and the sessions that train them. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DataParallel1763790000000 implements MigrationInterface {
  readonly name = 'DataParallel1763790000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "job" ADD "parallel" integer NOT NULL DEFAULT 1`);
    await runner.query(
      `CREATE TABLE "worker" ("id" uuid NOT NULL, "job_id" text NOT NULL, "node_id" uuid NOT NULL, "evidence" bytea NOT NULL, "receipt_key" bytea NOT NULL, "at" bigint NOT NULL, "release" jsonb NOT NULL, "result" bytea NOT NULL, CONSTRAINT "PK_dc8175fa0e34ce7a39e4ec73b94" PRIMARY KEY ("id"))`,
    );
    await runner.query(`CREATE INDEX "IDX_d047ceebe0de09be19bb3971d9" ON "worker" ("job_id", "node_id")`);
    await runner.query(
      `CREATE TABLE "worker_segment" ("job_id" text NOT NULL, "index" integer NOT NULL, "node_id" uuid NOT NULL, "fence" integer NOT NULL, "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL, "worker_id" uuid, "statement" bytea, "receipt" bytea, "blob" text, "done_at" TIMESTAMP WITH TIME ZONE, CONSTRAINT "PK_e592b5c9aca45751feb274f4668" PRIMARY KEY ("job_id", "index"))`,
    );
    await runner.query(
      `ALTER TABLE "worker" ADD CONSTRAINT "FK_695a55087e871914b7daa666d6e" FOREIGN KEY ("job_id") REFERENCES "job"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "worker" ADD CONSTRAINT "FK_dccbc19aaad76946fb81e15cf24" FOREIGN KEY ("node_id") REFERENCES "node"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "worker_segment" ADD CONSTRAINT "FK_3903112e848eb14d23f0c6a60c0" FOREIGN KEY ("job_id") REFERENCES "job"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "worker_segment" ADD CONSTRAINT "FK_d95ce28b06f21c8528d7ada4e1a" FOREIGN KEY ("node_id") REFERENCES "node"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "worker_segment" ADD CONSTRAINT "FK_07215d76f431cc564005c1017f8" FOREIGN KEY ("worker_id") REFERENCES "worker"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "worker_segment"`);
    await runner.query(`DROP TABLE "worker"`);
    await runner.query(`ALTER TABLE "job" DROP COLUMN "parallel"`);
  }
}
