import { describe, expect, test } from 'vitest'
import { readEnvironment } from './environment.ts'
import { readOtlp } from './otlp-environment.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' }

describe('where traces are sent to', () => {
  test('the destination of traces is nowhere without an endpoint, and where OpenTelemetry is switched off', () => {
    expect(readOtlp({ OTEL_SERVICE_NAME: 'x' })).toEqual({ otlp: null, warnings: [] })
    expect(readOtlp({ ...endpoint, OTEL_SDK_DISABLED: 'true' }).otlp).toBeNull()
    expect(readOtlp({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }).otlp).toBeNull()
    expect(readEnvironment({}).otlp).toBeNull()
  })

  test('the destination of traces is the path for traces below the endpoint, or the whole address where that is given', () => {
    expect(readOtlp(endpoint).otlp).toEqual({
      url: 'http://127.0.0.1:4318/v1/traces',
      headers: {},
      timeoutMs: 10_000,
      serviceName: 'flotilla',
      resource: {},
      sampling: { sampler: 'parentbased_always_on', ratio: 1 },
    })
    const whole = { ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/otlp' }
    expect(readOtlp(whole).otlp?.url).toBe('https://traces.example/otlp')
  })

  test('the destination of traces comes with headers, a name and attributes, those for traces before those for all', () => {
    const { otlp } = readOtlp({
      ...endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20k, x-a=1,broken',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-a=2',
      OTEL_EXPORTER_OTLP_TIMEOUT: '900000',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=harbour,deployment.environment=test',
    })
    expect(otlp).toMatchObject({
      headers: { authorization: 'Bearer k', 'x-a': '2' },
      timeoutMs: 60_000,
      serviceName: 'harbour',
      resource: { 'deployment.environment': 'test' },
    })
  })

  test.each([
    ['always_off', undefined, { sampler: 'always_off', ratio: 1 }],
    ['TraceIdRatio', '0.25', { sampler: 'traceidratio', ratio: 0.25 }],
    ['parentbased_traceidratio', '0', { sampler: 'parentbased_traceidratio', ratio: 0 }],
    ['traceidratio', undefined, { sampler: 'traceidratio', ratio: 1 }],
  ])(
    'the destination of traces takes the sampler %s with %s as OpenTelemetry means it',
    (sampler, argument, sampling) => {
      const variables = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument }
      const { otlp, warnings } = readOtlp({ ...endpoint, ...variables })
      expect(otlp?.sampling).toEqual(sampling)
      expect(warnings).toEqual([])
    },
  )

  test.each([
    [{ OTEL_TRACES_SAMPLER: 'parentbased_jaeger_remote' }, 'OTEL_TRACES_SAMPLER is not one of always_on'],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '25%' }, 'not a number from 0 to 1'],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' }, 'not a number from 0 to 1'],
    [{ OTEL_TRACES_SAMPLER_ARG: '0.5' }, 'has no effect with the sampler parentbased_always_on'],
    [{ OTEL_SDK_DISABLED: 'yes' }, 'neither true nor false'],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '10s' }, 'milliseconds'],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'team=a,sk-secret' }, 'OTEL_RESOURCE_ATTRIBUTES'],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'team=%zz' }, 'OTEL_RESOURCE_ATTRIBUTES'],
  ])('an invalid value in %j counts as unset and is reported once', (variables, words) => {
    const { otlp, warnings } = readOtlp({ ...endpoint, ...variables })
    expect(otlp).toMatchObject({
      sampling: { ratio: 1 },
      timeoutMs: 10_000,
      resource: {},
    })
    expect(warnings).toEqual([expect.stringContaining(words)])
    expect(warnings.join()).not.toContain('sk-secret')
  })

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'sk-secret-value' }, 'http or https'],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'http/protobuf'],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' }, 'otlp or none'],
  ])(
    'the destination of traces is nowhere and said in words for %j, which show no value',
    (variables, words) => {
      const { otlp, warnings } = readOtlp(variables)
      expect(otlp).toBeNull()
      expect(warnings).toEqual([expect.stringContaining(words)])
      expect(warnings.join()).not.toContain('sk-secret')
      expect(readEnvironment({ FLOTILLA_HOME: '/x', ...variables }).warnings).toEqual(warnings)
    },
  )
})
