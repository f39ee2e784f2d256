/** Where traces are sent to, as OpenTelemetry's own variables say it. */
export interface OtlpSettings {
  /** The full address of the collector's door for traces. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly serviceName: string
  readonly resource: Readonly<Record<string, string>>
}

type Variables = Readonly<Record<string, string | undefined>>

const timeoutDefaultMs = 10_000
const timeoutMaxMs = 60_000
/** What the exporter speaks; others are refused in words and not sent by another one in silence. */
const protocol = 'http/protobuf'

/**
 * Reads the variables that OpenTelemetry specifies for its exporter. Off, which is null, without an endpoint, with
 * `OTEL_SDK_DISABLED=true` and with `OTEL_TRACES_EXPORTER=none`. Each warning is a sentence; what it is about has no effect,
 * and never shows a value, which may be a key. Pure.
 */
export function readOtlp(variables: Variables): {
  readonly otlp: OtlpSettings | null
  readonly warnings: readonly string[]
} {
  const value = (...names: readonly string[]) =>
    names.map((name) => variables[name]?.trim()).find((text) => text !== undefined && text !== '')
  const whole = value('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const base = value('OTEL_EXPORTER_OTLP_ENDPOINT')
  const endpoint = whole ?? (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/v1/traces`)
  const isOff =
    value('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' ||
    value('OTEL_TRACES_EXPORTER')?.toLowerCase() === 'none'
  if (endpoint === undefined || isOff) return { otlp: null, warnings: [] }
  const refused = (why: string) => ({ otlp: null, warnings: [`traces are not exported: ${why}`] })
  if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint)) {
    return refused('the OTLP endpoint is no http or https address; write one such as http://127.0.0.1:4318')
  }
  const asked = value('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (asked !== undefined && asked !== protocol) {
    return refused(`OTEL_EXPORTER_OTLP_PROTOCOL must be ${protocol}, the one that is spoken here (port 4318)`)
  }
  const exporter = value('OTEL_TRACES_EXPORTER')
  if (exporter !== undefined && exporter !== 'otlp') {
    return refused('OTEL_TRACES_EXPORTER must be otlp or none')
  }
  const timeout = Number(value('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT'))
  const resource = pairsIn(value('OTEL_RESOURCE_ATTRIBUTES'))
  return {
    otlp: {
      url: endpoint,
      headers: {
        ...pairsIn(value('OTEL_EXPORTER_OTLP_HEADERS')),
        ...pairsIn(value('OTEL_EXPORTER_OTLP_TRACES_HEADERS')),
      },
      timeoutMs: timeout > 0 ? Math.min(timeout, timeoutMaxMs) : timeoutDefaultMs,
      serviceName: value('OTEL_SERVICE_NAME') ?? resource['service.name'] ?? 'flotilla',
      resource,
    },
    warnings: [],
  }
}

/** `name=value,name=value`, percent-encoded; what is no pair is left out. */
function pairsIn(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').flatMap((pair) => {
    const at = pair.indexOf('=')
    const name = pair.slice(0, Math.max(at, 0)).trim()
    return name === '' ? [] : [[name, decoded(pair.slice(at + 1).trim())] as const]
  })
  return Object.fromEntries(pairs)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
