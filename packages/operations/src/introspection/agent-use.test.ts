import { expect, test } from 'vitest'
import type { SandboxUse } from '../../../fleet/src/sandbox/index.ts'
import { createManualClock } from '@flotilla/protocol/testing/manual-clock'
import { createAgentUse } from './agent-use.ts'

const owner = { kind: 'human', channel: 'dashboard', role: 'owner' } as const

function aUse(cpuSeconds: () => number) {
  const clock = createManualClock()
  let looks = 0
  const use = createAgentUse({
    guard: () => {},
    clock,
    agents: { list: () => [{ id: 'scribe' }, { id: 'asleep' }] },
    measureUse: async () => {
      looks += 1
      const one: SandboxUse = { memoryBytes: 2048, memoryLimitBytes: 4096, cpuSeconds: cpuSeconds() }
      return new Map([['scribe', one]])
    },
    runOf: (agentId) => (agentId === 'scribe' ? 'run_1' : null),
    windowOf: () => 200_000,
  })
  return { use, clock, looks: () => looks }
}

test('memory is reported at once, and processor use from the second sample on as a share of one processor', async () => {
  let seconds = 5
  const { use, clock } = aUse(() => seconds)
  expect(await use.list(owner)).toMatchObject([
    { agent_id: 'scribe', run_id: 'run_1', memory_bytes: 2048, memory_limit_bytes: 4096, cpu_percent: null },
    { agent_id: 'asleep', run_id: null, memory_bytes: null, cpu_percent: null },
  ])
  await clock.advance(4000)
  seconds = 5.6
  const [scribe, asleep] = await use.list(owner)
  expect(scribe?.cpu_percent).toBeCloseTo(15)
  expect(asleep?.cpu_percent).toBeNull()
  await clock.advance(4000)
  // The sandbox was restarted meanwhile.
  seconds = 0.1
  expect((await use.list(owner))[0]?.cpu_percent).toBeNull()
})

test('concurrent readers share one sample', async () => {
  const { use, clock, looks } = aUse(() => 1)
  await Promise.all([use.list(owner), use.list(owner), use.list(owner)])
  await use.list(owner)
  expect(looks()).toBe(1)
  await clock.advance(2000)
  await use.list(owner)
  expect(looks()).toBe(2)
})

test('context use comes from the last chat call of the model and ignores embeddings', async () => {
  const { use } = aUse(() => 1)
  const called = { type: 'model.called', agent_id: 'scribe', run_id: null, model: 'm', cost_usd: 0 } as const
  use.handleEvent({ seq: 1, at: 0, body: { ...called, tokens: 1200, duration_ms: 5 } })
  use.handleEvent({ seq: 2, at: 0, body: { ...called, operation: 'embeddings', tokens: 9, duration_ms: 5 } })
  expect((await use.list(owner))[0]).toMatchObject({ context_tokens: 1200, context_window: 200_000 })
  use.forget('scribe')
  expect((await use.list(owner))[0]).toMatchObject({ context_tokens: null })
})

test('the highest use of the last hour is kept by the minute, and forgotten after an hour', async () => {
  let seconds = 0
  const { use, clock } = aUse(() => seconds)
  await use.list(owner)
  await clock.advance(4000)
  seconds = 2
  await use.list(owner)
  await clock.advance(4000)
  const [scribe, asleep] = await use.list(owner)
  expect(scribe?.last_hour).toMatchObject({ memory_bytes: 2048, cpu_percent: 50 })
  expect(scribe?.cpu_percent).toBe(0)
  expect(asleep?.last_hour).toBeNull()
  await clock.advance(70 * 60_000)
  expect((await use.list(owner))[0]?.last_hour?.cpu_percent).toBe(0)
})
