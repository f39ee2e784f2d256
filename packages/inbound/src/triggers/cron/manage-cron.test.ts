import type { CronChange, CronSeen } from '@flotilla/protocol/cron-api'
import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import type { Caller } from '../../../../identity/src/access/caller.ts'
import { switchOffJobsOf, switchOffJobsOfNobody } from './person-left.ts'
import { isQuietReply } from './quiet-reply.ts'
import {
  aJob,
  noSignal,
  owner,
  startCron,
  problemOf,
  startOfTime,
  writeByHand,
} from '../../../../testing/src/cron-harness.ts'
import type { CronHarness } from '../../../../testing/src/cron-harness.ts'

const minute = 60_000
const clerk: Caller = { kind: 'agent', agentId: 'clerk', token: 'door', run: null }
const chief: Caller = { kind: 'agent', agentId: 'operator', token: 'door', run: null }

describe('the outcome of a cron run', () => {
  async function ended(responses: readonly (string | null)[], more: object = {}): Promise<CronHarness> {
    const harness = await startCron()
    await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look', ...more })
    harness.ledger.start()
    for (const response of responses) {
      await harness.tickAfter(minute)
      await harness.clock.settle()
      if (response === null)
        harness.agents.finish('clerk', {
          status: 'failed',
          error: { code: 'x', detail: 'broke' },
          response: '',
        })
      else harness.agents.finish('clerk', { response })
      await harness.clock.settle()
    }
    return harness
  }

  it("the outcome is stored in the row, and a person's job notifies the owner unless it reports nothing", async () => {
    verifies('resources:cron-job:suppress-empty')
    const harness = await ended(['Rain at five.', 'OK', 'No updates.', ' '])
    const [job] = harness.cron.list(owner).jobs
    expect(harness.rows(job?.id ?? '')).toMatchObject([
      { outcome: 'done', text: 'Rain at five.', quiet: false },
      { outcome: 'done', text: 'OK', quiet: true },
      { outcome: 'done', quiet: true },
      { outcome: 'done', quiet: true },
    ])
    expect(harness.notes.map(({ message }) => message)).toEqual(['Rain at five.'])
    const loud = await ended(['OK'], { suppress_empty: false })
    expect(loud.notes.map(({ message }) => message)).toEqual(['OK'])
  })

  it('three failures in a row cause one note and are counted', async () => {
    const harness = await ended([null, null, null, null, 'fine'])
    expect(harness.notes.map(({ message }) => message.split('\n')[0])).toEqual([
      expect.stringMatching(/failed 3 times in a row/),
      'fine',
    ])
    expect(harness.cron.list(owner).jobs).toMatchObject([
      { error_count: 4, errors_in_row: 0, last_outcome: 'done' },
    ])
    expect(
      harness.told.filter((event) => event.type === 'cron.changed' && event.action === 'error'),
    ).toHaveLength(4)
  })

  it('an answer is quiet for the known quiet texts, and for no others', () => {
    for (const text of [
      '',
      ' ',
      'ok',
      'OK.',
      'HEARTBEAT_OK',
      '**Nothing to do.**',
      'no updates',
      'No  updates!',
    ])
      expect(isQuietReply(text), text).toBe(true)
    // A long row of marks is not quiet hours, and is parsed in linear time.
    for (const text of [
      'ok then',
      'not ok',
      'nothing to do but wait',
      'updates',
      '0',
      `ok${'.'.repeat(300)}`,
    ])
      expect(isQuietReply(text), text).toBe(false)
  })
})

describe('creating and changing a job', () => {
  it('a wrong schedule, tool or parameter is rejected on create and update, with the field', async () => {
    heedsLesson(70)
    const harness = await startCron()
    const tool = {
      agent: 'clerk',
      schedule: 'every 1h',
      tool_name: 'http_request',
      tool_params: { url: 'https://a' },
    }
    const { id } = await harness.add(tool)
    const message = await harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'x' })
    const wrong: [object, RegExp][] = [
      [{ schedule: '*/0 * * * *' }, /^schedule: /],
      [{ schedule: '61 * * * *' }, /^schedule: /],
      [{ schedule: '* * * * * *' }, /^schedule: .*six|^schedule: .*6 fields/],
      [{ tool_name: 'no_such' }, /^tool_name: agent clerk has no tool no_such; it has http_request/],
      [{ tool_params: { url: 7 } }, /^tool_params: url /],
      [{ tool_params: { url: 'https://a', more: 1 } }, /^tool_params: /],
      [{ tool_params: {} }, /^tool_params: url /],
    ]
    for (const [change, expected] of wrong) {
      const created = await problemOf(harness.add({ ...tool, ...change }))
      expect(created.detail).toMatch(expected)
      expect(created.code).toBe('bad-request')
      const updated = await problemOf(harness.cron.update(owner, { id, change }, noSignal))
      expect(updated.detail).toMatch(expected)
    }
    expect((await problemOf(harness.add({ agent: 'clerk', schedule: 'every 1h' }))).detail).toMatch(
      /^message: give/,
    )
    expect((await problemOf(harness.add({ ...tool, message: 'x' }))).detail).toMatch(/not both/)
    expect((await problemOf(harness.add({ ...tool, timezone: 'Mars/X' }))).detail).toMatch(/^timezone/)
    expect((await problemOf(harness.add({ agent: 'nobody', schedule: 'every 1h', message: 'x' }))).code).toBe(
      'unknown-agent',
    )
    expect(
      (
        await problemOf(
          harness.cron.update(owner, { id: message.id, change: { tool_name: 'http_request' } }, noSignal),
        )
      ).detail,
    ).toMatch(/mode message cannot change/)
  })

  it('a change applies to the job that the caller saw, and not to a job that was changed since', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: '0 7 * * *', message: 'Read.' })
    const update = (change: CronChange, seen: CronSeen) =>
      harness.cron.update(owner, { id, change, seen }, noSignal)
    expect(await update({ schedule: '0 8 * * *' }, { schedule: '0 7 * * *' })).toMatchObject({
      schedule: '0 8 * * *',
    })
    const stale: readonly [CronChange, CronSeen][] = [
      [{ schedule: '0 9 * * *' }, { schedule: '0 7 * * *' }],
      [{ message: 'Write.' }, { message: 'Listen.' }],
      [{ enabled: true }, { enabled: false }],
      [{ when: 'agent_idle' }, { when: 'other' }],
    ]
    for (const [change, seen] of stale)
      expect((await problemOf(update(change, seen))).code).toBe('edit-overtaken')
    // A change of another field is not a conflict.
    const inTokyo = await update({ timezone: 'Asia/Tokyo' }, { timezone: 'UTC' })
    // Eight o'clock in Tokyo is 23:00 UTC.
    expect([inTokyo.timezone, new Date(inTokyo.next_run ?? 0).getUTCHours()]).toEqual(['Asia/Tokyo', 23])
    expect((await problemOf(update({ timezone: 'UTC' }, { timezone: 'UTC' }))).code).toBe('edit-overtaken')
    expect((await problemOf(update({ timezone: 'Mars/X' }, {}))).detail).toMatch(/^timezone/)
    expect(await update({ message: 'Write.' }, { message: 'Read.', when: '' })).toMatchObject({
      schedule: '0 8 * * *',
      message: 'Write.',
    })
  })

  it('a change keeps the mode and all unnamed fields', async () => {
    heedsLesson(75)
    verifies('resources:cron-job:file')
    const harness = await startCron()
    const heart = await harness.add({ agent: 'clerk', schedule: 'every 15m', heartbeat: true })
    const updated = await harness.cron.update(owner, { id: heart.id, change: { message: 'hello' } }, noSignal)
    expect(updated).toMatchObject({
      heartbeat: true,
      mode: 'heartbeat',
      message: 'hello',
      schedule: 'every 15m',
    })
    const off = await harness.cron.update(owner, { id: heart.id, change: { enabled: false } }, noSignal)
    expect(off).toMatchObject({ heartbeat: true, enabled: false, next_run: null })
    const file = JSON.parse(await readFile(harness.path, 'utf8')) as { jobs: object[] }
    expect(file.jobs).toEqual([
      {
        id: heart.id,
        agent: 'clerk',
        schedule: 'every 15m',
        timezone: 'UTC',
        enabled: false,
        suppress_empty: true,
        heartbeat: true,
        message: 'hello',
        created_by: 'human:cli',
        created_at: startOfTime,
      },
    ])
  })

  it('each of the six changeable fields changes alone, in the file and in effect', async () => {
    verifies(
      'resources:cron-job:updatable-schedule',
      'resources:cron-job:updatable-message',
      'resources:cron-job:updatable-enabled',
      'resources:cron-job:updatable-suppress-empty',
      'resources:cron-job:updatable-tool-name',
      'resources:cron-job:updatable-tool-params',
    )
    const two = ['http_request', 'other_tool'].map((name) => ({
      name,
      description: 'Asks a place',
      parameters: { type: 'object', properties: { url: { type: 'string' } }, additionalProperties: false },
    }))
    let offered = two
    const harness = await startCron({ parts: { toolsOf: async () => offered } })
    const says = await harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'look' })
    const acts = await harness.add({
      agent: 'writer',
      schedule: 'every 1h',
      tool_name: 'http_request',
      tool_params: { url: 'https://a' },
    })
    const jobOf = async (id: string) => {
      const { jobs } = JSON.parse(await readFile(harness.path, 'utf8')) as { jobs: { id: string }[] }
      return jobs.find((job) => job.id === id)
    }
    const changes: [string, object][] = [
      [says.id, { schedule: 'every 1m' }],
      [says.id, { message: 'look again' }],
      [says.id, { suppress_empty: false }],
      [acts.id, { schedule: '* * * * *' }],
      [acts.id, { tool_name: 'other_tool' }],
      [acts.id, { tool_params: { url: 'https://b' } }],
      [acts.id, { enabled: false }],
      [acts.id, { enabled: true }],
    ]
    for (const [id, change] of changes) {
      const before = await jobOf(id)
      const view = await harness.cron.update(owner, { id, change }, noSignal)
      expect(view, JSON.stringify(change)).toMatchObject(change)
      expect(await jobOf(id)).toEqual({ ...before, ...change })
    }
    // A skill is known again only after the first run of a started agent; its job can still be changed.
    offered = []
    const still = await harness.cron.update(
      owner,
      { id: acts.id, change: { schedule: 'every 1m' } },
      noSignal,
    )
    expect(still).toMatchObject({ schedule: 'every 1m', tool_name: 'other_tool' })
    const moved = { tool_params: { url: 'https://c' } }
    await expect(harness.cron.update(owner, { id: acts.id, change: moved }, noSignal)).rejects.toThrow(
      /no tool/,
    )
    await harness.tickAfter(minute)
    const inputs = new Map(harness.runs().map(({ agentId, input }) => [agentId, input]))
    expect(inputs.get('clerk')).toMatchObject({ message: 'look again' })
    expect(inputs.get('writer')).toEqual({ kind: 'tool', tool: 'other_tool', params: { url: 'https://b' } })
    await harness.cron.update(owner, { id: says.id, change: { enabled: false } }, noSignal)
    for (const run of harness.runs()) harness.end(run.id)
    await harness.tickAfter(minute)
    const agents = harness.runs().map(({ agentId }) => agentId)
    expect(agents.toSorted()).toEqual(['clerk', 'writer', 'writer'])
  })

  it("the operator's heartbeat is locked to every 15m, on every path", async () => {
    const harness = await startCron()
    expect(
      (await problemOf(harness.add({ agent: 'operator', schedule: 'every 1h', heartbeat: true }))).detail,
    ).toMatch(/cannot be changed: the field schedule must be "every 15m"/)
    const { id } = await harness.add({ agent: 'operator', schedule: 'every 15m', heartbeat: true })
    const change = { schedule: 'every 1h' }
    expect((await problemOf(harness.cron.update(owner, { id, change }, noSignal))).detail).toMatch(
      /heartbeat of the operator/,
    )
    expect((await problemOf(harness.cron.remove(owner, id))).detail).toMatch(/heartbeat of the operator/)
    expect((await problemOf(harness.cron.heartbeatJobs.remove('operator'))).detail).toMatch(
      /heartbeat of the operator/,
    )
    expect(
      (await problemOf(harness.cron.heartbeatJobs.put({ agentId: 'operator', schedule: 'every 1h' }))).detail,
    ).toMatch(/heartbeat of the operator/)
    expect(await harness.cron.heartbeatJobs.put({ agentId: 'writer', schedule: 'every 15m' })).toMatchObject({
      agentId: 'writer',
      enabled: true,
    })
    await harness.cron.heartbeatJobs.put({ agentId: 'writer', schedule: 'every 30m' })
    expect(harness.cron.heartbeatJobs.find('writer')).toMatchObject({ schedule: 'every 30m' })
  })

  it('jobs are for agents with can_manage_cron, and only their own', async () => {
    verifies('resources:permission:can-manage-cron', 'resources:tool:set-cron-permission')
    const harness = await startCron()
    const job = { agent: 'clerk', schedule: 'every 1m', message: 'x' }
    const ofOwner = await harness.add(job)
    harness.permit('clerk', {})
    expect((await problemOf(harness.cron.create(clerk, job, noSignal))).code).toBe('denied')
    harness.permit('clerk', { can_manage_cron: true })
    const own = await harness.cron.create(clerk, job, noSignal)
    const other = { ...job, agent: 'writer' }
    expect((await problemOf(harness.cron.create(clerk, other, noSignal))).code).toBe('denied')
    const ofOther = await harness.add(other)
    expect(harness.cron.list(clerk).jobs.map(({ id }) => id)).toEqual([ofOwner.id, own.id])
    expect((await problemOf(harness.cron.remove(clerk, ofOther.id))).code).toBe('not-found')
    expect((await problemOf(async () => harness.cron.history(clerk, ofOther.id, 5))).code).toBe('not-found')
    expect((await problemOf(harness.cron.remove(clerk, ofOwner.id))).detail).toMatch(
      /human:cli created this job/,
    )
    await harness.cron.remove(clerk, own.id)
    harness.permit('operator', {
      can_manage_cron: true,
      can_edit_agent_config: true,
      can_view_fleet_metrics: true,
    })
    const made = await harness.cron.create(chief, other, noSignal)
    await harness.cron.remove(chief, ofOther.id)
    expect(harness.cron.list(chief).jobs.map(({ id }) => id)).toEqual([ofOwner.id, made.id])
  })

  it('a due job has only the permissions of its maker', async () => {
    const harness = await startCron()
    harness.permit('clerk', { can_manage_cron: true })
    const { id } = await harness.cron.create(
      clerk,
      { agent: 'clerk', schedule: 'every 1m', message: 'x' },
      noSignal,
    )
    harness.permit('clerk', {})
    await harness.tickAfter(minute)
    expect(harness.rows(id)).toMatchObject([{ state: 'skipped', reason: 'maker' }])
    expect(harness.rows(id)[0]?.detail).toMatch(
      /agent clerk, which created the job, lacks the permission: .*can_manage_cron/,
    )
    harness.permit('clerk', { can_manage_cron: true })
    await harness.tickAfter(minute)
    expect(harness.runs()).toMatchObject([{ origin: { kind: 'cron', user: 'agent:clerk' } }])
  })
})

describe('a job of a member', () => {
  const ann: Caller = {
    kind: 'human',
    channel: 'cli',
    role: 'member',
    user: 'ann',
    person: 'ann',
    agents: ['clerk'],
  }
  async function jobOfAnn() {
    const harness = await startCron()
    harness.people.set('ann', { role: 'member', agents: ['clerk'] })
    const job = { agent: 'clerk', schedule: 'every 1m', message: 'x' }
    const { id } = await harness.cron.create(ann, job, noSignal)
    return { harness, id }
  }

  it("a member's job fires only while she may give its agent work", async () => {
    const { harness, id } = await jobOfAnn()
    await harness.tickAfter(minute)
    expect(harness.runs()).toMatchObject([{ origin: { kind: 'cron', user: 'human:ann@cli' } }])
    harness.end(harness.runs()[0]?.id ?? '')
    harness.people.set('ann', { role: 'viewer' })
    await harness.tickAfter(minute)
    harness.people.delete('ann')
    await harness.tickAfter(minute)
    expect(harness.runs()).toHaveLength(1)
    const why = harness.rows(id).map(({ detail }) => detail)
    expect(why.join(' | ')).toMatch(
      /ann, who created the job, lacks the permission: a viewer may read.*ann, who created the job, was removed/,
    )
  })

  it('jobs of a removed member are disabled and reported, and the person who enables one becomes its maker', async () => {
    const { harness, id } = await jobOfAnn()
    const mine = await harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'mine' })
    const told: { agentId: string; message: string }[] = []
    harness.fleetEvents.ownerNoticed.subscribe((note) => void told.push(note))
    harness.people.delete('ann')
    await switchOffJobsOf(harness.kernel, harness.jobs, 'ann')
    await switchOffJobsOf(harness.kernel, harness.jobs, 'ann')
    const enabled = () => harness.cron.list(owner).jobs.map((job) => [job.id, job.enabled])
    expect(enabled()).toEqual([
      [id, false],
      [mine.id, true],
    ])
    expect(told).toMatchObject([{ agentId: 'clerk', message: expect.stringContaining(id) }])
    const rows = harness.database
      .prepare("SELECT actor, subject FROM journal WHERE action = 'cron.paused'")
      .all()
    expect(rows).toEqual([{ actor: 'system', subject: id }])
    await harness.cron.update(owner, { id, change: { enabled: true } }, noSignal)
    expect(harness.cron.list(owner).jobs[0]).toMatchObject({ enabled: true, created_by: 'human:cli' })
    await harness.tickAfter(minute)
    expect(harness.runs()).toHaveLength(1)
  })

  it('jobs of a member who was removed during a downtime are disabled at start', async () => {
    const { harness, id } = await jobOfAnn()
    await switchOffJobsOfNobody(harness.kernel, harness.jobs)
    expect(harness.cron.list(owner).jobs).toMatchObject([{ id, enabled: true }])
    harness.people.delete('ann')
    await switchOffJobsOfNobody(harness.kernel, harness.jobs)
    expect(harness.cron.list(owner).jobs).toMatchObject([{ id, enabled: false }])
  })

  it("a member who changes what an owner's job does becomes its maker", async () => {
    const { harness } = await jobOfAnn()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'mine' })
    await harness.cron.update(ann, { id, change: { message: 'hers' } }, noSignal)
    expect(harness.cron.list(owner).jobs.find((job) => job.id === id)?.created_by).toBe('human:ann@cli')
  })
})

describe('the file of jobs', () => {
  it('the file is read within a tick after an edit by hand, and earlier due times have rows', async () => {
    const harness = await startCron()
    await writeByHand(harness, [aJob({ schedule: 'every 1h' })])
    await harness.cron.tick()
    await writeByHand(harness, [aJob({ schedule: '30 * * * *' }), aJob({ id: 'job-2', message: 'other' })])
    await harness.tickAfter(5000)
    expect(harness.cron.list(owner).jobs.map(({ schedule }) => schedule)).toEqual(['30 * * * *', 'every 1m'])
    await harness.tickAfter(30 * minute)
    expect(harness.rows('job-1')).toMatchObject([{ state: 'fired', dueAt: startOfTime + 30 * minute }])
  })

  it('a broken file leaves the last valid jobs in force, reports line and reason, and accepts no edit', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    const whole = await readFile(harness.path, 'utf8')
    await writeFile(harness.path, whole.replace('every 1m', '61 * * * *'))
    await harness.tickAfter(minute)
    expect(harness.cron.broken()).toMatch(/^config\/cron\.json line 6: jobs\.0\.schedule: .*61/)
    await harness.tickAfter(minute)
    expect(harness.rows(id)).toHaveLength(2)
    const refused = await problemOf(harness.add({ agent: 'clerk', schedule: 'every 1h', message: 'x' }))
    expect(refused.detail).toMatch(/repair it by hand first/)
    // A process that starts with it has no jobs, and keeps their history.
    const next = await harness.again()
    expect(next.cron.list(owner)).toMatchObject({ jobs: [], broken: expect.stringMatching(/line 6/) })
    await writeFile(harness.path, whole)
    await next.tickAfter(3 * minute)
    await next.tickAfter(0)
    expect(next.cron.broken()).toBeNull()
    expect(next.rows(id).at(-1)?.dueUntil).toBe(startOfTime + 5 * minute)
  })

  it('the file loses the jobs of a deleted agent, with their rows', async () => {
    const harness = await startCron()
    const { id } = await harness.add({ agent: 'clerk', schedule: 'every 1m', message: 'look' })
    await harness.tickAfter(minute)
    await harness.cron.forget('clerk')
    expect(harness.cron.list(owner).jobs).toEqual([])
    expect(harness.rows(id)).toEqual([])
    expect(await readFile(harness.path, 'utf8')).toBe('{\n  "jobs": []\n}\n')
  })
})
