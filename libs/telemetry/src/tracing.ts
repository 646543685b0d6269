/**
 * Traces that follow a job through every process, by OpenTelemetry.
 *
 * A job's trace needs no header on any wire: its trace id is the first 16 bytes of the job id, its root the next 8, and
 * both sides of every message know the job. Off unless OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
 * is set; then the exporter reads the rest of the standard variables itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT_CONTEXT, SpanStatusCode, trace, TraceFlags, type Attributes, type Context } from '@opentelemetry/api';

const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] as const;
const tracerName = 'veritrain';

interface Tracing {
  /** Sends what is left, at most for five seconds. */
  stop(): Promise<void>;
}

/**
 * Starts sending spans of this process, or does nothing when no endpoint is set.
 *
 * @param service  name of the process in the traces, as in its logs
 */
export async function startTracing(
  service: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Tracing> {
  if (!endpoints.some((name) => (environment[name] ?? '') !== '')) return { stop: () => Promise.resolve() };
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ]);
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'process.pid': process.pid }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  return { stop: () => Promise.race([provider.shutdown(), fiveSeconds()]).catch(() => undefined) };
}

/**
 * Runs `work` within a span of the job's trace; a failure is recorded by its code and thrown on.
 *
 * @param jobId  32 bytes as hexadecimal, with or without 0x; anything else gives a span of no job
 */
export async function traced<T>(
  name: string,
  jobId: string | undefined,
  work: () => Promise<T>,
  attributes: Attributes = {},
): Promise<T> {
  const tracer = trace.getTracer(tracerName);
  return tracer.startActiveSpan(name, { attributes: { ...attributes, ...about(jobId) } }, jobContext(jobId), (span) =>
    work()
      .catch((error: unknown) => {
        span.setStatus({ code: SpanStatusCode.ERROR, message: codeOf(error) });
        throw error;
      })
      .finally(() => span.end()),
  );
}

/** Marks a moment in the job's trace: a span without length. */
export function marked(name: string, jobId: string, attributes: Attributes = {}): void {
  const span = trace
    .getTracer(tracerName)
    .startSpan(name, { attributes: { ...attributes, ...about(jobId) } }, jobContext(jobId));
  span.end();
}

/** Parent of every span of the job. */
function jobContext(jobId: string | undefined): Context {
  const hex = hexOf(jobId);
  if (hex === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: hex.slice(0, 32),
    spanId: hex.slice(32, 48),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  });
}

const hexOf = (jobId: string | undefined): string | undefined => /^(?:0x)?([0-9a-f]{64})$/.exec(jobId ?? '')?.[1];

const about = (jobId: string | undefined): Attributes => (jobId === undefined ? {} : { 'veritrain.job': jobId });

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : error instanceof Error ? error.name : 'error';
}

function fiveSeconds(): Promise<void> {
  return sleep(5000, undefined, { ref: false });
}
