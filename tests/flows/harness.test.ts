import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { blackboardHumanEndpoints } from '@flotilla/protocol/blackboard-api'
import { journalEndpoints } from '@flotilla/protocol/journal-api'
import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { fillPath } from '@flotilla/protocol/endpoint'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { headers } from '@flotilla/protocol/headers'
import { chatStreamFrameSchema, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff, says } from '../support/cassettes.ts'
import { readEvents } from '../support/sse-reader.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { layPolicy } from '../support/lay-policy.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const program = join(repositoryRoot, 'tests', 'support', 'acp-harness.mjs')
const harness = { command: [process.execPath, program] }

interface PendingList {
  readonly pending: readonly ApprovalView[]
}

const day = aCassette(
  ...operatorHandsOff({
    when: '^delegate$',
    to: 'coder',
    title: 'Build it',
    description: '[[run echo built > made ;; mesh complete_task {"summary":"It is built."}]]',
    capture: { built: 'Summary: (.*)' },
    answer: 'The coder says: {{built}}',
  }),
  {
    agents: ['helper'],
    when: 'Count the lines',
    turns: [calls('complete_task', { summary: 'There are 7 lines.' })],
  },
  { when: '^what is it\\?$', turns: [says('It is a model.')] },
)

describe('an agent that a harness drives', () => {
  let mesh: MeshProcess
  beforeAll(async () => {
    mesh = await startMesh({
      cassettes: { day },
      settings: {
        restarts_per_hour: 1000,
        agents: { coder: { harness }, other: { harness }, fresh: { harness } },
      },
    })
    await mesh.createWorker('coder')
    await mesh.createWorker('other')
    await mesh.createWorker('helper')
    await editPermissions(mesh, 'coder', {
      can_route_tasks: true,
      blackboard_write: ['notes/*'],
      blackboard_read: ['notes/*'],
      can_message: ['operator', 'helper'],
    })
  })
  afterAll(() => mesh?.stop())

  const ask = (session: string, ...lines: readonly string[]) =>
    mesh.ask(lines.join('\n'), { agent: 'coder', session })
  const dataFile = (name: string) => readFile(join(mesh.dataOf('coder'), name), 'utf8')

  it('a person talks to the harness, and its model calls are calls of the run', async () => {
    const run = await ask('talk', 'say The answer: ', 'model scripted/day what is it?')
    expect(run).toMatchObject({ state: 'done', outcome: { text: 'The answer: It is a model.' } })
    expect(run.tokens_used).toBeGreaterThan(0)
  })

  describe('that reports tokens of its turns', () => {
    const turn = (tokens: number) =>
      `usage ${JSON.stringify({ usage: { totalTokens: tokens, inputTokens: tokens - 5, outputTokens: 5 } })}`

    it('has those of calls through the mesh counted once', async () => {
      const run = await ask('booked', 'model scripted/day what is it?', turn(6))
      expect(run.tokens_used).toBeGreaterThan(6)
      expect(run.reported_tokens).toBe(0)
    })

    it('has those of its own account counted without a price, in its run, its trace and the costs', async () => {
      const { id, ...run } = await ask('own', 'say Done.', turn(1500))
      expect(run).toMatchObject({ tokens_used: 1500, reported_tokens: 1500, cost_usd: 0 })
      const shown = async (...words: string[]) => (await flotilla(mesh, ...words)).out
      expect(await shown('runs', id)).toContain('1500 of these tokens reported by the harness, unpriced')
      expect(await shown('trace', id)).toMatch(/reported by the harness, unpriced .* 1495 → 5 tokens/)
      const costs = await shown('costs', '--by', 'model')
      expect(costs).toContain('Of that 1500 tokens reported by the harness, unpriced')
      expect(costs).toMatch(/^reported by the harness, unpriced +unpriced .* 1 +1495 +5 +1500/m)
    })
  })

  it('the first run of an agent lists the files that the harness changed, and none that were laid for it', async () => {
    await mesh.createWorker('fresh')
    const reader = await readEvents({
      method: 'POST',
      url: `${mesh.url}${fillPath(meshHumanEndpoints.chat.path, { id: 'fresh' })}`,
      headers: { [headers.requestedWith]: 'test', 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'run echo mine > mine.txt\nsay Done.', session: 'first' }),
    })
    const changed: FleetEventBody[] = []
    for (;;) {
      const frame = chatStreamFrameSchema.parse((await reader.next(60_000)).data)
      if (frame.type === 'ended') break
      if (frame.type === 'event' && frame.event.type === 'files.changed') changed.push(frame.event)
    }
    expect(changed).toMatchObject([{ files: [{ path: 'mine.txt', change: 'made' }], unlisted: 0 }])
  })

  it('no key of the owner is inside, and the harness gets no variable of the mesh', async () => {
    const run = await ask('keys', 'env FLOTILLA_HARNESS', 'say |', 'env FLOTILLA_MESH_PUBLIC_KEY')
    expect(run.outcome?.text).toBe('(not set)|(not set)')
  })

  it('a conversation continues in the session of the harness', async () => {
    await ask('long', 'say One.')
    const run = await ask('long', 'history')
    expect(JSON.parse(run.outcome?.text ?? '')).toMatchObject({ before: 1 })
  })

  it('the harness works on a task that the operator handed to it, and completes it', async () => {
    const run = await mesh.ask('delegate')
    const whole = await mesh.ended(run.id)
    const answer = await eventually('the operator answers', async () => {
      const told = (await mesh.runs()).find(({ outcome }) => outcome?.text?.startsWith('The coder says'))
      return told ?? (whole.outcome?.text?.startsWith('The coder says') === true ? whole : null)
    })
    expect(answer.outcome?.text).toBe('The coder says: It is built.')
    expect(await dataFile('made')).toBe('built\n')
  })

  it('the harness hands work to another agent, and gets the result in its next turn', async () => {
    const handOff = { to: 'helper', title: 'Count', description: 'Count the lines' }
    const run = await ask('hand', `mesh hand_off ${JSON.stringify(handOff)}`, 'say Wait.')
    const ended = await mesh.ended(run.id)
    expect(ended).toMatchObject({ state: 'done' })
    expect(ended.outcome?.text).toContain('There are 7 lines.')
  })

  it('a cancelled run ends, and the harness with it', async () => {
    const id = await mesh.submit(['run echo $PPID > pid', 'wait'].join('\n'), {
      agent: 'coder',
      session: 'cancel',
    })
    const pid = await eventually(
      'the harness works',
      async () => Number(await dataFile('pid').catch(() => '')) || null,
    )
    await mesh.call(meshHumanEndpoints.runCancel, { params: { id } })
    expect(await mesh.ended(id)).toMatchObject({ state: 'cancelled' })
    await eventually('the harness has ended', async () => !isAlive(pid) || null)
  })

  it('the owner’s policy refuses a kind of call, and the refusal is recorded', async () => {
    await layPolicy(
      mesh,
      'rules:\n  - { name: no-programs, match: { agent: other, tool: harness_execute }, verdict: deny, reason: No programs. }\n',
      'no-programs',
    )
    const run = await mesh.ask('run touch made\nsay End.', { agent: 'other' })
    expect(run.outcome?.text).toBe('End.')
    const journal = await mesh.call(journalEndpoints.journalExport)
    expect(journal.text).toContain('harness.refused')
    expect(journal.text).toContain('harness.permitted')
  })

  describe('a call that a rule asks about', () => {
    const openApprovals = async () => {
      const reply = await mesh.call(controlEndpoints.pending, { query: { state: 'open', limit: 100 } })
      return (reply.json() as unknown as PendingList).pending
    }
    const asked = async () =>
      eventually('a person is asked', async () => {
        const open = await openApprovals()
        return open[0] ?? null
      })
    const confirm = async ({ id, digest }: ApprovalView) =>
      mesh.call(controlEndpoints.pendingConfirm, { params: { id }, body: { digest } })

    beforeAll(async () => {
      await layPolicy(
        mesh,
        'rules:\n  - { name: ask-programs, match: { agent: other, tool: harness_execute }, verdict: ask, reason: It runs. }\n',
        'ask-programs',
      )
    })

    it('waits for a person over a killed mesh, is asked about once, and is made once', async () => {
      const id = await mesh.submit('run echo x >> asked-once\nsay End.', { agent: 'other' })
      const approval = await asked()
      expect(approval).toMatchObject({ kind: 'harness-call', subject: 'other', run_id: id })
      await mesh.kill9()
      await mesh.restart()
      expect(await openApprovals()).toMatchObject([{ id: approval.id }])
      expect((await confirm(approval)).status).toBe(200)
      expect(await mesh.ended(id)).toMatchObject({ state: 'done', outcome: { text: 'End.' } })
      expect(await readFile(join(mesh.dataOf('other'), 'asked-once'), 'utf8')).toBe('x\n')
      expect(await openApprovals()).toEqual([])
    })

    it('waits for a person over a killed agent, and is asked about once', async () => {
      const id = await mesh.submit('run echo x >> asked-again\nsay End.', { agent: 'other', session: 'two' })
      const approval = await asked()
      for (const { pid, agentId } of await mesh.agentProcesses())
        if (agentId === 'other' && isAlive(pid)) process.kill(pid, 'SIGKILL')
      await eventually('the run is interrupted', async () => (await mesh.run(id)).attempt === 2)
      expect((await confirm(approval)).status).toBe(200)
      expect(await mesh.ended(id)).toMatchObject({ state: 'done', outcome: { text: 'End.' } })
      expect(await readFile(join(mesh.dataOf('other'), 'asked-again'), 'utf8')).toBe('x\n')
      expect(await openApprovals()).toEqual([])
    })

    it('is refused if the person rejects it', async () => {
      const id = await mesh.submit('run touch rejected\nsay End.', { agent: 'other', session: 'three' })
      const approval = await asked()
      await mesh.call(controlEndpoints.pendingCancel, { params: { id: approval.id } })
      expect(await mesh.ended(id)).toMatchObject({ state: 'done', outcome: { text: 'End.' } })
      await expect(readFile(join(mesh.dataOf('other'), 'rejected'))).rejects.toThrow('ENOENT')
    })

    it('is withdrawn if its run is cancelled', async () => {
      const id = await mesh.submit('run touch cancelled', { agent: 'other', session: 'four' })
      await asked()
      await mesh.call(meshHumanEndpoints.runCancel, { params: { id } })
      expect(await mesh.ended(id)).toMatchObject({ state: 'cancelled' })
      expect(await openApprovals()).toEqual([])
    })
  })

  it('after the mesh and the agent are killed in the middle of a prompt, no effect is lost or repeated', async () => {
    const write = { key: 'notes/once', value: 'first' }
    const id = await mesh.submit(
      [
        `mesh write_blackboard ${JSON.stringify(write)}`,
        'run echo ran >> ran',
        'until go',
        `mesh write_blackboard ${JSON.stringify(write)}`,
        'say Whole.',
      ].join('\n'),
      { agent: 'coder', session: 'crash' },
    )
    await eventually('the harness works', async () =>
      (await dataFile('ran').catch(() => '')) !== '' ? true : null,
    )
    await mesh.kill9()
    for (const { pid } of await mesh.agentProcesses()) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    await writeFile(join(mesh.dataOf('coder'), 'go'), '')
    await mesh.restart()
    const run = await mesh.ended(id)
    expect(run).toMatchObject({ state: 'done' })
    expect(run.outcome?.text).toMatch(/^\[write_blackboard\].*Whole\.$/s)
    const entry = await mesh.call(blackboardHumanEndpoints.blackboardHistory, { params: { key: write.key } })
    // The run writes twice; the first write was made before the kill and is not made again.
    expect(entry.json(), entry.text).toMatchObject({ entry: { version: 2 } })
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
