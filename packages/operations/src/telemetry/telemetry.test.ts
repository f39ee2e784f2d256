import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import * as official from '@opentelemetry/semantic-conventions/incubating'
import { describe, expect, test } from 'vitest'
import { noProxies } from '../../../foundation/src/config/index.ts'
import { defaultSettings } from '../../../foundation/src/config/settings-file.ts'
import { prometheusText } from '../diagnostics/prometheus-text.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { aLedgerHarness, migrated, person } from '../../../testing/src/ledger-harness.ts'
import { genAi } from './conventions.ts'
import { createFollowEvents, partsPerRunMax } from './follow-events.ts'
import { createHistogram, seriesMax } from './histogram.ts'
import { telemetryModule } from './index.ts'
import { createReadTrace } from './read-trace.ts'
import { createSpanTable } from './span-table.ts'
import type { Span } from './span.ts'
import { createWorkMetrics } from './work-metrics.ts'

/** A ledger whose events are turned into spans, as in the module. */
function aFollowedLedger() {
  const harness = aLedgerHarness()
  const metrics = createWorkMetrics()
  const spans: Span[] = []
  const follow = createFollowEvents({
    find: harness.ledger.queries.find,
    metrics,
    emit: (span) => spans.push(span),
  })
  harness.events.subscribe(follow.handleEvent)
  const begin = (agentId: string) => {
    const run = harness.chat(agentId)
    const queued = harness.ledger.queries.find(run.id)
    if (!queued) throw new Error('no row')
    return run
  }
  return { ...harness, metrics, spans, follow, begin }
}

const tool = (type: 'tool.started' | 'tool.ended', runId: string, name: string): FleetEventBody =>
  type === 'tool.started'
    ? { type, agent_id: 'a', run_id: runId, step: 1, name, input: { key: 'sk-planted-0123456789' } }
    : { type, agent_id: 'a', run_id: runId, step: 1, name, output: 'sk-planted-0123456789', ok: true }

const called = (runId: string, durationMs: number): Extract<FleetEventBody, { type: 'model.called' }> => ({
  type: 'model.called',
  agent_id: 'a',
  run_id: runId,
  model: 'openai/gpt-5',
  operation: 'chat',
  tokens: 15,
  prompt_tokens: 10,
  completion_tokens: 5,
  cost_usd: 0.25,
  duration_ms: durationMs,
})

describe('spans', () => {
  test("spans of lane wait, tools, model call and outcome are children of the run's span", async () => {
    const { begin, events, spans, clock, ledger } = aFollowedLedger()
    const run = begin('a')
    const changed = (state: 'running' | 'cancelled') =>
      events.publish({
        type: 'run.changed',
        agent_id: 'a',
        run_id: run.id,
        parent_id: null,
        state,
        outcome: null,
      })
    await clock.advance(20)
    changed('running')
    await clock.advance(100)
    events.publish(called(run.id, 90))
    events.publish(tool('tool.started', run.id, 'run_command'))
    await clock.advance(30)
    events.publish(tool('tool.ended', run.id, 'run_command'))
    ledger.lifecycle.cancelRun(person, run.id)
    expect(spans.map(({ name }) => name)).toEqual([
      'flotilla.lane_wait',
      'chat openai/gpt-5',
      'execute_tool run_command',
      'invoke_agent a',
    ])
    const [wait, call, used, whole] = spans
    expect([wait, call, used].map((span) => span?.parentId)).toEqual(Array(3).fill(whole?.spanId))
    expect(wait && wait.endedAt - wait.startedAt).toBe(20)
    expect(call && call.endedAt - call.startedAt).toBe(90)
    expect(used).toMatchObject({ status: 'ok' })
    expect(used && used.endedAt - used.startedAt).toBe(30)
    expect(whole).toMatchObject({ parentId: null, attributes: { [genAi.operation]: 'invoke_agent' } })
    expect(call?.attributes).toMatchObject({ [genAi.inputTokens]: 10, [genAi.outputTokens]: 5 })
  })

  test('the span and the metrics of a model call state what the cache of the provider did', () => {
    const { begin, events, spans, metrics } = aFollowedLedger()
    const run = begin('a')
    events.publish(called(run.id, 90))
    const cached = {
      cached_tokens: 700,
      cache_write_tokens: 20,
      cache_saved_usd: -0.5,
      cache_break: 'tools',
    }
    events.publish({ ...called(run.id, 90), ...cached })
    const [without, used] = spans
    expect(without?.attributes).not.toHaveProperty(genAi.cacheReadTokens)
    expect(used?.attributes).toMatchObject({
      [genAi.cacheReadTokens]: 700,
      [genAi.cacheWriteTokens]: 20,
      'flotilla.cache_saved_usd': -0.5,
      'flotilla.cache_break': 'tools',
    })
    const text = prometheusText(metrics.read())
    expect(text).toContain('flotilla_model_cache_tokens_total{model="openai/gpt-5",access="read"} 700')
    expect(text).toContain('flotilla_model_cache_tokens_total{model="openai/gpt-5",access="write"} 20')
    expect(text).toContain('flotilla_model_cache_saved_usd{model="openai/gpt-5"} -0.5')
  })

  test('the span of a model call starts when the call started, however late its cost was stored', async () => {
    const { begin, events, spans, clock } = aFollowedLedger()
    const run = begin('a')
    const began = clock.now()
    await clock.advance(90)
    events.publish(tool('tool.started', run.id, 'run_command'))
    await clock.advance(50)
    events.publish({ ...called(run.id, 90), started_at: began })
    expect(spans).toMatchObject([{ name: 'chat openai/gpt-5', startedAt: began, endedAt: began + 90 }])
  })

  test('the span of a call that is settled after its run was stopped ends with the run', async () => {
    const { begin, events, spans, clock, ledger } = aFollowedLedger()
    const run = begin('a')
    await clock.advance(50)
    ledger.lifecycle.cancelRun(person, run.id)
    await clock.advance(400)
    events.publish(called(run.id, 420))
    const [call, whole] = ['chat openai/gpt-5', 'invoke_agent a'].map((name) =>
      spans.find((span) => span.name === name),
    )
    expect(call?.endedAt).toBe(whole?.endedAt)
    expect(call && call.endedAt - call.startedAt).toBe(20)
  })

  test('spans contain no text of agents', () => {
    const { begin, events, spans, ledger } = aFollowedLedger()
    const run = begin('a')
    for (const name of ['sk-planted-0123456789', 'x'.repeat(5000), 'run_command']) {
      events.publish(tool('tool.started', run.id, name))
      events.publish(tool('tool.ended', run.id, name))
    }
    ledger.lifecycle.cancelRun(person, run.id)
    expect(spans.filter(({ name }) => name.startsWith('execute')).map(({ name }) => name)).toEqual([
      'execute_tool other',
      'execute_tool other',
      'execute_tool run_command',
    ])
    expect(JSON.stringify(spans)).not.toMatch(/planted|xxxx/)
  })

  test("spans are limited for each run, and the run's own span is always kept", () => {
    const { begin, events, spans, ledger, metrics } = aFollowedLedger()
    const run = begin('a')
    for (let count = 0; count <= partsPerRunMax; count++) {
      events.publish(tool('tool.started', run.id, 'read_file'))
      events.publish(tool('tool.ended', run.id, 'read_file'))
    }
    ledger.lifecycle.cancelRun(person, run.id)
    expect(spans.length).toBe(partsPerRunMax + 1)
    expect(spans.at(-1)?.name).toBe('invoke_agent a')
    const dropped = metrics.read().find(({ name }) => name === 'flotilla_spans_dropped_total')
    expect(dropped?.samples[0]?.value).toBe(2) // the last tool, and the wait in the lane
  })

  test('the span of a tool call without a reported end ends with the run and says so', () => {
    const { begin, events, spans, ledger } = aFollowedLedger()
    const run = begin('a')
    events.publish(tool('tool.started', run.id, 'run_command'))
    ledger.lifecycle.cancelRun(person, run.id)
    expect(spans.find(({ name }) => name === 'execute_tool run_command')).toMatchObject({
      status: 'unset',
      attributes: { 'flotilla.cut_off': true },
    })
  })

  test('spans have the names of the pinned conventions', () => {
    expect(genAi).toEqual({
      operation: official.ATTR_GEN_AI_OPERATION_NAME,
      provider: official.ATTR_GEN_AI_PROVIDER_NAME,
      agentId: official.ATTR_GEN_AI_AGENT_ID,
      agentName: official.ATTR_GEN_AI_AGENT_NAME,
      requestModel: official.ATTR_GEN_AI_REQUEST_MODEL,
      cacheReadTokens: official.ATTR_GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
      cacheWriteTokens: official.ATTR_GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
      inputTokens: official.ATTR_GEN_AI_USAGE_INPUT_TOKENS,
      outputTokens: official.ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
      toolName: official.ATTR_GEN_AI_TOOL_NAME,
      errorType: 'error.type',
    })
  })
})

const aSpan = (number: number, endedAt: number): Span => ({
  traceId: 't',
  spanId: `s${number}`,
  parentId: null,
  runId: 'run_1',
  agentId: 'a',
  name: 'n',
  kind: 'internal',
  status: 'ok',
  startedAt: endedAt - 1,
  endedAt,
  attributes: { one: 1 },
})

describe('kept spans', () => {
  test('spans are written once, read by trace, and deleted by age and number', () => {
    const table = createSpanTable(migrated())
    table.insert([1, 2, 3, 4, 5].map((number) => aSpan(number, number * 10)))
    table.insert([aSpan(1, 99)])
    expect(table.ofTrace('t', 10).map(({ spanId }) => spanId)).toEqual(['s1', 's2', 's3', 's4', 's5'])
    expect(table.ofTrace('t', 10)[0]).toEqual(aSpan(1, 10))
    expect(table.ofTrace('t', 2)).toHaveLength(2)
    table.prune(25, 1000)
    expect(table.ofTrace('t', 10).map(({ spanId }) => spanId)).toEqual(['s3', 's4', 's5'])
    table.prune(0, 2)
    expect(table.ofTrace('t', 10).map(({ spanId }) => spanId)).toEqual(['s4', 's5'])
  })
})

describe('a trace', () => {
  test('a trace includes running runs, and is refused to callers that may not view the fleet', () => {
    const { begin, events, ledger, follow, clock } = aFollowedLedger()
    const run = begin('a')
    const read = createReadTrace({
      guard: (caller) => {
        if (caller.kind === 'agent') throw new Error('denied')
      },
      runs: ledger.queries,
      table: { ofTrace: () => [] },
      follow,
      flush: () => {},
      keptDays: () => 7,
      clock,
    })
    events.publish(tool('tool.started', run.id, 'run_command'))
    const trace = read(person, run.id)
    expect(trace.spans.map(({ name, ended_at }) => [name, ended_at])).toEqual(
      expect.arrayContaining([
        ['invoke_agent a', null],
        ['execute_tool run_command', null],
      ]),
    )
    expect(() => read({ kind: 'agent', agentId: 'a', token: 'door', run: null }, run.id)).toThrow('denied')
    expect(() => read(person, 'run_none')).toThrow('there is no run run_none')
  })

  test('a trace shows the current cost of a run, even if its stored span has an older one', () => {
    const { begin, spans, ledger, follow, clock } = aFollowedLedger()
    const run = begin('a')
    ledger.lifecycle.addRunCost(run.id, { costUsd: 0.25, tokens: 100 })
    ledger.lifecycle.cancelRun(person, run.id)
    // The cost of the last call is settled after the run has ended.
    ledger.lifecycle.addRunCost(run.id, { costUsd: 0.5, tokens: 40 })
    const read = createReadTrace({
      guard: () => {},
      runs: ledger.queries,
      table: { ofTrace: () => spans },
      follow,
      flush: () => {},
      keptDays: () => 7,
      clock,
    })
    expect(spans.at(-1)?.attributes).toMatchObject({ 'flotilla.tokens': 100 })
    expect(
      read(person, run.id).spans.find(({ name }) => name === 'invoke_agent a')?.attributes,
    ).toMatchObject({
      'flotilla.tokens': 140,
      'flotilla.cost_usd': 0.75,
    })
  })

  test('spans are written after a short delay, at once when a trace is read, and never if none are kept', async () => {
    const harness = aLedgerHarness()
    const settings = { ...defaultSettings, traces: { keep_days: 7, max_rows: 1000 } }
    const made = telemetryModule(
      {
        ...harness,
        settings: () => settings,
        log: silentLog,
        randomToken: () => '',
        decide: () => ({ allowed: true }),
        ports: { people: 8420, agentApi: 0, proxy: 0, open: [] },
      },
      { runs: harness.ledger, otlp: null, proxies: noProxies },
    )
    expect(made.routes).toHaveProperty('people')
    const run = harness.chat('a')
    harness.ledger.lifecycle.cancelRun(person, run.id)
    const rows = () => harness.database.prepare('SELECT count(*) AS count FROM spans').get()?.['count']
    expect(rows()).toBe(0)
    await harness.clock.advance(500)
    await expect.poll(rows).toBe(2)
    settings.traces.keep_days = 0
    const next = harness.chat('a')
    harness.ledger.lifecycle.cancelRun(person, next.id)
    await made.close?.()
    expect(rows()).toBe(2)
  })
})

describe('a histogram', () => {
  test('a histogram counts below each bound and has at most its maximum of series', () => {
    const histogram = createHistogram({ name: 'x_seconds', description: 'x', others: { tool: 'other' } })
    histogram.observe({ tool: 'a' }, 40)
    histogram.observe({ tool: 'a' }, 9_999_999)
    const text = prometheusText([histogram.metric()])
    expect(text).toContain('# TYPE x_seconds histogram')
    expect(text).toContain('x_seconds_bucket{tool="a",le="0.01"} 0')
    expect(text).toContain('x_seconds_bucket{tool="a",le="0.05"} 1')
    expect(text).toContain('x_seconds_bucket{tool="a",le="+Inf"} 2')
    expect(text).toContain('x_seconds_count{tool="a"} 2')
    for (let count = 0; count < 3 * seriesMax; count++) histogram.observe({ tool: `t${count}` }, 1)
    const { samples } = histogram.metric()
    expect(new Set(samples.map(({ labels }) => labels?.['tool'])).size).toBe(seriesMax + 1)
    expect(samples.filter(({ labels }) => labels?.['tool'] === 'other').at(-1)?.value).toBe(2 * seriesMax + 1)
  })
})
