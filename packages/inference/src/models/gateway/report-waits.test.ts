import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { aModelPath } from '../../../../../tests/support/model-harness.ts'
import { collectEvents } from '../../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import type { Failure } from './failover.ts'
import { createReportWaits } from './report-waits.ts'

const failure: Failure = {
  problem: new Problem('rate-limited', { detail: 'words of a provider', extra: { provider_status: 429 } }),
  kind: 'rate-limited',
  retryAfterMs: 0,
  mayBeBilled: false,
  affects: 'all',
}

function aTeller() {
  const path = aModelPath()
  const model = path.catalog.find({ provider: 'offline', model: 'hashed-words' })
  const clock = createManualClock()
  const events = collectEvents()
  const waits = createReportWaits({ clock, events })
  const left = new AbortController()
  const begin = (agentId = 'scout') => waits.begin({ agentId, runId: 'run_1', left: left.signal })
  const told = () =>
    events.bodies.map((body) => (body.type === 'model.delayed' ? `${body.state} ${body.seconds}` : body.type))
  return { model, clock, events, begin, told, leave: () => left.abort() }
}

describe('a wait of a model call', () => {
  test('a wait is reported once it reaches its second second, and not before', () => {
    const { model, begin, told, events } = aTeller()
    const call = begin()
    call.retrying(model, failure, { waitMs: 500, elapsedMs: 20 })
    expect(told()).toEqual([])
    call.retrying(model, failure, { waitMs: 2000, elapsedMs: 600 })
    expect(told()).toEqual(['retries 2'])
    expect(events.bodies[0]).toMatchObject({
      provider: 'offline',
      provider_status: 429,
      code: 'rate-limited',
    })
    expect(JSON.stringify(events.bodies)).not.toContain('words of a provider')
  })

  test('a silent wait is reported after 1, 2, 4, 8 seconds, and again after new output', async () => {
    const { model, clock, begin, told } = aTeller()
    const waited = begin().asking(model)
    for (let second = 0; second < 9; second++) await clock.advance(1000)
    expect(told()).toEqual(['silent 1', 'silent 2', 'silent 4', 'silent 8'])
    waited.progressed()
    await clock.advance(500)
    waited.progressed()
    await clock.advance(1000)
    expect(told().slice(4)).toEqual(['over 0', 'silent 1'])
    waited.end()
    await clock.advance(5000)
    expect(told()).toHaveLength(6)
  })

  test('the end of a wait is reported once, and only if the wait was reported', () => {
    const { model, begin, told } = aTeller()
    const call = begin()
    call.over(model)
    call.retrying(model, failure, { waitMs: 3000, elapsedMs: 0 })
    call.over(model)
    call.over(model)
    expect(told()).toEqual(['retries 3', 'over 0'])
  })

  test('a wait is not reported after its caller has disconnected', async () => {
    const { model, clock, begin, told, leave } = aTeller()
    const call = begin()
    call.asking(model)
    leave()
    call.retrying(model, failure, { waitMs: 3000, elapsedMs: 0 })
    await clock.advance(3000)
    expect(told()).toEqual([])
  })

  /** Starts this many calls of the agent, each of which has more to report than one call may. */
  const flood = ({ model, begin }: ReturnType<typeof aTeller>, agentId: string, calls: number) => {
    for (let n = 0; n < calls; n++) {
      const call = begin(agentId)
      for (let m = 0; m < 25; m++) call.retrying(model, failure, { waitMs: 3000, elapsedMs: 0 })
    }
  }

  test('waits are reported at most twenty times per call and forty times a second per agent', async () => {
    const teller = aTeller()
    flood(teller, 'scout', 1)
    expect(teller.told()).toHaveLength(20)
    flood(teller, 'scout', 10)
    expect(teller.told()).toHaveLength(40)
    await teller.clock.advance(1000)
    flood(teller, 'scout', 1)
    expect(teller.told()).toHaveLength(60)
  })

  test('an agent can report a wait, within the total bound, however many waits other agents report', async () => {
    const teller = aTeller()
    const others = Array.from({ length: 20 }, (_, n) => `other-${n}`)
    for (const agentId of others) flood(teller, agentId, 10)
    flood(teller, 'scout', 1)
    const bodies = teller.events.bodies.filter((body) => body.type === 'model.delayed')
    expect(bodies.filter((body) => body.agent_id === 'scout').length).toBeGreaterThanOrEqual(4)
    expect(bodies.length).toBeLessThanOrEqual(200)
  })

  test('the end of a reported wait is always reported, even at the bound', async () => {
    const teller = aTeller()
    const { model, begin, told } = teller
    const call = begin()
    for (let m = 0; m < 20; m++) call.retrying(model, failure, { waitMs: 3000, elapsedMs: 0 })
    flood(teller, 'scout', 10)
    const before = told().length
    call.over(model)
    expect(told().slice(before)).toEqual(['over 0'])
    // A wait that was not reported does not report its end either.
    const late = begin()
    late.retrying(model, failure, { waitMs: 3000, elapsedMs: 0 })
    late.over(model)
    expect(told()).toHaveLength(before + 1)
  })
})
