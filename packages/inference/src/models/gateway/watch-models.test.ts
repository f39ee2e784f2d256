import { describe, expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { collectEvents } from '../../../../../tests/support/collected-ports.ts'
import { aModelPath } from '../../../../../tests/support/model-harness.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import type { Failure } from './failover.ts'
import { createModelWatch } from './watch-models.ts'
import { createWatchedModels } from './watched-models.ts'

const outage: Failure = {
  problem: new Problem('upstream-failed', { detail: 'it is down' }),
  kind: 'outage',
  retryAfterMs: 0,
  mayBeBilled: false,
  affects: 'all',
}

function aWatch() {
  const clock = createManualClock()
  const events = collectEvents()
  const journaled: string[] = []
  const journal = {
    append: ({ action, subject }: { action: string; subject: string }) =>
      journaled.push(`${action} ${subject}`),
  }
  const rootOf = (agentId: string) => agentId.replace(/^child of /, '')
  const watch = createModelWatch({ clock, log: silentLog, events, journal, rootOf })
  const parts = aModelPath({
    baseUrl: 'http://127.0.0.1:9/v1',
    settings: {
      agents: { scout: { models: ['openai/gpt-4o', 'openai/*'] } },
      models: { 'far/m': { fallback: ['openai/gpt-4o'] } },
    },
  })
  const model = parts.catalog.find({ provider: 'openai', model: 'gpt-4o' })
  return { clock, events, journaled, watch, parts, model }
}

describe('the watch on models', () => {
  test('a cool-down and its end are announced once and journaled', async () => {
    const { clock, events, journaled, watch, parts, model } = aWatch()
    watch.failed(model, outage, { agentId: 'scout', at: clock.now() })
    watch.failed(model, outage, { agentId: 'scout', at: clock.now() })
    expect(watch.coolDownLeftMs(model, 'scout')).toBe(30_000)
    await clock.advance(30_000)
    expect(watch.coolDownLeftMs(model, 'scout')).toBe(0)
    watch.answered(model, { agentId: 'scout', at: clock.now() })
    watch.answered(model, { agentId: 'scout', at: clock.now() })
    expect(events.bodies).toEqual([
      {
        type: 'model.cooling',
        model: 'openai/gpt-4o',
        seconds: 30,
        failures: 1,
        code: 'upstream-failed',
        detail: 'it is down',
      },
      { type: 'model.recovered', model: 'openai/gpt-4o' },
    ])
    expect(journaled).toEqual(['model.cooled openai/gpt-4o', 'model.recovered openai/gpt-4o'])
    await parts.close()
  })

  test('what the owner has changed since gets a fresh chance', async () => {
    const { clock, watch, parts, model } = aWatch()
    watch.failed(model, outage, { agentId: 'scout', at: clock.now() })
    expect(watch.coolDownLeftMs({ ...model }, 'scout')).toBe(0)
    await parts.close()
  })

  const bare: Failure = {
    problem: new Problem('provider-refused', { detail: 'openai answered 403' }),
    kind: 'credential',
    retryAfterMs: 0,
    mayBeBilled: false,
    affects: 'agent',
  }
  const leftFor = ({ watch, model }: ReturnType<typeof aWatch>) =>
    ['scout', 'child of scout', 'other'].map((agentId) => watch.coolDownLeftMs(model, agentId))

  test('an unproven failure pauses its root agent alone, for longer each time, and shuts no model', async () => {
    const parts = aWatch()
    const { clock, watch, model, events } = parts
    for (const ms of [30_000, 60_000, 120_000]) {
      watch.failed(model, bare, { agentId: 'scout', at: clock.now() })
      watch.failed(model, bare, { agentId: 'child of scout', at: clock.now() })
      expect(leftFor(parts)).toEqual([ms, ms, 0])
      await clock.advance(ms)
    }
    expect(watch.refusalOf(model)).toBeNull()
    expect(watch.find(model.id)).toMatchObject({ health: { kind: 'ok' }, failed: 6 })
    expect(events.bodies).toEqual([])
    await parts.parts.close()
  })

  test('an unproven failure of a second root agent cools the model for all, and shuts it for none', async () => {
    const parts = aWatch()
    const { clock, watch, model, events } = parts
    watch.failed(model, bare, { agentId: 'scout', at: clock.now() })
    await clock.advance(1000)
    watch.failed(model, bare, { agentId: 'other', at: clock.now() })
    expect(watch.coolDownLeftMs(model, 'third')).toBe(30_000)
    expect(watch.refusalOf(model)).toBeNull()
    expect(events.bodies).toMatchObject([{ type: 'model.cooling', seconds: 30 }])
    watch.answered(model, { agentId: 'third', at: clock.now() + 1 })
    expect(watch.coolDownLeftMs(model, 'third')).toBe(0)
    await parts.parts.close()
  })

  test('an answer to any agent, or ten minutes, between two unproven failures separate them', async () => {
    const parts = aWatch()
    const { clock, watch, model } = parts
    watch.failed(model, bare, { agentId: 'scout', at: clock.now() })
    watch.answered(model, { agentId: 'third', at: clock.now() })
    watch.failed(model, bare, { agentId: 'other', at: clock.now() })
    expect(watch.coolDownLeftMs(model, 'third')).toBe(0)
    await clock.advance(600_001)
    watch.failed(model, bare, { agentId: 'scout', at: clock.now() })
    expect(watch.coolDownLeftMs(model, 'third')).toBe(0)
    await parts.parts.close()
  })

  test('an answer ends the pause of its own root agent', async () => {
    const parts = aWatch()
    const { clock, watch, model } = parts
    watch.failed(model, bare, { agentId: 'scout', at: clock.now() })
    await clock.advance(1)
    watch.answered(model, { agentId: 'other', at: clock.now() })
    expect(leftFor(parts)).toEqual([29_999, 29_999, 0])
    watch.answered(model, { agentId: 'child of scout', at: clock.now() })
    expect(leftFor(parts)).toEqual([0, 0, 0])
    await parts.parts.close()
  })

  test('names that an agent makes up do not pile up, and the sick are kept', async () => {
    const { clock, watch, parts, model } = aWatch()
    watch.failed(model, outage, { agentId: 'scout', at: clock.now() })
    for (let count = 0; count < 2000; count++)
      watch.answered({ ...model, id: `openai/${count}` }, { agentId: 'scout', at: clock.now() })
    expect(watch.list()).toHaveLength(1000)
    expect(watch.find(model.id)?.health.kind).toBe('cooling')
    await parts.close()
  })

  test('a record that cannot be written leaves the caller its answer', async () => {
    const { clock, parts, model } = aWatch()
    const journal = {
      append: () => {
        throw new Error('the disk is full')
      },
    }
    const watch = createModelWatch({
      clock,
      log: silentLog,
      events: collectEvents(),
      journal,
      rootOf: (agentId) => agentId,
    })
    expect(() => watch.failed(model, outage, { agentId: 'scout', at: clock.now() })).not.toThrow()
    await parts.close()
  })
})

test('people see each model with price, health, fallbacks, and the agents that may use it', async () => {
  const { clock, watch, parts, model } = aWatch()
  watch.failed(model, outage, { agentId: 'scout', at: clock.now() })
  const list = createWatchedModels({
    ...parts.deps,
    guard: () => {},
    clock,
    watch,
    agentIds: () => ['scout', 'other'],
  })
  const models = list({ kind: 'human', role: 'owner', channel: 'cli' })
  expect(models.map(({ id }) => id)).toEqual(['far/m', 'openai/gpt-4o', 'openai/gpt-4o-mini'])
  expect(models[0]).toMatchObject({
    problem: expect.stringContaining('far') as unknown,
    price: null,
    fallback: ['openai/gpt-4o'],
    agents: [],
  })
  expect(models[1]).toMatchObject({
    health: 'cooling',
    cool_down_seconds: 30,
    failures: 1,
    agents: ['scout'],
    problem: null,
  })
  expect(models[1]?.price?.output_per_mtok).toBe(10)
  expect(models[2]).toMatchObject({ health: 'unknown', agents: ['scout', 'other'] })
  await parts.close()
})
