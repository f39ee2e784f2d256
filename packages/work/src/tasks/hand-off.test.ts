import { isUnconfirmed } from '@flotilla/protocol/task-actions'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createListInbox, createListTasks } from './list-tasks.ts'
import { runLimits } from '../runs/index.ts'

async function aStartedHarness(): Promise<LedgerHarness> {
  const harness = aLedgerHarness()
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  await harness.clock.settle()
  return harness
}

const work = { title: 'count licences', description: 'all of them', data: { file: 'a.json' } }
const give = (harness: LedgerHarness, from: string, to: string) =>
  harness.handOff(harness.callerOf(from), { to, ...work })
const complete = (harness: LedgerHarness, agentId: string, taskId: string) =>
  harness.completeTask(harness.callerOf(agentId), {
    taskId,
    status: 'done',
    summary: 'seven',
    result: { count: 7 },
  })

/** The operator runs and has given one task to the worker, which runs too. */
async function aHandOff() {
  const harness = await aStartedHarness()
  const parent = harness.chat('operator')
  await harness.clock.settle()
  const given = give(harness, 'operator', 'worker')
  await harness.clock.settle()
  return { harness, parent, given, child: { id: given.run_id } }
}

const messagesTo = (harness: LedgerHarness, runId: string) =>
  harness.agents.sent.filter((sending) => sending.runId === runId).map((sending) => sending.message)

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

describe('a hand-off', () => {
  test('a hand-off parks its parent until the task is done, and the parent continues with the result', async () => {
    heedsLesson(126)
    verifies('resources:task-assignment:sender', 'purpose:mesh:routes-messages')
    const { harness, parent, given, child } = await aHandOff()
    harness.agents.finish('operator', { response: 'I asked the worker' })
    await harness.clock.settle()
    const parked = harness.ledger.queries.find(parent.id)!
    expect(harness.ledger.queries.view(parked)).toMatchObject({
      state: 'waiting',
      waiting_on: [given.task_id],
      outcome: null,
    })
    complete(harness, 'worker', given.task_id)
    await harness.clock.settle()
    expect(harness.state(child)).toBe('running')
    expect(harness.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1, attempt: 1 })
    expect(messagesTo(harness, parent.id)).toEqual([
      'hello',
      `Task ${given.task_id} "count licences", which you gave to worker, is done.\nSummary: seven\nResult (JSON): {"count":7}`,
    ])
    harness.agents.finish('worker')
    harness.agents.finish('operator', { response: 'there are seven' })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(parent.id)?.outcome?.text).toBe('there are seven')
    expect(harness.state(child)).toBe('done')
    expect(
      harness.ledger.delivery.outbox.ofRun(parent.id).map((note) => [note.recipient, note.state]),
    ).toEqual([
      [`run:${parent.id}`, 'delivered'],
      ['human:cli', 'pending'],
    ])
  })

  test('the parent of a hand-off frees its lane while it waits', async () => {
    const { harness } = await aHandOff()
    harness.agents.finish('operator')
    const other = harness.chat('operator', 'something else')
    await harness.clock.settle()
    expect(harness.state(other)).toBe('running')
  })

  test("a result that arrives during the parent's turn is given in the next turn, once", async () => {
    const { harness, parent, given } = await aHandOff()
    complete(harness, 'worker', given.task_id)
    harness.agents.finish('worker')
    await harness.clock.settle()
    expect(harness.state(parent)).toBe('running')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1 })
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)).toHaveLength(2)
    expect(harness.state(parent)).toBe('done')
  })

  test('a result that arrives while the parent is queued is given at that place', async () => {
    const { harness, parent, given } = await aHandOff()
    const second = give(harness, 'operator', 'other')
    await harness.clock.settle()
    harness.agents.finish('operator')
    harness.chat('operator', 'in between')
    await harness.clock.settle()
    complete(harness, 'worker', given.task_id)
    complete(harness, 'other', second.task_id)
    await harness.clock.settle()
    expect(harness.ledger.queries.find(parent.id)).toMatchObject({ state: 'queued', turn: 1 })
    harness.agents.finish('operator')
    await harness.clock.settle()
    const [, message] = messagesTo(harness, parent.id)
    expect(message).toContain(given.task_id)
    expect(message).toContain(second.task_id)
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.state(parent)).toBe('done')
  })

  test('a parent that is interrupted in the turn with the result gets the same input again, as the same turn', async () => {
    const { harness, parent, given } = await aHandOff()
    harness.agents.finish('operator')
    await harness.clock.settle()
    complete(harness, 'worker', given.task_id)
    await harness.clock.settle()
    harness.agents.die('operator')
    await harness.clock.advance(10_000)
    const messages = messagesTo(harness, parent.id)
    expect(messages).toHaveLength(3)
    expect(messages[2]).toBe(messages[1])
    expect(harness.ledger.queries.find(parent.id)).toMatchObject({ turn: 1, attempt: 2 })
  })

  test('a parent that is interrupted while more results arrive gets those in a turn of their own', async () => {
    const { harness, parent, given } = await aHandOff()
    const second = give(harness, 'operator', 'other')
    await harness.clock.settle()
    harness.agents.finish('operator')
    await harness.clock.settle()
    complete(harness, 'worker', given.task_id)
    await harness.clock.settle()
    harness.agents.die('operator')
    await harness.clock.settle()
    complete(harness, 'other', second.task_id)
    await harness.clock.advance(10_000)
    harness.agents.finish('operator')
    await harness.clock.settle()
    const messages = messagesTo(harness, parent.id)
    expect(
      messages.map((message) => [message.includes(given.task_id), message.includes(second.task_id)]),
    ).toEqual([
      [false, false],
      [true, false],
      [true, false],
      [false, true],
    ])
  })

  test('a result that was not read when the parent failed leaves a visible note', async () => {
    const { harness, parent, given } = await aHandOff()
    complete(harness, 'worker', given.task_id)
    harness.agents.finish('operator', { status: 'failed', error: { code: 'model-failed', detail: 'no' } })
    await harness.clock.settle()
    expect(harness.state(parent)).toBe('failed')
    expect(harness.ledger.delivery.outbox.open(10)).toContainEqual(
      expect.objectContaining({ recipient: `run:${parent.id}`, state: 'undeliverable' }),
    )
  })

  test('a hand-off notifies its parent once, however often the event is repeated', async () => {
    const { harness, parent, given } = await aHandOff()
    harness.agents.finish('operator')
    await harness.clock.settle()
    complete(harness, 'worker', given.task_id)
    const note = {
      kind: 'task-reminder',
      taskId: given.task_id,
      title: 'again',
    } as const
    harness.ledger.delivery.notifyRun(parent.id, `task:${given.task_id}:done`, note)
    await harness.clock.settle()
    harness.agents.finish('operator')
    await harness.clock.settle()
    harness.ledger.delivery.notifyRun(parent.id, `task:${given.task_id}:done`, note)
    expect(harness.state(parent)).toBe('done')
    expect(messagesTo(harness, parent.id)).toHaveLength(2)
    expect(harness.ledger.delivery.outbox.ofRun(parent.id).map((row) => row.state)).toEqual([
      'delivered',
      'pending',
    ])
  })

  test('an old answer of the agent does not end a later turn', async () => {
    const { harness, parent, given } = await aHandOff()
    harness.agents.finish('operator', { response: 'old' })
    await harness.clock.settle()
    const { ensureRunning } = harness.agents
    harness.agents.ensureRunning = (_agentId, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    complete(harness, 'worker', given.task_id)
    await harness.clock.settle()
    expect(harness.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1 })
    const again = await harness.restarted()
    onTestFinished(() => again.ledger.close())
    again.agents.ensureRunning = ensureRunning
    again.ledger.start()
    await again.clock.advance(10_000)
    expect(again.ledger.queries.find(parent.id)).toMatchObject({
      state: 'running',
      turn: 1,
      attempt: 2,
      outcome: null,
    })
  })

  test('a hand-off to an unreachable agent counts as started only once it is reachable', async () => {
    heedsLesson(45)
    const harness = await aStartedHarness()
    harness.chat('operator')
    await harness.clock.settle()
    harness.agents.startFault = new Problem('agent-quarantined')
    const given = give(harness, 'operator', 'worker')
    await harness.clock.advance(20_000)
    expect(harness.taskTable.find(given.task_id)?.state).toBe('pending')
    harness.agents.startFault = null
    await harness.clock.advance(20_000)
    expect(harness.taskTable.find(given.task_id)?.state).toBe('working')
    complete(harness, 'worker', given.task_id)
    expect(harness.taskTable.find(given.task_id)?.state).toBe('done')
  })

  test('a hand-off is blocked when its run is lost three times, and the parent is notified', async () => {
    heedsLesson(45)
    const { harness, parent, given } = await aHandOff()
    harness.agents.finish('operator')
    for (let count = 0; count < 3; count++) {
      harness.agents.die('worker')
      await harness.clock.advance(10_000)
    }
    expect(harness.taskTable.find(given.task_id)).toMatchObject({ state: 'blocked' })
    expect(messagesTo(harness, parent.id)[1]).toContain('is blocked')
  })

  test('an assignee that ends without complete_task is reminded once, and then its last words are the unconfirmed result', async () => {
    heedsLesson(46)
    const { harness, parent, given, child } = await aHandOff()
    harness.agents.finish('operator')
    harness.agents.finish('worker', { response: 'I think it is seven' })
    await harness.clock.settle()
    expect(messagesTo(harness, child.id)[1]).toContain('Call complete_task now')
    harness.agents.finish('worker', { response: 'seven, really' })
    await harness.clock.settle()
    const task = harness.taskTable.find(given.task_id)
    expect(task).toMatchObject({ state: 'done', result: null })
    expect(task?.summary).toMatch(/^Unconfirmed \(.*seven, really$/)
    expect(task && isUnconfirmed(task)).toBe(true)
    expect(task && isUnconfirmed({ ...task, outcome: 'accepted' })).toBe(false)
    expect(messagesTo(harness, parent.id)[1]).toContain('Unconfirmed')
  })

  test('an assignee that ends without complete_task and without a word fails its task', async () => {
    heedsLesson(47)
    const { harness, given } = await aHandOff()
    for (const response of ['I think it is seven', ' ']) {
      harness.agents.finish('worker', { response })
      await harness.clock.settle()
    }
    expect(harness.taskTable.find(given.task_id)).toMatchObject({
      state: 'failed',
      summary: 'The agent ended without complete_task and without an answer.',
    })
  })

  test('a blocked hand-off notifies its parent at once and is not waited for', async () => {
    const { harness, parent, given, child } = await aHandOff()
    harness.completeTask(harness.callerOf('worker'), {
      taskId: given.task_id,
      status: 'blocked',
      summary: 'no access',
      result: null,
    })
    harness.agents.finish('worker')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)[1]).toContain('is blocked')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect([parent, child].map(harness.state)).toEqual(['done', 'done'])
    expect(harness.taskTable.find(given.task_id)?.state).toBe('blocked')
  })

  test('a hand-off whose parent has ended leaves a visible note', async () => {
    const { harness, parent, given } = await aHandOff()
    harness.agents.finish('operator', { status: 'failed', error: { code: 'model-failed', detail: 'no' } })
    await harness.clock.settle()
    complete(harness, 'worker', given.task_id)
    expect(harness.state(parent)).toBe('failed')
    expect(harness.ledger.delivery.outbox.open(10)).toContainEqual(
      expect.objectContaining({ recipient: `run:${parent.id}`, state: 'undeliverable' }),
    )
  })

  test('a hand-off is cancelled with its parent, and its agent is stopped', async () => {
    const { harness, parent, given, child } = await aHandOff()
    harness.ledger.lifecycle.cancelRun(person, parent.id)
    await harness.clock.settle()
    expect([parent, child].map(harness.state)).toEqual(['cancelled', 'cancelled'])
    expect(harness.taskTable.find(given.task_id)?.state).toBe('cancelled')
    expect(harness.agents.cancelled.sort()).toEqual([parent.id, child.id].sort())
  })

  test('a parent that waits for more than seven days ends as expired, with its text', async () => {
    const { harness, parent } = await aHandOff()
    harness.agents.finish('operator', { response: 'I asked the worker' })
    await harness.clock.settle()
    const longAgo = harness.clock.now() - runLimits.waitingMaxMs
    harness.database.exec(`UPDATE runs SET waiting_since = ${longAgo + 1500} WHERE id = '${parent.id}'`)
    await harness.clock.advance(1000)
    expect(harness.state(parent)).toBe('waiting')
    await harness.clock.advance(1000)
    expect(harness.ledger.queries.find(parent.id)?.outcome).toMatchObject({
      status: 'expired',
      code: 'expired',
    })
    expect(harness.ledger.queries.find(parent.id)?.outcome?.text).toContain('I asked the worker')
  })

  test('a repeated key returns the same task, also after fifty attempts', async () => {
    const harness = await aStartedHarness()
    harness.chat('operator')
    await harness.clock.settle()
    const replies = await Promise.all(
      Array.from({ length: 50 }, async () =>
        harness.handOff(harness.callerOf('operator'), { to: 'worker', ...work, idempotencyKey: 'run_1:3' }),
      ),
    )
    expect(new Set(replies.map((reply) => reply.task_id)).size).toBe(1)
    expect(harness.taskTable.list({ limit: 100 })).toHaveLength(1)
    const other = { to: 'worker', ...work, title: 'other', idempotencyKey: 'run_1:3' }
    expect(codeOf(() => harness.handOff(harness.callerOf('operator'), other))).toBe('conflict')
  })

  test('a hand-off to a busy agent waits in its lane and starts when it is free', async () => {
    heedsLesson(54)
    const harness = await aStartedHarness()
    const before = harness.chat('worker')
    harness.chat('operator')
    await harness.clock.settle()
    const given = give(harness, 'operator', 'worker')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.taskTable.find(given.task_id)?.state).toBe('pending')
    expect([before, { id: given.run_id }].map(harness.state)).toEqual(['running', 'queued'])
    harness.agents.finish('worker')
    await harness.clock.settle()
    expect(harness.taskTable.find(given.task_id)?.state).toBe('working')
    expect([before, { id: given.run_id }].map(harness.state)).toEqual(['done', 'running'])
  })

  test('a hand-off to an agent that cannot start is kept and done later, without being repeated', async () => {
    heedsLesson(45)
    const harness = await aStartedHarness()
    const parent = harness.chat('operator')
    await harness.clock.settle()
    harness.agents.startFault = new Problem('agent-unavailable', { detail: 'no image' })
    const given = give(harness, 'operator', 'worker')
    expect(given.state).toBe('pending')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.agents.working('worker')).toBeNull()
    harness.agents.startFault = null
    await harness.clock.advance(10_000)
    complete(harness, 'worker', given.task_id)
    harness.agents.finish('worker')
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)[1]).toContain(`Task ${given.task_id}`)
    expect(messagesTo(harness, parent.id)[1]).toContain('is done')
    expect(harness.taskTable.list({ limit: 10 })).toHaveLength(1)
  })

  test('a hand-off to an ancestor is rejected and stores nothing', async () => {
    const { harness } = await aHandOff()
    expect(codeOf(() => give(harness, 'worker', 'operator'))).toBe('hand-off-refused')
    expect(codeOf(() => give(harness, 'worker', 'worker'))).toBe('hand-off-refused')
    expect(harness.ledger.queries.list({ limit: 10 })).toHaveLength(2)
    expect(harness.taskTable.list({ limit: 10 })).toHaveLength(1)
  })

  test('a hand-off at a depth of eight is rejected', async () => {
    const harness = await aStartedHarness()
    harness.chat('a0')
    await harness.clock.settle()
    for (let depth = 1; depth <= runLimits.handOffDepthMax; depth++) {
      give(harness, `a${depth - 1}`, `a${depth}`)
      await harness.clock.settle()
    }
    expect(codeOf(() => give(harness, 'a8', 'a9'))).toBe('hand-off-refused')
  })

  test('a hand-off of a replaced run is rejected', async () => {
    const { harness } = await aHandOff()
    const stale = harness.callerOf('operator')
    harness.agents.die('operator')
    await harness.clock.advance(5000)
    expect(codeOf(() => harness.handOff(stale, { to: 'other', ...work }))).toBe('stale-fence')
  })
})

describe('complete_task', () => {
  test("complete_task waits for the task's own hand-offs and gets their results", async () => {
    const { harness, parent, given, child } = await aHandOff()
    const below = give(harness, 'worker', 'other')
    expect(codeOf(() => complete(harness, 'worker', given.task_id))).toBe('conflict')
    harness.agents.finish('worker')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect([parent, child].map(harness.state)).toEqual(['waiting', 'waiting'])
    complete(harness, 'other', below.task_id)
    harness.agents.finish('other')
    await harness.clock.settle()
    const message = messagesTo(harness, child.id)[1]
    expect(message).toContain(`Task ${below.task_id}`)
    expect(message).toContain(`You work on your own task ${given.task_id}`)
    expect(complete(harness, 'worker', given.task_id).state).toBe('done')
    harness.agents.finish('worker')
    await harness.clock.settle()
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect([parent, child].map(harness.state)).toEqual(['done', 'done'])
  })

  test('complete_task is only for the assignee', async () => {
    const { harness, given } = await aHandOff()
    expect(codeOf(() => complete(harness, 'operator', given.task_id))).toBe('not-found')
    expect(codeOf(() => complete(harness, 'worker', 'task_none'))).toBe('not-found')
  })

  test('a repeated complete_task has no effect, and a different result is a conflict', async () => {
    const { harness, parent, given } = await aHandOff()
    complete(harness, 'worker', given.task_id)
    expect(complete(harness, 'worker', given.task_id).state).toBe('done')
    const failed = { taskId: given.task_id, status: 'failed', summary: 'no', result: null } as const
    expect(codeOf(() => harness.completeTask(harness.callerOf('worker'), failed))).toBe('conflict')
    expect(harness.ledger.delivery.outbox.ofRun(parent.id)).toHaveLength(1)
  })
})

describe('the end of a task', () => {
  const ends = ['done', 'failed', 'blocked'] as const
  test.each<readonly [string, readonly string[]]>([
    ['pending', ends],
    ['accepted', ends],
    ['working', ends],
    // A blocked task stays open until its question is answered, whatever else its agent reports.
    ['blocked', []],
    ['done', []],
    ['failed', []],
    ['cancelled', []],
  ])('a task that is %s allows %j, at the API as in the table', async (state, allowed) => {
    heedsLesson(51)
    for (const status of ends) {
      const { harness, given } = await aHandOff()
      harness.database.prepare('UPDATE tasks SET state = ? WHERE id = ?').run(state, given.task_id)
      const said = { taskId: given.task_id, status, summary: 'in other words', result: null }
      const code = codeOf(() => harness.completeTask(harness.callerOf('worker'), said))
      expect([status, code]).toEqual([status, allowed.includes(status) ? 'no problem' : 'conflict'])
    }
  })

  test('completing a task keeps earlier fields that it does not name', async () => {
    heedsLesson(56)
    const { harness, given } = await aHandOff()
    const say = (status: 'blocked' | 'done', summary: string, result: JsonValue) =>
      harness.completeTask(harness.callerOf('worker'), { taskId: given.task_id, status, summary, result })
    say('blocked', 'no access', { read: 3 })
    const note = 'you have it now'
    harness.tasks.manageTask(harness.callerOf('operator'), { taskId: given.task_id, action: 'answer', note })
    harness.agents.finish('worker')
    await harness.clock.settle()
    expect(say('done', 'had access after all', null)).toMatchObject({
      ...work,
      creator: 'operator',
      summary: 'had access after all',
      result: { read: 3 },
    })
  })
})

describe('lists of tasks', () => {
  test('the inbox contains open tasks of the agent and all that it gave', async () => {
    heedsLesson(44)
    const { harness, parent, given, child } = await aHandOff()
    const listInbox = createListInbox({ table: harness.taskTable, guard: harness.guard })
    const ids = (tasks: readonly { readonly id: string }[]) => tasks.map((task) => task.id)
    expect(listInbox(harness.callerOf('worker')).assigned).toMatchObject([
      { id: given.task_id, run_id: child.id, parent_run_id: parent.id, creator: 'operator', ...work },
    ])
    complete(harness, 'worker', given.task_id)
    expect(listInbox(harness.callerOf('worker')).assigned).toEqual([])
    expect(ids(listInbox(harness.callerOf('operator')).given)).toEqual([given.task_id])
  })

  test('the inbox contains the fifty newest of each kind, and the failure of an older task still notifies its creator', async () => {
    heedsLesson(55)
    const { harness, parent, given } = await aHandOff()
    const others = Array.from({ length: 60 }, (_, other) => give(harness, 'operator', `a${other}`))
    await harness.clock.settle()
    const failed = { taskId: given.task_id, status: 'failed', summary: 'no access', result: null } as const
    harness.completeTask(harness.callerOf('worker'), failed)
    const listInbox = createListInbox({ table: harness.taskTable, guard: harness.guard })
    const inbox = listInbox(harness.callerOf('operator'))
    expect(inbox.given).toHaveLength(50)
    expect(inbox.given.map((task) => task.assignee)).toEqual(
      Array.from({ length: 50 }, (_, newer) => `a${59 - newer}`),
    )
    for (const [other, { task_id }] of others.entries()) complete(harness, `a${other}`, task_id)
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)[1]).toMatch(new RegExp(`Task ${given.task_id} .* is failed`))
  })

  test('people can list all tasks or those of one agent', async () => {
    const { harness } = await aHandOff()
    const listTasks = createListTasks({ table: harness.taskTable, guard: harness.guard })
    expect(listTasks(person, { limit: 10 })).toHaveLength(1)
    expect(listTasks(person, { agentId: 'nobody', limit: 10 })).toEqual([])
  })
})
