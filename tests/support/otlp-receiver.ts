import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import protobuf from 'protobufjs'
import * as z from 'zod'

/** The part of OpenTelemetry's OTLP 1.0 definition that traces use; field numbers are the official ones. */
const definition = `
syntax = "proto3";
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Status { string message = 2; int32 code = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; Status status = 15;
}
message Scope { string name = 1; string version = 2; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ExportTracePartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
message ExportTraceServiceResponse { ExportTracePartialSuccess partial_success = 1; }
`
const responseType = protobuf.parse(definition).root.lookupType('ExportTraceServiceResponse')
const requestType = protobuf.parse(definition).root.lookupType('ExportTraceServiceRequest')

const attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .default([])
  .transform((pairs) => Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]])))
const spanSchema = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(''),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes,
})
const requestSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(z.object({ schemaUrl: z.string().default(''), spans: z.array(spanSchema) })),
    }),
  ),
})

/** A received span, with ids in hex as tools usually write them. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | null
  readonly name: string
  readonly startedMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly service: unknown
  readonly schemaUrl: string
}

export interface OtlpReceiver {
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  /** Headers of every request, and its bytes as received. */
  readonly requests: readonly { readonly headers: NodeJS.Dict<string | string[]>; readonly body: Buffer }[]
  close(): Promise<void>
}

/**
 * A trace collector's endpoint on loopback, which parses OTLP by its protobuf definition. With `partialSuccess` it
 * answers each batch with that.
 */
export async function startOtlpReceiver(
  partialSuccess: { readonly rejectedSpans?: number; readonly errorMessage?: string } | null = null,
): Promise<OtlpReceiver> {
  const answer = partialSuccess === null ? '' : responseType.encode({ partialSuccess }).finish()
  const spans: ReceivedSpan[] = []
  const requests: { headers: NodeJS.Dict<string | string[]>; body: Buffer }[] = []
  const server = createServer((request, reply) => {
    void buffer(request).then((body) => {
      requests.push({ headers: request.headers, body })
      if (request.url === '/v1/traces') spans.push(...spansIn(body))
      reply.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/x-protobuf' })
      reply.end(answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // a TCP server
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function spansIn(body: Buffer): ReceivedSpan[] {
  const decoded = requestSchema.parse(
    requestType.toObject(requestType.decode(body), { longs: String, bytes: String }),
  )
  const hex = (base64: string) => Buffer.from(base64, 'base64').toString('hex')
  return decoded.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ schemaUrl, spans }) =>
      spans.map((span) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentId: span.parentSpanId === '' ? null : hex(span.parentSpanId),
        name: span.name,
        startedMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        attributes: span.attributes,
        service: resource.attributes['service.name'],
        schemaUrl,
      })),
    ),
  )
}
