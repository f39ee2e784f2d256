import { describe, expect, it } from 'vitest'
import type { CronJob } from './cron-job.ts'
import {
  isOperatorHeartbeat,
  lockFault,
  lockedJob,
  ownHeartbeat,
  ownHeartbeatId,
} from './operator-heartbeat.ts'

const own = ownHeartbeat({ id: ownHeartbeatId, created_at: 7 })
const other: CronJob = { ...own, id: 'other', agent: 'clerk', heartbeat: false, message: 'look' }
const held = { held: own, required: true }

describe("the operator's heartbeat", () => {
  it("only the operator's heartbeat is locked: not its other jobs, and not other heartbeats", () => {
    expect(isOperatorHeartbeat(own)).toBe(true)
    expect(isOperatorHeartbeat({ ...own, heartbeat: false })).toBe(false)
    expect(isOperatorHeartbeat({ ...own, agent: 'clerk' })).toBe(false)
  })

  it("the operator's heartbeat is every 15 minutes, in UTC, enabled, and suppresses empty answers", () => {
    expect(own).toEqual({
      id: 'operator-heartbeat',
      agent: 'operator',
      schedule: 'every 15m',
      timezone: 'UTC',
      enabled: true,
      suppress_empty: true,
      heartbeat: true,
      created_by: 'system',
      created_at: 7,
    })
  })

  it("the operator's heartbeat is valid next to any other jobs", () => {
    expect(lockFault([own], held)).toBe(null)
    expect(lockFault([other, own], held)).toBe(null)
    // The first valid file determines its maker and creation time.
    const made = lockedJob({ id: 'mine', agent: 'operator', created_by: 'file', created_at: 3 })
    expect(lockFault([made], { held: null, required: true })).toBe(null)
  })

  it.each<[string, Partial<CronJob>, string, string]>([
    ['is disabled', { enabled: false }, 'enabled', 'the field enabled must be true'],
    [
      'has a longer interval',
      { schedule: 'every 366d' },
      'schedule',
      'the field schedule must be "every 15m"',
    ],
    ['has a condition', { when: 'now.hour > 50' }, 'when', 'this job may not have the field when'],
    ['has a message', { message: 'sleep' }, 'message', 'this job may not have the field message'],
    [
      'has another maker',
      { created_by: 'agent:clerk' },
      'created_by',
      'the field created_by must be "system"',
    ],
  ])("the operator's heartbeat is reported with path, field and repair if it %s", (...given) => {
    const [, change, field, words] = given
    expect(lockFault([other, { ...own, ...change }], held)).toEqual({
      path: ['jobs', 1, field],
      field,
      reason: `the heartbeat of the operator cannot be changed: ${words} (to hold it use flotilla pause operator)`,
    })
  })

  it("the operator's heartbeat may be missing only before a mesh created it", () => {
    expect(lockFault([other], { held: null, required: false })).toBe(null)
    expect(lockFault([other], { held: null, required: true })).toMatchObject({
      path: ['jobs'],
      field: 'jobs',
    })
  })

  it("a removed operator's heartbeat is reported with the whole job to restore", () => {
    const back = (job: CronJob) =>
      `the heartbeat of the operator is missing, and it cannot be removed (to hold it use flotilla pause operator); add this job again: ${JSON.stringify(job)}`
    expect(lockFault([other], held)).toEqual({ path: ['jobs'], field: 'jobs', reason: back(own) })
    const fresh = ownHeartbeat({ id: ownHeartbeatId, created_at: 0 })
    expect(lockFault([], { held: null, required: true })?.reason).toBe(back(fresh))
  })

  it("an operator's heartbeat that became another job is reported at that job and field", () => {
    const given = { ...own, agent: 'clerk' }
    expect(lockFault([other, given], held)).toMatchObject({ path: ['jobs', 1, 'agent'], field: 'agent' })
    const spoken = { ...own, heartbeat: false, message: 'x' }
    expect(lockFault([other, spoken], held)).toMatchObject({
      path: ['jobs', 1, 'heartbeat'],
      field: 'heartbeat',
    })
  })
})
