/** First schema of the control plane. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Initial1763722800000 implements MigrationInterface {
  readonly name = 'Initial1763722800000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE TABLE "api_key" (
      "id" text NOT NULL,
      "tenant" text NOT NULL,
      "role" text NOT NULL,
      "name" text NOT NULL,
      "secret_hash" bytea NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "revoked_at" TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "PK_b1bd840641b8acbaad89c3d8d11" PRIMARY KEY ("id")
    )`);
    await runner.query(`CREATE TABLE "blob" (
      "sha256" text NOT NULL,
      "tenant" text NOT NULL,
      "bytes" integer NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_329b29010957e79c1c3fca5de36" PRIMARY KEY ("sha256", "tenant")
    )`);
    await runner.query(`CREATE TABLE "escrow_event" (
      "block_hash" text NOT NULL,
      "log_index" integer NOT NULL,
      "block_number" integer NOT NULL,
      "transaction" text NOT NULL,
      "escrow_id" text NOT NULL,
      "name" text NOT NULL,
      "data" jsonb NOT NULL,
      CONSTRAINT "PK_42623d50dd68169528d92c0b908" PRIMARY KEY ("block_hash", "log_index")
    )`);
    await runner.query(
      `CREATE INDEX "IDX_be33ded9bdbf016b70afbbab65" ON "escrow_event" ("escrow_id", "block_number", "log_index")`,
    );
    await runner.query(`CREATE TABLE "chain_cursor" (
      "contract" text NOT NULL,
      "block_number" integer NOT NULL,
      "block_hash" text NOT NULL,
      "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_8408f73c8b9caffafb73fb60606" PRIMARY KEY ("contract")
    )`);
    await runner.query(`CREATE TABLE "dataset" (
      "id" text NOT NULL,
      "tenant" text NOT NULL,
      "manifest" jsonb NOT NULL,
      "root" text NOT NULL,
      "records" bigint NOT NULL,
      "shards" integer NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_36c1c67adb3d1dd69ae57f18913" PRIMARY KEY ("id")
    )`);
    await runner.query(`CREATE TABLE "dataset_shard" (
      "dataset_id" text NOT NULL,
      "index" integer NOT NULL,
      "sha256" text NOT NULL,
      "bytes" integer NOT NULL,
      "uploaded_at" TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "PK_e33b9ca37e853e37d836b665b87" PRIMARY KEY ("dataset_id", "index")
    )`);
    await runner.query(`CREATE TABLE "job" (
      "id" text NOT NULL,
      "seq" BIGSERIAL NOT NULL,
      "tenant" text NOT NULL,
      "state" text NOT NULL,
      "code" text,
      "reason" jsonb,
      "escrow_id" text NOT NULL,
      "spec" bytea NOT NULL,
      "terms" jsonb NOT NULL,
      "provider" text NOT NULL,
      "policy" bytea NOT NULL,
      "assurance" text NOT NULL,
      "broker_url" text NOT NULL,
      "dataset_id" text NOT NULL,
      "steps" bigint NOT NULL,
      "attempt" integer NOT NULL DEFAULT '1',
      "fence" integer NOT NULL DEFAULT '0',
      "lease_id" uuid,
      "escrow_state" text NOT NULL DEFAULT 'none',
      "funded" boolean NOT NULL DEFAULT false,
      "progress" jsonb,
      "settlement_transaction" text,
      "accept_by_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "deadline_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "idempotency_key" text,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_98ab1c14ff8d1cf80d18703b92f" PRIMARY KEY ("id")
    )`);
    await runner.query(`CREATE UNIQUE INDEX "IDX_10f59c35e846b4f803511cb497" ON "job" ("seq")`);
    await runner.query(`CREATE UNIQUE INDEX "IDX_3d976051b25cc9a7016e17e307" ON "job" ("escrow_id")`);
    await runner.query(`CREATE INDEX "IDX_1a3294bbe9213eec93d40f83f0" ON "job" ("state", "seq")`);
    await runner.query(`CREATE INDEX "IDX_a4087494c09a7c339eab77f85b" ON "job" ("tenant", "seq")`);
    await runner.query(`CREATE TABLE "node" (
      "id" uuid NOT NULL,
      "tenant" text NOT NULL,
      "name" text NOT NULL,
      "provider" text NOT NULL,
      "capabilities" jsonb NOT NULL,
      "last_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_8c8caf5f29d25264abe9eaf94dd" PRIMARY KEY ("id")
    )`);
    await runner.query(`CREATE UNIQUE INDEX "IDX_ffbea3f80fd26b7f0c29ecc4ae" ON "node" ("tenant", "name")`);
    await runner.query(`CREATE TABLE "lease" (
      "id" uuid NOT NULL,
      "job_id" text NOT NULL,
      "node_id" uuid NOT NULL,
      "tenant" text NOT NULL,
      "attempt" integer NOT NULL,
      "fence" integer NOT NULL,
      "state" text NOT NULL,
      "acquired_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "ended_at" TIMESTAMP WITH TIME ZONE,
      "end_code" text,
      CONSTRAINT "PK_954811694773f24986695203663" PRIMARY KEY ("id")
    )`);
    await runner.query(
      `CREATE INDEX "IDX_4d5041261e854f16784f923abd" ON "lease" ("expires_at") WHERE "state" = 'active'`,
    );
    await runner.query(
      `CREATE UNIQUE INDEX "IDX_a9d9dd0dc75b33fbfe50f09e9a" ON "lease" ("job_id") WHERE "state" = 'active'`,
    );
    await runner.query(`CREATE UNIQUE INDEX "IDX_3c180e47e14e0cc8d584493f07" ON "lease" ("job_id", "fence")`);
    await runner.query(`CREATE TABLE "verdict" (
      "lease_id" uuid NOT NULL,
      "job_id" text NOT NULL,
      "tier" text NOT NULL,
      "evidence" bytea NOT NULL,
      "checks" jsonb NOT NULL,
      "receipt_key" bytea,
      "at" bigint NOT NULL,
      CONSTRAINT "PK_6078abfa885492952fdf29e0d73" PRIMARY KEY ("lease_id")
    )`);
    await runner.query(`CREATE TABLE "key_release" (
      "lease_id" uuid NOT NULL,
      "job_id" text NOT NULL,
      "release" jsonb NOT NULL,
      "result" bytea NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_81da955a7b623969413f1c0879e" PRIMARY KEY ("lease_id")
    )`);
    await runner.query(`CREATE TABLE "idempotency" (
      "tenant" text NOT NULL,
      "key" text NOT NULL,
      "request" text NOT NULL,
      "body_hash" bytea NOT NULL,
      "status" integer,
      "answer" jsonb,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_722609548ad43f26c973adc5f73" PRIMARY KEY ("tenant", "key")
    )`);
    await runner.query(`CREATE INDEX "IDX_81524f01413c42b4e3b9fc2cca" ON "idempotency" ("created_at")`);
    await runner.query(`CREATE TABLE "job_event" (
      "id" BIGSERIAL NOT NULL,
      "job_id" text NOT NULL,
      "type" text NOT NULL,
      "data" jsonb NOT NULL,
      "at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_d4439f70bd53ce8a8a2a9a783c7" PRIMARY KEY ("id")
    )`);
    await runner.query(`CREATE INDEX "IDX_56f7f91a0d2f4acce21c6d998f" ON "job_event" ("job_id", "id")`);
    await runner.query(`CREATE TABLE "outbox" (
      "id" BIGSERIAL NOT NULL,
      "topic" text NOT NULL,
      "subject" text NOT NULL,
      "payload" jsonb NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "published_at" TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "PK_340ab539f309f03bdaa14aa7649" PRIMARY KEY ("id")
    )`);
    await runner.query(`CREATE INDEX "IDX_1c12a831dfa353aa6a9f1bbe67" ON "outbox" ("id") WHERE "published_at" IS NULL`);
    await runner.query(`CREATE TABLE "audit_log" (
      "id" BIGSERIAL NOT NULL,
      "at" TIMESTAMP WITH TIME ZONE NOT NULL,
      "tenant" text NOT NULL,
      "actor" text NOT NULL,
      "action" text NOT NULL,
      "subject" text NOT NULL,
      "code" text,
      CONSTRAINT "PK_07fefa57f7f5ab8fc3f52b3ed0b" PRIMARY KEY ("id")
    )`);
    await runner.query(`CREATE INDEX "IDX_ba27cef5b8b2b1a756e06ebcc5" ON "audit_log" ("at")`);
    await runner.query(`CREATE TABLE "receipt" (
      "job_id" text NOT NULL,
      "step_from" bigint NOT NULL,
      "step_to" bigint NOT NULL,
      "lease_id" uuid NOT NULL,
      "fence" integer NOT NULL,
      "statement" bytea NOT NULL,
      "receipt" bytea NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_bfa132c2264df5b090eeb32648d" PRIMARY KEY ("job_id", "step_from")
    )`);
    await runner.query(`CREATE TABLE "checkpoint" (
      "job_id" text NOT NULL,
      "step" bigint NOT NULL,
      "fence" integer NOT NULL,
      "blob" text NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_bdbfd013aa9088c3f8ba28a525d" PRIMARY KEY ("job_id", "step")
    )`);
    await runner.query(`CREATE TABLE "delivery" (
      "job_id" text NOT NULL,
      "lease_id" uuid NOT NULL,
      "fence" integer NOT NULL,
      "delivery" jsonb NOT NULL,
      "result_blob" text NOT NULL,
      "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_783eb6cb417de97d8823a2a1a9e" PRIMARY KEY ("job_id")
    )`);
    await runner.query(
      `ALTER TABLE "dataset_shard" ADD CONSTRAINT "FK_1b57fb8c567059eb28d30485dd8" FOREIGN KEY ("dataset_id") REFERENCES "dataset"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "job" ADD CONSTRAINT "FK_18c4674afefda82e9b1e7353e72" FOREIGN KEY ("dataset_id") REFERENCES "dataset"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "lease" ADD CONSTRAINT "FK_549b6f492e06c5844d3247c1540" FOREIGN KEY ("job_id") REFERENCES "job"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "lease" ADD CONSTRAINT "FK_fb18370f78514bdc0eddabe3f27" FOREIGN KEY ("node_id") REFERENCES "node"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "verdict" ADD CONSTRAINT "FK_6078abfa885492952fdf29e0d73" FOREIGN KEY ("lease_id") REFERENCES "lease"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "key_release" ADD CONSTRAINT "FK_81da955a7b623969413f1c0879e" FOREIGN KEY ("lease_id") REFERENCES "lease"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "receipt" ADD CONSTRAINT "FK_499451cd25be9e420e22716b080" FOREIGN KEY ("job_id") REFERENCES "job"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "checkpoint" ADD CONSTRAINT "FK_060526ab80bf21c8b9a98065d23" FOREIGN KEY ("job_id") REFERENCES "job"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
    await runner.query(
      `ALTER TABLE "delivery" ADD CONSTRAINT "FK_783eb6cb417de97d8823a2a1a9e" FOREIGN KEY ("job_id") REFERENCES "job"("id") ON DELETE NO ACTION ON UPDATE NO ACTION`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "delivery" DROP CONSTRAINT "FK_783eb6cb417de97d8823a2a1a9e"`);
    await runner.query(`ALTER TABLE "checkpoint" DROP CONSTRAINT "FK_060526ab80bf21c8b9a98065d23"`);
    await runner.query(`ALTER TABLE "receipt" DROP CONSTRAINT "FK_499451cd25be9e420e22716b080"`);
    await runner.query(`ALTER TABLE "key_release" DROP CONSTRAINT "FK_81da955a7b623969413f1c0879e"`);
    await runner.query(`ALTER TABLE "verdict" DROP CONSTRAINT "FK_6078abfa885492952fdf29e0d73"`);
    await runner.query(`ALTER TABLE "lease" DROP CONSTRAINT "FK_fb18370f78514bdc0eddabe3f27"`);
    await runner.query(`ALTER TABLE "lease" DROP CONSTRAINT "FK_549b6f492e06c5844d3247c1540"`);
    await runner.query(`ALTER TABLE "job" DROP CONSTRAINT "FK_18c4674afefda82e9b1e7353e72"`);
    await runner.query(`ALTER TABLE "dataset_shard" DROP CONSTRAINT "FK_1b57fb8c567059eb28d30485dd8"`);
    await runner.query(`DROP TABLE "delivery"`);
    await runner.query(`DROP TABLE "checkpoint"`);
    await runner.query(`DROP TABLE "receipt"`);
    await runner.query(`DROP TABLE "audit_log"`);
    await runner.query(`DROP TABLE "outbox"`);
    await runner.query(`DROP TABLE "job_event"`);
    await runner.query(`DROP TABLE "idempotency"`);
    await runner.query(`DROP TABLE "key_release"`);
    await runner.query(`DROP TABLE "verdict"`);
    await runner.query(`DROP TABLE "lease"`);
    await runner.query(`DROP TABLE "node"`);
    await runner.query(`DROP TABLE "job"`);
    await runner.query(`DROP TABLE "dataset_shard"`);
    await runner.query(`DROP TABLE "dataset"`);
    await runner.query(`DROP TABLE "chain_cursor"`);
    await runner.query(`DROP TABLE "escrow_event"`);
    await runner.query(`DROP TABLE "blob"`);
    await runner.query(`DROP TABLE "api_key"`);
  }
}
