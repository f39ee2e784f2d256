import { expect, onTestFinished, test } from 'vitest'
import { startConnectProxy } from '../../../../tests/support/connect-proxy.ts'
import { startOtlpReceiver } from '../../../../tests/support/otlp-receiver.ts'
import { noProxies } from '../../../foundation/src/config/index.ts'
import type { TraceSampling } from '../../../foundation/src/config/index.ts'
import { readProxies } from '../../../foundation/src/config/proxy-environment.ts'
import type { OutboundProxies } from '../../../foundation/src/platform/index.ts'
import { createSpanExport } from './export-spans.ts'
import { partSpanId, runSpanId, traceIdOf } from './span.ts'
import type { Span } from './span.ts'

const traces = 200

/** Spans of a run and a tool in it, in the order of arrival: children end first. */
function spansOf(index: number, agentId = 'a'): readonly Span[] {
  const runId = `run_${index}`
  const [traceId, root] = [traceIdOf(runId), runSpanId(runId)]
  const common = {
    traceId,
    runId: `run_${index}`,
    agentId,
    startedAt: 1000,
    endedAt: 2000,
    attributes: {},
  }
  return [
    {
      ...common,
      spanId: partSpanId(runId, 'x'),
      parentId: root,
      name: 'execute_tool x',
      kind: 'internal',
      status: 'ok',
    },
    { ...common, spanId: root, parentId: null, name: 'invoke_agent a', kind: 'internal', status: 'ok' },
  ]
}

/** An exporter that sends every span, unless other settings say so, to this collector. */
function exportTo(
  receiver: { readonly url: string },
  reports: Parameters<typeof createSpanExport>[2],
  settings: { readonly sampling?: TraceSampling; readonly proxies?: OutboundProxies } = {},
) {
  return createSpanExport(
    {
      url: `${receiver.url}/v1/traces`,
      headers: {},
      timeoutMs: 10_000,
      serviceName: 's',
      resource: {},
      sampling: { sampler: 'always_on', ratio: 1 },
      proxies: noProxies,
      ...settings,
    },
    '0',
    reports,
  )
}

async function sent(
  sampling: TraceSampling,
  proxies: OutboundProxies = noProxies,
): Promise<ReadonlyMap<string, number>> {
  const receiver = await startOtlpReceiver()
  const lost: unknown[] = []
  try {
    const out = exportTo(
      receiver,
      { lost: (_spans, error) => void lost.push(error), refused: (refusal) => void lost.push(refusal) },
      { sampling, proxies },
    )
    for (let index = 0; index < traces; index++) for (const span of spansOf(index)) out.send(span)
    await out.close()
    expect(lost).toEqual([])
    const counts = new Map<string, number>()
    for (const { traceId } of receiver.spans) counts.set(traceId, (counts.get(traceId) ?? 0) + 1)
    return counts
  } finally {
    await receiver.close()
  }
}

test.each(['always_on', 'parentbased_always_on'] as const)('%s sends every trace', async (sampler) => {
  expect((await sent({ sampler, ratio: 1 })).size).toBe(traces)
})

test("the exporter connects to the collector through the company's proxy", async () => {
  const proxy = await startConnectProxy()
  onTestFinished(proxy.close)
  const known = readProxies({ ALL_PROXY: proxy.url }).of(new URL('https://anywhere.test'))
  expect((await sent({ sampler: 'always_on', ratio: 1 }, { of: () => known })).size).toBe(traces)
  expect(new Set(proxy.asked)).toEqual(new Set([expect.stringMatching(/^CONNECT 127\.0\.0\.1:\d+$/)]))
})

test.each(['always_off', 'parentbased_always_off'] as const)('%s sends none', async (sampler) => {
  expect((await sent({ sampler, ratio: 1 })).size).toBe(0)
})

test.each(['traceidratio', 'parentbased_traceidratio'] as const)(
  '%s sends its part of the traces, each wholly or not at all',
  async (sampler) => {
    const half = await sent({ sampler, ratio: 0.5 })
    expect(half.size).toBeGreaterThan(traces * 0.3)
    expect(half.size).toBeLessThan(traces * 0.7)
    expect(new Set(half.values())).toEqual(new Set([2]))
    expect((await sent({ sampler, ratio: 0 })).size).toBe(0)
    expect((await sent({ sampler, ratio: 1 })).size).toBe(traces)
  },
)

test('spans that found no room in the queue are counted, and the loss is reported', async () => {
  const receiver = await startOtlpReceiver()
  onTestFinished(receiver.close)
  const lost: number[] = []
  const out = exportTo(receiver, { lost: (spans) => void lost.push(spans), refused: () => {} })
  for (let index = 0; index < 2000; index++) for (const span of spansOf(index)) out.send(span)
  await out.close()
  const reported = lost.reduce((sum, spans) => sum + spans, 0)
  expect(reported).toBeGreaterThan(0)
  expect(receiver.spans.length + reported).toBe(4000)
})

test('one agent fills its part of the queue at most, and the spans of another are sent', async () => {
  const receiver = await startOtlpReceiver()
  onTestFinished(receiver.close)
  const out = exportTo(receiver, { lost: () => {}, refused: () => {} })
  for (let index = 0; index < 5000; index++) for (const span of spansOf(index, 'busy')) out.send(span)
  for (const span of spansOf(5000, 'quiet')) out.send(span)
  await out.close()
  const quiet = traceIdOf('run_5000')
  expect(receiver.spans.filter(({ traceId }) => traceId === quiet)).toHaveLength(2)
})

test.each([
  [
    { rejectedSpans: 2, errorMessage: `too old\n${'!'.repeat(5000)}` },
    { spans: 2, reason: `too old ${'!'.repeat(192)}` },
  ],
  [{ rejectedSpans: 1 }, { spans: 1, reason: '' }],
  [{ errorMessage: 'use another endpoint' }, { spans: 0, reason: 'use another endpoint' }],
])('what the collector refuses of a batch is reported with a bounded reason: %j', async (said, reported) => {
  const receiver = await startOtlpReceiver(said)
  onTestFinished(receiver.close)
  const refusals: unknown[] = []
  const out = exportTo(receiver, {
    lost: (_spans, error) => void refusals.push(error),
    refused: (refusal) => void refusals.push(refusal),
  })
  for (const span of spansOf(1)) out.send(span)
  await out.close()
  expect(refusals).toEqual([reported])
})
