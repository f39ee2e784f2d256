import { describe, expect, test } from 'vitest'
import { readEnvironment } from './environment.ts'
import { readOtlp } from './otlp-environment.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' }

describe('where traces are sent to', () => {
  test('is nowhere without an endpoint, and where OpenTelemetry is switched off', () => {
    expect(readOtlp({ OTEL_SERVICE_NAME: 'x' })).toEqual({ otlp: null, warnings: [] })
    expect(readOtlp({ ...endpoint, OTEL_SDK_DISABLED: 'true' }).otlp).toBeNull()
    expect(readOtlp({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }).otlp).toBeNull()
    expect(readEnvironment({}).otlp).toBeNull()
  })

  test('is the path for traces below the endpoint, or the whole address where that is given', () => {
    expect(readOtlp(endpoint).otlp).toEqual({
      url: 'http://127.0.0.1:4318/v1/traces',
      headers: {},
      timeoutMs: 10_000,
      serviceName: 'flotilla',
      resource: {},
    })
    const whole = { ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/otlp' }
    expect(readOtlp(whole).otlp?.url).toBe('https://traces.example/otlp')
  })

  test('comes with headers, a name and attributes, those for traces before those for all', () => {
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
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'sk-secret-value' }, 'http or https'],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'http/protobuf'],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' }, 'otlp or none'],
  ])('is nowhere and said in words for %j, which show no value', (variables, words) => {
    const { otlp, warnings } = readOtlp(variables)
    expect(otlp).toBeNull()
    expect(warnings).toEqual([expect.stringContaining(words)])
    expect(warnings.join()).not.toContain('sk-secret')
    expect(readEnvironment({ FLOTILLA_HOME: '/x', ...variables }).warnings).toEqual(warnings)
  })
})
