/** Proofs of segments, and who is at work on one. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SegmentProofs1763750000000 implements MigrationInterface {
  readonly name = 'SegmentProofs1763750000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "segment_proof" ("job_id" text NOT NULL, "index" integer NOT NULL, "node_id" uuid NOT NULL, "fence" integer NOT NULL, "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL, "blob" text, "document" text, "proved_at" TIMESTAMP WITH TIME ZONE, CONSTRAINT "PK_6ea8d9a52fe014aee2a5504b3eb" PRIMARY KEY ("job_id", "index"))`,
    );
    await runner.query(
      `ALTER TABLE "segment_proof" ADD CONSTRAINT "FK_26123666ea535c87477638eb6f8" FOREIGN KEY ("job_id") REFERENCES "job"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "segment_proof" ADD CONSTRAINT "FK_1a75e8f2dda743bf5d4e009fb97" FOREIGN KEY ("node_id") REFERENCES "node"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "segment_proof"`);
  }
}
