import type { JsonValue } from '@flotilla/protocol/json-value'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import { aLedgerHarness, person } from '../testing/ledger-harness.ts'
import type { LedgerHarness } from '../testing/ledger-harness.ts'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { createListInbox, createListTasks } from './list-tasks.ts'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((world) => world.ledger.close()))
})

async function aStartedHarness(): Promise<LedgerHarness> {
  const world = aLedgerHarness()
  opened.push(world)
  world.ledger.start()
  await world.clock.settle()
  return world
}

const work = { title: 'count licences', description: 'all of them', data: { file: 'a.json' } }
const give = (world: LedgerHarness, from: string, to: string) =>
  world.handOff(world.callerOf(from), { to, ...work })
const complete = (world: LedgerHarness, agentId: string, taskId: string) =>
  world.completeTask(world.callerOf(agentId), {
    taskId,
    status: 'done',
    summary: 'seven',
    result: { count: 7 },
  })

/** The operator runs, and has given one task to the worker, which runs too. */
async function aHandOff() {
  const world = await aStartedHarness()
  const parent = world.chat('operator')
  await world.clock.settle()
  const given = give(world, 'operator', 'worker')
  await world.clock.settle()
  return { world, parent, given, child: { id: given.run_id } }
}

const messagesTo = (world: LedgerHarness, runId: string) =>
  world.agents.sent.filter((sending) => sending.runId === runId).map((sending) => sending.message)

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

describe('a hand-off', () => {
  test('parks its asker until the task is done, then the asker goes on with the result', async () => {
    heedsLesson(126)
    verifies('resources:task-assignment:sender', 'purpose:mesh:routes-messages')
    const { world, parent, given, child } = await aHandOff()
    world.agents.finish('operator', { response: 'I asked the worker' })
    await world.clock.settle()
    const parked = world.ledger.queries.find(parent.id)!
    expect(world.ledger.queries.view(parked)).toMatchObject({
      state: 'waiting',
      waiting_on: [given.task_id],
      outcome: null,
    })
    complete(world, 'worker', given.task_id)
    await world.clock.settle()
    expect(world.state(child)).toBe('running')
    expect(world.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1, attempt: 1 })
    expect(messagesTo(world, parent.id)).toEqual([
      'hello',
      `Task ${given.task_id} "count licences", which you gave to worker, is done.\nSummary: seven\nResult (JSON): {"count":7}`,
    ])
    world.agents.finish('worker')
    world.agents.finish('operator', { response: 'there are seven' })
    await world.clock.settle()
    expect(world.ledger.queries.find(parent.id)?.outcome?.text).toBe('there are seven')
    expect(world.state(child)).toBe('done')
    expect(world.ledger.delivery.outbox.ofRun(parent.id).map((note) => [note.recipient, note.state])).toEqual(
      [
        [`run:${parent.id}`, 'delivered'],
        ['human:cli', 'pending'],
      ],
    )
  })

  test('frees the lane of its asker while it waits', async () => {
    const { world } = await aHandOff()
    world.agents.finish('operator')
    const other = world.chat('operator', 'something else')
    await world.clock.settle()
    expect(world.state(other)).toBe('running')
  })

  test('whose result comes before the turn of the asker ends is given in the next turn, once', async () => {
    const { world, parent, given } = await aHandOff()
    complete(world, 'worker', given.task_id)
    world.agents.finish('worker')
    await world.clock.settle()
    expect(world.state(parent)).toBe('running')
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1 })
    world.agents.finish('operator')
    await world.clock.settle()
    expect(messagesTo(world, parent.id)).toHaveLength(2)
    expect(world.state(parent)).toBe('done')
  })

  test('whose result comes while the asker is queued again is given at its place', async () => {
    const { world, parent, given } = await aHandOff()
    const second = give(world, 'operator', 'other')
    await world.clock.settle()
    world.agents.finish('operator')
    world.chat('operator', 'in between')
    await world.clock.settle()
    complete(world, 'worker', given.task_id)
    complete(world, 'other', second.task_id)
    await world.clock.settle()
    expect(world.ledger.queries.find(parent.id)).toMatchObject({ state: 'queued', turn: 1 })
    world.agents.finish('operator')
    await world.clock.settle()
    const [, message] = messagesTo(world, parent.id)
    expect(message).toContain(given.task_id)
    expect(message).toContain(second.task_id)
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.state(parent)).toBe('done')
  })

  test('whose asker is cut off in the turn with the result gets the same words again, as the same turn', async () => {
    const { world, parent, given } = await aHandOff()
    world.agents.finish('operator')
    await world.clock.settle()
    complete(world, 'worker', given.task_id)
    await world.clock.settle()
    world.agents.die('operator')
    await world.clock.advance(10_000)
    const messages = messagesTo(world, parent.id)
    expect(messages).toHaveLength(3)
    expect(messages[2]).toBe(messages[1])
    expect(world.ledger.queries.find(parent.id)).toMatchObject({ turn: 1, attempt: 2 })
  })

  test('whose asker is cut off while more results come hears those in a turn of their own', async () => {
    const { world, parent, given } = await aHandOff()
    const second = give(world, 'operator', 'other')
    await world.clock.settle()
    world.agents.finish('operator')
    await world.clock.settle()
    complete(world, 'worker', given.task_id)
    await world.clock.settle()
    world.agents.die('operator')
    await world.clock.settle()
    complete(world, 'other', second.task_id)
    await world.clock.advance(10_000)
    world.agents.finish('operator')
    await world.clock.settle()
    const messages = messagesTo(world, parent.id)
    expect(
      messages.map((message) => [message.includes(given.task_id), message.includes(second.task_id)]),
    ).toEqual([
      [false, false],
      [true, false],
      [true, false],
      [false, true],
    ])
  })

  test('whose result came and was not read when the asker failed leaves a note that stays visible', async () => {
    const { world, parent, given } = await aHandOff()
    complete(world, 'worker', given.task_id)
    world.agents.finish('operator', { status: 'failed', error: { code: 'model-failed', detail: 'no' } })
    await world.clock.settle()
    expect(world.state(parent)).toBe('failed')
    expect(world.ledger.delivery.outbox.open(10)).toContainEqual(
      expect.objectContaining({ recipient: `run:${parent.id}`, state: 'undeliverable' }),
    )
  })

  test('tells its asker once, however often the same is told', async () => {
    const { world, parent, given } = await aHandOff()
    world.agents.finish('operator')
    await world.clock.settle()
    complete(world, 'worker', given.task_id)
    const note = {
      kind: 'task-reminder',
      taskId: given.task_id,
      title: 'again',
    } as const
    world.ledger.delivery.notifyRun(parent.id, `task:${given.task_id}:done`, note)
    await world.clock.settle()
    world.agents.finish('operator')
    await world.clock.settle()
    world.ledger.delivery.notifyRun(parent.id, `task:${given.task_id}:done`, note)
    expect(world.state(parent)).toBe('done')
    expect(messagesTo(world, parent.id)).toHaveLength(2)
    expect(world.ledger.delivery.outbox.ofRun(parent.id).map((row) => row.state)).toEqual([
      'delivered',
      'pending',
    ])
  })

  test('an old answer of the agent does not end the turn that came after it', async () => {
    const { world, parent, given } = await aHandOff()
    world.agents.finish('operator', { response: 'old' })
    await world.clock.settle()
    const { ensureRunning } = world.agents
    world.agents.ensureRunning = (_agentId, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    complete(world, 'worker', given.task_id)
    await world.clock.settle()
    expect(world.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1 })
    const again = await world.restarted()
    opened.push(again)
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

  test('of an agent that cannot be reached now is no work that began, until it is', async () => {
    heedsLesson(45)
    const world = await aStartedHarness()
    world.chat('operator')
    await world.clock.settle()
    world.agents.startFault = new Problem('agent-quarantined')
    const given = give(world, 'operator', 'worker')
    await world.clock.advance(20_000)
    expect(world.taskTable.find(given.task_id)?.state).toBe('pending')
    world.agents.startFault = null
    await world.clock.advance(20_000)
    expect(world.taskTable.find(given.task_id)?.state).toBe('working')
    complete(world, 'worker', given.task_id)
    expect(world.taskTable.find(given.task_id)?.state).toBe('done')
  })

  test('is blocked when its run is lost three times, and the asker is told', async () => {
    heedsLesson(45)
    const { world, parent, given } = await aHandOff()
    world.agents.finish('operator')
    for (let count = 0; count < 3; count++) {
      world.agents.die('worker')
      await world.clock.advance(10_000)
    }
    expect(world.taskTable.find(given.task_id)).toMatchObject({ state: 'blocked' })
    expect(messagesTo(world, parent.id)[1]).toContain('is blocked')
  })

  test('whose assignee ends without complete_task is reminded once, then fails with its last words', async () => {
    heedsLesson(46)
    const { world, given, child } = await aHandOff()
    world.agents.finish('worker', { response: 'I think it is seven' })
    await world.clock.settle()
    expect(messagesTo(world, child.id)[1]).toContain('Call complete_task now')
    world.agents.finish('worker', { response: 'seven, really' })
    await world.clock.settle()
    const task = world.taskTable.find(given.task_id)
    expect(task).toMatchObject({ state: 'failed' })
    expect(task?.summary).toContain('seven, really')
  })

  test('that is blocked is told at once and not waited for', async () => {
    const { world, parent, given, child } = await aHandOff()
    world.completeTask(world.callerOf('worker'), {
      taskId: given.task_id,
      status: 'blocked',
      summary: 'no access',
      result: null,
    })
    world.agents.finish('worker')
    world.agents.finish('operator')
    await world.clock.settle()
    expect(messagesTo(world, parent.id)[1]).toContain('is blocked')
    world.agents.finish('operator')
    await world.clock.settle()
    expect([parent, child].map(world.state)).toEqual(['done', 'done'])
    expect(world.taskTable.find(given.task_id)?.state).toBe('blocked')
  })

  test('whose asker has ended leaves a note that stays visible', async () => {
    const { world, parent, given } = await aHandOff()
    world.agents.finish('operator', { status: 'failed', error: { code: 'model-failed', detail: 'no' } })
    await world.clock.settle()
    complete(world, 'worker', given.task_id)
    expect(world.state(parent)).toBe('failed')
    expect(world.ledger.delivery.outbox.open(10)).toContainEqual(
      expect.objectContaining({ recipient: `run:${parent.id}`, state: 'undeliverable' }),
    )
  })

  test('is cancelled with its asker, and its agent is told to stop', async () => {
    const { world, parent, given, child } = await aHandOff()
    world.ledger.lifecycle.cancelRun(person, parent.id)
    await world.clock.settle()
    expect([parent, child].map(world.state)).toEqual(['cancelled', 'cancelled'])
    expect(world.taskTable.find(given.task_id)?.state).toBe('cancelled')
    expect(world.agents.cancelled.sort()).toEqual([parent.id, child.id].sort())
  })

  test('waited for over seven days ends the asker as expired, with what it had said', async () => {
    const { world, parent } = await aHandOff()
    world.agents.finish('operator', { response: 'I asked the worker' })
    await world.clock.settle()
    const longAgo = world.clock.now() - wireLimits.waitingMaxMs
    world.database.exec(`UPDATE runs SET waiting_since = ${longAgo + 1500} WHERE id = '${parent.id}'`)
    await world.clock.advance(1000)
    expect(world.state(parent)).toBe('waiting')
    await world.clock.advance(1000)
    expect(world.ledger.queries.find(parent.id)?.outcome).toMatchObject({
      status: 'expired',
      code: 'expired',
    })
    expect(world.ledger.queries.find(parent.id)?.outcome?.text).toContain('I asked the worker')
  })

  test('with the same key gives the same task, also when it was tried fifty times', async () => {
    const world = await aStartedHarness()
    world.chat('operator')
    await world.clock.settle()
    const replies = await Promise.all(
      Array.from({ length: 50 }, async () =>
        world.handOff(world.callerOf('operator'), { to: 'worker', ...work, idempotencyKey: 'run_1:3' }),
      ),
    )
    expect(new Set(replies.map((reply) => reply.task_id)).size).toBe(1)
    expect(world.taskTable.list({ limit: 100 })).toHaveLength(1)
    const other = { to: 'worker', ...work, title: 'other', idempotencyKey: 'run_1:3' }
    expect(codeOf(() => world.handOff(world.callerOf('operator'), other))).toBe('conflict')
  })

  test('to a busy agent waits in its lane, and is begun once that is free', async () => {
    heedsLesson(54)
    const world = await aStartedHarness()
    const before = world.chat('worker')
    world.chat('operator')
    await world.clock.settle()
    const given = give(world, 'operator', 'worker')
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.taskTable.find(given.task_id)?.state).toBe('pending')
    expect([before, { id: given.run_id }].map(world.state)).toEqual(['running', 'queued'])
    world.agents.finish('worker')
    await world.clock.settle()
    expect(world.taskTable.find(given.task_id)?.state).toBe('working')
    expect([before, { id: given.run_id }].map(world.state)).toEqual(['done', 'running'])
  })

  test('to an agent that cannot be started is kept, and done once it can, without being given again', async () => {
    heedsLesson(45)
    const world = await aStartedHarness()
    const parent = world.chat('operator')
    await world.clock.settle()
    world.agents.startFault = new Problem('agent-unavailable', { detail: 'no image' })
    const given = give(world, 'operator', 'worker')
    expect(given.state).toBe('pending')
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.agents.working('worker')).toBeNull()
    world.agents.startFault = null
    await world.clock.advance(10_000)
    complete(world, 'worker', given.task_id)
    world.agents.finish('worker')
    await world.clock.settle()
    expect(messagesTo(world, parent.id)[1]).toContain(`Task ${given.task_id}`)
    expect(messagesTo(world, parent.id)[1]).toContain('is done')
    expect(world.taskTable.list({ limit: 10 })).toHaveLength(1)
  })

  test('back to someone who waits for it is refused, and leaves nothing behind', async () => {
    const { world } = await aHandOff()
    expect(codeOf(() => give(world, 'worker', 'operator'))).toBe('hand-off-refused')
    expect(codeOf(() => give(world, 'worker', 'worker'))).toBe('hand-off-refused')
    expect(world.ledger.queries.list({ limit: 10 })).toHaveLength(2)
    expect(world.taskTable.list({ limit: 10 })).toHaveLength(1)
  })

  test('is refused when work has been handed on eight times', async () => {
    const world = await aStartedHarness()
    world.chat('a0')
    await world.clock.settle()
    for (let depth = 1; depth <= wireLimits.handOffDepthMax; depth++) {
      give(world, `a${depth - 1}`, `a${depth}`)
      await world.clock.settle()
    }
    expect(codeOf(() => give(world, 'a8', 'a9'))).toBe('hand-off-refused')
  })

  test('of a run that was taken over is refused', async () => {
    const { world } = await aHandOff()
    const stale = world.callerOf('operator')
    world.agents.die('operator')
    await world.clock.advance(5000)
    expect(codeOf(() => world.handOff(stale, { to: 'other', ...work }))).toBe('stale-fence')
  })
})

describe('complete_task', () => {
  test('waits for what the task itself handed on, whose result then comes to it', async () => {
    const { world, parent, given, child } = await aHandOff()
    const below = give(world, 'worker', 'other')
    expect(codeOf(() => complete(world, 'worker', given.task_id))).toBe('conflict')
    world.agents.finish('worker')
    world.agents.finish('operator')
    await world.clock.settle()
    expect([parent, child].map(world.state)).toEqual(['waiting', 'waiting'])
    complete(world, 'other', below.task_id)
    world.agents.finish('other')
    await world.clock.settle()
    const message = messagesTo(world, child.id)[1]
    expect(message).toContain(`Task ${below.task_id}`)
    expect(message).toContain(`You work on your own task ${given.task_id}`)
    expect(complete(world, 'worker', given.task_id).state).toBe('done')
    world.agents.finish('worker')
    await world.clock.settle()
    world.agents.finish('operator')
    await world.clock.settle()
    expect([parent, child].map(world.state)).toEqual(['done', 'done'])
  })

  test('is for the assignee only', async () => {
    const { world, given } = await aHandOff()
    expect(codeOf(() => complete(world, 'operator', given.task_id))).toBe('not-found')
    expect(codeOf(() => complete(world, 'worker', 'task_none'))).toBe('not-found')
  })

  test('said twice in the same words changes nothing; another end is a conflict', async () => {
    const { world, parent, given } = await aHandOff()
    complete(world, 'worker', given.task_id)
    expect(complete(world, 'worker', given.task_id).state).toBe('done')
    const failed = { taskId: given.task_id, status: 'failed', summary: 'no', result: null } as const
    expect(codeOf(() => world.completeTask(world.callerOf('worker'), failed))).toBe('conflict')
    expect(world.ledger.delivery.outbox.ofRun(parent.id)).toHaveLength(1)
  })
})

describe('the end of a task', () => {
  const ends = ['done', 'failed', 'blocked'] as const
  test.each<readonly [string, readonly string[]]>([
    ['pending', ends],
    ['accepted', ends],
    ['working', ends],
    // Until it is answered, whatever else its agent says.
    ['blocked', []],
    ['done', []],
    ['failed', []],
    ['cancelled', []],
  ])('that is %s may be %j, at the API as in the table', async (state, allowed) => {
    heedsLesson(51)
    for (const status of ends) {
      const { world, given } = await aHandOff()
      world.database.prepare('UPDATE tasks SET state = ? WHERE id = ?').run(state, given.task_id)
      const said = { taskId: given.task_id, status, summary: 'in other words', result: null }
      const code = codeOf(() => world.completeTask(world.callerOf('worker'), said))
      expect([status, code]).toEqual([status, allowed.includes(status) ? 'no problem' : 'conflict'])
    }
  })

  test('keeps what was known of it, where its own words say nothing else', async () => {
    heedsLesson(56)
    const { world, given } = await aHandOff()
    const say = (status: 'blocked' | 'done', summary: string, result: JsonValue) =>
      world.completeTask(world.callerOf('worker'), { taskId: given.task_id, status, summary, result })
    say('blocked', 'no access', { read: 3 })
    const note = 'you have it now'
    world.tasks.manageTask(world.callerOf('operator'), { taskId: given.task_id, action: 'answer', note })
    world.agents.finish('worker')
    await world.clock.settle()
    expect(say('done', 'had access after all', null)).toMatchObject({
      ...work,
      creator: 'operator',
      summary: 'had access after all',
      result: { read: 3 },
    })
  })
})

describe('lists', () => {
  test('the inbox holds open tasks of the agent, and all that it gave', async () => {
    heedsLesson(44)
    const { world, parent, given, child } = await aHandOff()
    const listInbox = createListInbox({ table: world.taskTable, guard: world.guard })
    const ids = (tasks: readonly { readonly id: string }[]) => tasks.map((task) => task.id)
    expect(listInbox(world.callerOf('worker')).assigned).toMatchObject([
      { id: given.task_id, run_id: child.id, parent_run_id: parent.id, creator: 'operator', ...work },
    ])
    complete(world, 'worker', given.task_id)
    expect(listInbox(world.callerOf('worker')).assigned).toEqual([])
    expect(ids(listInbox(world.callerOf('operator')).given)).toEqual([given.task_id])
  })

  test('the inbox holds fifty of each, the newest, and of an older one that failed its giver is told all the same', async () => {
    heedsLesson(55)
    const { world, parent, given } = await aHandOff()
    const others = Array.from({ length: 60 }, (_, other) => give(world, 'operator', `a${other}`))
    await world.clock.settle()
    const failed = { taskId: given.task_id, status: 'failed', summary: 'no access', result: null } as const
    world.completeTask(world.callerOf('worker'), failed)
    const listInbox = createListInbox({ table: world.taskTable, guard: world.guard })
    const inbox = listInbox(world.callerOf('operator'))
    expect(inbox.given).toHaveLength(50)
    expect(inbox.given.map((task) => task.assignee)).toEqual(
      Array.from({ length: 50 }, (_, newer) => `a${59 - newer}`),
    )
    for (const [other, { task_id }] of others.entries()) complete(world, `a${other}`, task_id)
    world.agents.finish('operator')
    await world.clock.settle()
    expect(messagesTo(world, parent.id)[1]).toMatch(new RegExp(`Task ${given.task_id} .* is failed`))
  })

  test('people see all tasks, or those of one agent', async () => {
    const { world } = await aHandOff()
    const listTasks = createListTasks({ table: world.taskTable, guard: world.guard })
    expect(listTasks(person, { limit: 10 })).toHaveLength(1)
    expect(listTasks(person, { agentId: 'nobody', limit: 10 })).toEqual([])
  })
})
