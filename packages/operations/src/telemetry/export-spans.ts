import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Sampler, SpanExporter } from '@opentelemetry/sdk-trace'
import type { OtlpSettings, TraceSampling } from '@flotilla/foundation/config'
import { createFairShare } from '@flotilla/foundation/intake'
import { httpAgentThrough } from '@flotilla/foundation/platform'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import { schemaUrl } from './conventions.ts'
import { followRefusals } from './follow-refusals.ts'
import type { CollectorRefusal } from './follow-refusals.ts'
import type { Span } from './span.ts'

/**
 * How many spans may wait to be sent, in total and of one agent; further ones are dropped, so that an unreachable
 * collector uses no memory.
 */
const queued = { max: 2048, perAgentMax: 1024, floor: 8, reserveMax: 512 } as const
const batchMax = 512
const batchDelayMs = 1000

export interface SpanExport {
  send(span: Span): void
  /** Sends pending spans; drops them if that takes longer than the exporter's timeout. */
  close(): Promise<void>
}

/**
 * Called with the number of spans that were dropped because the queue was full, or because the collector rejected
 * them after retries.
 */
export type ReportLost = (spans: number, error: unknown) => void

export interface ExportReports {
  readonly lost: ReportLost
  /** Called for each batch that the collector accepted in part. */
  readonly refused: (refusal: CollectorRefusal) => void
}

/**
 * Exports OTLP with the official SDK. This file and its packages are loaded only if an endpoint is set
 * (`docs/decisions/2026-11-23-build-traces-from-events.md`). Spans arrive when they have ended, with the ids that
 * they have in the database.
 */
export function createSpanExport(
  otlp: OtlpSettings & { readonly proxies: OutboundProxies },
  version: string,
  { lost: reportLost, refused }: ExportReports,
): SpanExport {
  const ignoreRefusals = followRefusals(refused)
  const next = { traceId: '', spanId: '' }
  const toCollector = new OTLPTraceExporter({
    url: otlp.url,
    headers: { ...otlp.headers },
    timeoutMillis: otlp.timeoutMs,
    // A kept-alive connection can be closed by the server while it is reused, which would lose the spans sent over
    // it.
    httpAgentOptions: (protocol) =>
      httpAgentThrough(otlp.proxies, protocol === 'https:' ? protocol : 'http:', { keepAlive: false }),
  })
  const share = createFairShare(queued)
  /** The agent of each span that waits, by the id of the span. */
  const waiting = new Map<string, string>()
  let overflown = 0
  function reportOverflow(): void {
    if (overflown > 0)
      reportLost(
        overflown,
        new Error(
          `more than ${queued.perAgentMax} spans of one agent, or ${queued.max} of all, waited to be sent`,
        ),
      )
    overflown = 0
  }
  // The SDK drops a failed batch silently, so this wrapper reports it.
  const exporter: SpanExporter = {
    export: (spans, done) => {
      for (const span of spans) {
        const { spanId } = span.spanContext()
        const agentId = waiting.get(spanId)
        if (agentId !== undefined && waiting.delete(spanId)) share.giveBack(agentId, 1)
      }
      reportOverflow()
      toCollector.export(spans, (result) => {
        if (result.error) reportLost(spans.length, result.error)
        done(result)
      })
    },
    shutdown: () => toCollector.shutdown(),
    forceFlush: () => toCollector.forceFlush(),
  }
  const { root, sampler } = samplersOf(otlp.sampling)
  const provider = new TracerProvider({
    sampler,
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    resource: resourceFromAttributes({
      ...otlp.resource,
      'service.name': otlp.serviceName,
      'service.version': version,
    }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: queued.max,
        maxExportBatchSize: batchMax,
        scheduledDelayMillis: batchDelayMs,
        exportTimeoutMillis: otlp.timeoutMs,
      }),
    ],
  })
  const tracer = provider.getTracer('flotilla', version, { schemaUrl })

  return {
    send: (span) => {
      // A full queue of the SDK drops spans without counting them, so the limit is enforced and counted before it.
      const { traceId, spanId, parentId, agentId } = span
      if (waiting.has(spanId) || share.take(agentId, 1) !== null) {
        overflown += 1
        return
      }
      Object.assign(next, { traceId, spanId })
      const above =
        parentId === null
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId,
              spanId: parentId,
              traceFlags: isSampled(root, traceId) ? TraceFlags.SAMPLED : TraceFlags.NONE,
            })
      const sent = tracer.startSpan(
        span.name,
        {
          kind: span.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
          startTime: span.startedAt,
          attributes: { ...span.attributes },
          root: parentId === null,
        },
        above,
      )
      if (sent.isRecording()) waiting.set(spanId, agentId)
      else share.giveBack(agentId, 1)
      if (span.status === 'error') sent.setStatus({ code: SpanStatusCode.ERROR })
      sent.end(span.endedAt)
    },
    close: () =>
      provider.shutdown().finally(() => {
        reportOverflow()
        ignoreRefusals()
      }),
  }
}

/** Returns the samplers of this setting; `root` decides for spans without a parent. */
function samplersOf({ sampler: name, ratio }: TraceSampling): {
  readonly root: Sampler
  readonly sampler: Sampler
} {
  const root = rootOf(name.replace(/^parentbased_/, ''), ratio)
  return { root, sampler: name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root }
}

function rootOf(name: string, ratio: number): Sampler {
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio)
  return name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler()
}

/**
 * Applies the sampling decision of the root of a trace. Children arrive before their parents; the decision depends
 * only on the trace id, so it is the same for both.
 */
function isSampled(root: Sampler, traceId: string): boolean {
  const { decision } = root.shouldSample(ROOT_CONTEXT, traceId, '', SpanKind.INTERNAL, {}, [])
  return decision === SamplingDecision.RECORD_AND_SAMPLED
}
