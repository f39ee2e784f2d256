/** Where traces are exported, from OpenTelemetry's own variables. */
export interface OtlpSettings {
  /** The full address of the collector's endpoint for traces. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly serviceName: string
  readonly resource: Readonly<Record<string, string>>
  readonly sampling: TraceSampling
}

/**
 * Which traces are exported, by the names of OpenTelemetry's samplers. The mesh's own trace store is never
 * sampled.
 */
export interface TraceSampling {
  readonly sampler: (typeof samplers)[number]
  /** For the `traceidratio` samplers: the share of traces that is exported, 0 to 1. */
  readonly ratio: number
}

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
/** OpenTelemetry's default sampler. */
const samplerDefault = 'parentbased_always_on'

type Variables = Readonly<Record<string, string | undefined>>

/** The time limit of one export of traces if the environment sets none, in milliseconds. */
const timeoutDefaultMs = 10_000
/** The longest time limit of one export of traces, in milliseconds. */
const timeoutMaxMs = 60_000
/** The only supported protocol of the exporter; another one is rejected with a warning and not replaced silently. */
const protocol = 'http/protobuf'

/**
 * Reads OpenTelemetry's standard variables for its exporter. Returns null (off) without an endpoint, with
 * `OTEL_SDK_DISABLED=true` and with `OTEL_TRACES_EXPORTER=none`. Each warning is a sentence about a variable without
 * effect. It never shows a value, which may be a key. Pure.
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
  const disabled = value('OTEL_SDK_DISABLED')
  const refused = (why: string) => ({ otlp: null, warnings: [`traces are not exported: ${why}`] })
  if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint)) {
    return refused('the OTLP endpoint is not an http or https address such as http://127.0.0.1:4318')
  }
  const configuredProtocol = value('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (configuredProtocol !== undefined && configuredProtocol !== protocol) {
    return refused(`OTEL_EXPORTER_OTLP_PROTOCOL must be ${protocol}, the only supported one (port 4318)`)
  }
  const exporter = value('OTEL_TRACES_EXPORTER')
  if (exporter !== undefined && exporter !== 'otlp') {
    return refused('OTEL_TRACES_EXPORTER must be otlp or none')
  }
  const timeout = value('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT')
  const attributes = value('OTEL_RESOURCE_ATTRIBUTES')
  const resource = isWhole(attributes) ? pairsIn(attributes) : {}
  const { warnings, ...sampling } = samplingOf(value('OTEL_TRACES_SAMPLER'), value('OTEL_TRACES_SAMPLER_ARG'))
  return {
    otlp: {
      url: endpoint,
      headers: {
        ...pairsIn(value('OTEL_EXPORTER_OTLP_HEADERS')),
        ...pairsIn(value('OTEL_EXPORTER_OTLP_TRACES_HEADERS')),
      },
      timeoutMs: isTimeout(timeout) ? Math.min(Number(timeout), timeoutMaxMs) : timeoutDefaultMs,
      serviceName: value('OTEL_SERVICE_NAME') ?? resource['service.name'] ?? 'flotilla',
      resource,
      sampling,
    },
    warnings: [
      ...warnings,
      ...(disabled === undefined || disabled.toLowerCase() === 'false'
        ? []
        : ['OTEL_SDK_DISABLED is neither true nor false; traces are exported']),
      ...(timeout === undefined || isTimeout(timeout)
        ? []
        : [`OTEL_EXPORTER_OTLP_TIMEOUT must be milliseconds above 0; the mesh uses ${timeoutDefaultMs}`]),
      ...(isWhole(attributes)
        ? []
        : ['OTEL_RESOURCE_ATTRIBUTES is ignored: it is not name=value,name=value, percent-encoded']),
    ],
  }
}

/** As OpenTelemetry specifies, an invalid value counts as unset, with a warning. Pure. */
function samplingOf(
  named: string | undefined,
  argument: string | undefined,
): TraceSampling & { readonly warnings: readonly string[] } {
  const sampler = named === undefined ? samplerDefault : samplers.find((one) => one === named.toLowerCase())
  if (sampler === undefined) {
    const warning = `OTEL_TRACES_SAMPLER is not one of ${samplers.join(', ')}; the mesh uses ${samplerDefault}, which sends every trace`
    return { sampler: samplerDefault, ratio: 1, warnings: [warning] }
  }
  if (argument === undefined) return { sampler, ratio: 1, warnings: [] }
  if (!sampler.endsWith('traceidratio')) {
    const warning = `OTEL_TRACES_SAMPLER_ARG has no effect with the sampler ${sampler}; only traceidratio and parentbased_traceidratio use it`
    return { sampler, ratio: 1, warnings: [warning] }
  }
  const ratio = Number(argument)
  if (ratio >= 0 && ratio <= 1) return { sampler, ratio, warnings: [] }
  const warning =
    'OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1; the mesh uses 1, which sends every trace'
  return { sampler, ratio: 1, warnings: [warning] }
}

function isTimeout(text: string | undefined): boolean {
  return text !== undefined && Number(text) > 0
}

/** Whether each part of a comma-separated text is a pair `name=value` that can be decoded. Pure. */
function isWhole(text: string | undefined): boolean {
  return (text ?? '')
    .split(',')
    .every((pair) => pair.trim() === '' || (/^\s*[^\s=][^=]*=/.test(pair) && isDecodable(pair)))
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

/** `name=value,name=value`, percent-encoded; invalid pairs are skipped. */
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
