import { agentEditSchema } from '@flotilla/protocol/agent-edit'
import { heartbeatScheduleSchema } from '@flotilla/protocol/heartbeat-api'
import { describe, expect, test } from 'vitest'
import { parseTemplate } from '../../../../operations/src/templates/template-file.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { createEnsureHeartbeat } from './ensure-heartbeat.ts'
import { createFakeHeartbeatJobs } from '../../../../testing/src/fake-heartbeat-jobs.ts'
import { heartbeatJobsConformance } from './heartbeat-jobs.conformance.ts'
import { heldJob } from './heartbeat-jobs.ts'
import { createSetHeartbeat } from './manage-heartbeats.ts'

const person: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
const locked = { agentId: 'operator', schedule: 'every 15m', enabled: true }

function aHarness() {
  const jobs = createFakeHeartbeatJobs()
  const set = createSetHeartbeat({
    jobs,
    guard: () => {},
    journal: { append: () => {} },
    requireAgent: () => {},
  })
  const step = { begun: null, begin: () => {} }
  return {
    jobs,
    set: async (caller: Caller, agentId: string, schedule: string | null) =>
      (await set(caller, { agentId, schedule }, step))(),
    ensure: createEnsureHeartbeat({ jobs }),
  }
}

describe('heartbeats in memory', () => {
  heartbeatJobsConformance(() => {
    const jobs = createFakeHeartbeatJobs()
    return { jobs, spoil: async () => void (jobs.isBroken = true) }
  })
})

describe("a worker's heartbeat", () => {
  test("a worker's heartbeat is off until a schedule is set, every 15 minutes by default, and stays as it was set", async () => {
    const { jobs, set, ensure } = aHarness()
    await ensure('scout')
    expect(await jobs.find('scout')).toEqual({ agentId: 'scout', schedule: 'every 15m', enabled: false })
    await set(person, 'scout', 'every 2h')
    await ensure('scout')
    expect(await jobs.find('scout')).toMatchObject({ schedule: 'every 2h', enabled: true })
    await set(person, 'scout', null)
    await ensure('scout')
    expect(await jobs.find('scout')).toMatchObject({ schedule: 'every 2h', enabled: false })
  })

  test("a worker's heartbeat is what its template says", async () => {
    const { jobs, ensure } = aHarness()
    const template = parseTemplate(
      'pair',
      `name: pair
description: two
agents:
  - { id: seldom, role: a, instructions: '', heartbeat: every 2h }
  - { id: never, role: b, instructions: '', heartbeat: off }
  - { id: plain, role: c, instructions: '' }`,
    )
    for (const agent of template.agents) await ensure(agent.id, agent.heartbeat)
    expect(await jobs.find('seldom')).toMatchObject({ schedule: 'every 2h', enabled: true })
    expect(await jobs.find('never')).toMatchObject({ enabled: false })
    expect(await jobs.find('plain')).toMatchObject({ schedule: 'every 15m', enabled: false })
    const broken = `name: x\ndescription: x\nagents: [{ id: a, role: a, instructions: '', heartbeat: every 5s }]`
    expect(() => parseTemplate('x', broken)).toThrow(/heartbeat/)
  })

  test.each(['every 1m', 'every 90m', 'every 24h', 'every 7d'])(
    '%s is a valid heartbeat schedule',
    (text) => {
      expect(heartbeatScheduleSchema.safeParse(text).success).toBe(true)
    },
  )

  test.each(['', 'every 0m', 'every 30s', '15m', 'every 8d', 'every 99999h', '* * * * *', 'every 1m; x'])(
    '%j is not a valid heartbeat schedule',
    (text) => {
      expect(heartbeatScheduleSchema.safeParse(text).success).toBe(false)
    },
  )
})

describe("the operator's heartbeat is every 15 minutes", () => {
  test.each(['every 1m', 'every 7d', null])(
    "the operator's heartbeat cannot be changed by its endpoint and command (%s)",
    async (schedule) => {
      const { jobs, set, ensure } = aHarness()
      await ensure('operator')
      await expect(set(person, 'operator', schedule)).rejects.toMatchObject({ code: 'unprocessable' })
      expect(await jobs.find('operator')).toEqual(locked)
    },
  )

  test.each([
    { ...locked, schedule: 'every 7d' },
    { ...locked, enabled: false },
    { ...locked, schedule: '0 0 1 1 *', enabled: false },
  ])("the operator's heartbeat ignores what the file says: %j", async (written) => {
    const { jobs, ensure } = aHarness()
    expect(heldJob(written)).toEqual(locked)
    jobs.jobs.set('operator', written)
    await ensure('operator')
    expect(await jobs.find('operator')).toEqual(locked)
  })

  test("the operator's heartbeat is restored if its job was removed", async () => {
    const { jobs, ensure } = aHarness()
    await ensure('operator')
    jobs.jobs.delete('operator')
    await ensure('operator', null)
    expect(await jobs.find('operator')).toEqual(locked)
  })

  test("no edit of an agent, by people or the operator's tools, can name the heartbeat", () => {
    for (const field of ['heartbeat', 'heartbeat_schedule', 'schedule']) {
      expect(agentEditSchema.safeParse({ field, value: 'every 7d' }).success).toBe(false)
    }
  })

  test('no template can create an operator', () => {
    const text = `name: x\ndescription: x\nagents: [{ id: operator, role: a, instructions: '', heartbeat: off }]`
    // It parses; reserved ids are rejected before anything is created.
    expect(parseTemplate('x', text).agents[0]?.id).toBe('operator')
    expect(heldJob({ agentId: 'operator', schedule: 'every 7d', enabled: false })).toEqual(locked)
  })
})
