import { traceApi, traceEndpoints } from '@flotilla/protocol/trace-api'
import type { TraceView } from '@flotilla/protocol/trace-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startOtlpReceiver } from '../support/otlp-receiver.ts'
import type { OtlpReceiver } from '../support/otlp-receiver.ts'

const planted = 'sk-planted-in-a-tool-0123456789abcdef'
const cassette = aCassette(
  ...operatorHandsOff({ when: '^delegate$', to: 'helper', title: 'Help', answer: 'It helped.' }),
  {
    agents: ['helper'],
    when: 'Help',
    turns: [runs(`echo ${planted}`), calls('complete_task', { summary: `I helped with ${planted}.` })],
  },
  { agents: ['helper'], when: '^kill$', turns: [runs('echo one'), says('Ended.')] },
)

async function traceOf(mesh: MeshProcess, id: string): Promise<TraceView> {
  const reply = await mesh.call(traceEndpoints.runTrace, { params: { id } })
  expect(reply.status, reply.text).toBe(200)
  return traceApi.runTrace.response.parse(reply.json())
}

describe('traces', () => {
  let mesh: MeshProcess
  let receiver: OtlpReceiver
  beforeAll(async () => {
    receiver = await startOtlpReceiver()
    mesh = await startMesh({
      cassettes: { talk: cassette },
      environment: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=harbour%20one',
        OTEL_SERVICE_NAME: 'my-fleet',
      },
    })
    await mesh.createWorker('helper')
  })
  afterAll(async () => {
    await mesh.stop()
    await receiver.close()
  })

  it('traces are one tree from what was asked over the hand-off to the outcome, the same kept and exported', async () => {
    const run = await mesh.ask('delegate')
    expect(run.outcome?.text).toBe('It helped.')
    // The run of the helper may end after that of the agent that it answered.
    const trace = await eventually('all spans have ended', async () => {
      const read = await traceOf(mesh, run.id)
      return read.spans.every(({ ended_at: endedAt }) => endedAt !== null) ? read : null
    })
    const names = trace.spans.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        'invoke_agent operator',
        'invoke_agent helper',
        'flotilla.lane_wait',
        'flotilla.wait',
        'chat scripted/talk',
        'execute_tool hand_off',
        'execute_tool run_command',
        'execute_tool complete_task',
      ]),
    )
    const byId = new Map(trace.spans.map((span) => [span.span_id, span]))
    const root = trace.spans.find(({ parent_id }) => parent_id === null)
    expect(root).toMatchObject({ name: 'invoke_agent operator', status: 'ok', run_id: run.id })
    expect(trace.spans.filter(({ parent_id }) => parent_id === null)).toHaveLength(1)
    const helper = trace.spans.find(({ name }) => name === 'invoke_agent helper')
    expect(byId.get(helper?.parent_id ?? '')?.name).toBe('invoke_agent operator')
    // Each span lies within its parent, and the child's run within the parent's run.
    for (const span of trace.spans) {
      const parent = span.parent_id === null ? span : byId.get(span.parent_id)
      expect(parent, span.name).toBeDefined()
      expect(span.started_at).toBeGreaterThanOrEqual(parent?.started_at ?? Infinity)
      expect(span.ended_at).not.toBeNull()
    }
    // The id of the handed-off run gives the same trace.
    expect((await traceOf(mesh, helper?.run_id ?? '')).trace_id).toBe(trace.trace_id)

    const exported = () => receiver.spans.filter(({ traceId }) => traceId === trace.trace_id)
    const missing = () => {
      const there = new Set(exported().map(({ spanId }) => spanId))
      return trace.spans.filter(({ span_id: id }) => !there.has(id)).map(({ name }) => name)
    }
    await eventually('all spans are exported', () => missing().length === 0).catch(() => {})
    expect(missing(), `${receiver.requests.length} requests; ${mesh.log()}`).toEqual([])
    const tree = (spans: readonly { id: string; parent: string | null; name: string; at: number }[]) =>
      spans.map(({ id, parent, name, at }) => `${id} ${parent} ${name} ${at}`).toSorted()
    expect(
      tree(
        exported().map(({ spanId, parentId, name, startedMs }) => ({
          id: spanId,
          parent: parentId,
          name,
          at: startedMs,
        })),
      ),
    ).toEqual(
      tree(
        trace.spans.map((span) => ({
          id: span.span_id,
          parent: span.parent_id,
          name: span.name,
          at: span.started_at,
        })),
      ),
    )
    const call = exported().find(({ name }) => name === 'chat scripted/talk')
    expect(call).toMatchObject({
      service: 'my-fleet',
      schemaUrl: 'https://opentelemetry.io/schemas/1.41.0',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'scripted',
        'gen_ai.request.model': 'scripted/talk',
      },
    })
    expect(receiver.requests[0]?.headers['x-tenant']).toBe('harbour one')
  })

  it('traces hold nothing of what agents said, used or named', async () => {
    const ledger = openLedger(mesh.home)
    try {
      const rows = ledger.rows('SELECT * FROM spans')
      expect(rows.length).toBeGreaterThan(5)
      expect(JSON.stringify(rows)).not.toContain(planted)
    } finally {
      ledger.close()
    }
    expect(receiver.requests.some(({ body }) => body.includes(planted))).toBe(false)
    const metrics = await fetch(`${mesh.url}/metrics`).then((reply) => reply.text())
    expect(metrics).not.toContain(planted)
    expect(metrics).toContain('flotilla_tool_duration_seconds_count{tool="run_command",outcome="ok"} 1')
  })

  it('traces are drawn at the terminal as a waterfall, with OTLP or without', async () => {
    const [run] = await mesh.runs(50).then((all) => all.filter(({ parent_id }) => parent_id === null))
    const drawn = await flotilla(mesh, 'trace', run?.id ?? '')
    expect(drawn.code, drawn.err).toBe(0)
    expect(drawn.out).toMatch(/^[0-9a-f]{32} {2}2 runs, \d+ spans$/m)
    expect(drawn.out).toMatch(/^invoke_agent operator +█+ +[\d.]+ m?s {2}done$/m)
    expect(drawn.out).toMatch(/^ {2}invoke_agent helper +█+/m)
    expect(drawn.out).toMatch(/^ {4}execute_tool run_command +█+/m)
    const json = await flotilla(mesh, 'trace', run?.id ?? '', '--json')
    expect(traceApi.runTrace.response.parse(JSON.parse(json.out)).spans.length).toBeGreaterThan(5)
    const none = await flotilla(mesh, 'trace', 'run_0000000000000000')
    expect(none.code).toBe(1)
  })

  it('traces survive a killed mesh: the run is in them, with its written spans', async () => {
    const [run] = await mesh.runs(50).then((all) => all.filter(({ parent_id }) => parent_id === null))
    const before = await traceOf(mesh, run?.id ?? '')
    await mesh.kill9()
    await mesh.restart()
    expect((await traceOf(mesh, run?.id ?? '')).spans).toEqual(before.spans)
    const after = await mesh.ask('kill', { agent: 'helper' })
    expect((await traceOf(mesh, after.id)).spans.map(({ name }) => name)).toContain('invoke_agent helper')
  })
})
