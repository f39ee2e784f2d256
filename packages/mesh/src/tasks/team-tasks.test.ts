import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import { afterEach, describe, expect, test } from 'vitest'
import type { Caller } from '../access/caller.ts'
import { aLedgerHarness, person } from '../testing/ledger-harness.ts'
import type { LedgerHarness, LedgerHarnessOptions } from '../testing/ledger-harness.ts'
import { heedsLesson } from '../../../../tests/verifies.ts'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((world) => world.ledger.close()))
})

async function aStartedHarness(options: LedgerHarnessOptions = {}): Promise<LedgerHarness> {
  const world = aLedgerHarness(options)
  opened.push(world)
  world.ledger.start()
  await world.clock.settle()
  return world
}

/** The operator runs, has given one task to the worker, and that works on it. */
async function aHandOff(options: LedgerHarnessOptions = {}) {
  const world = await aStartedHarness(options)
  const parent = world.chat('operator')
  await world.clock.settle()
  const given = world.handOff(world.callerOf('operator'), { to: 'worker', ...work })
  await world.clock.settle()
  return { world, parent, taskId: given.task_id, runId: given.run_id }
}

const work = { title: 'count licences', description: 'all of them', data: { file: 'a.json' } }
const taskOf = (world: LedgerHarness, id: string) => world.taskTable.find(id)!
const messagesTo = (world: LedgerHarness, runId: string) =>
  world.agents.sent.filter((sending) => sending.runId === runId).map((sending) => sending.message)
const done = (world: LedgerHarness, agentId: string, taskId: string) =>
  world.completeTask(world.callerOf(agentId), { taskId, status: 'done', summary: 'seven', result: null })
const update = (
  world: LedgerHarness,
  agentId: string,
  said: { taskId: string; action: 'accept' | 'progress' | 'block'; note?: string },
) => world.tasks.updateTask(world.callerOf(agentId), { note: '', ...said })
const manage = (
  world: LedgerHarness,
  caller: Caller,
  said: { taskId: string; action: 'answer' | 'retry' | 'reroute' | 'cancel'; note?: string; to?: string },
) => world.tasks.manageTask(caller, { note: '', ...said })
const codeOf = (act: () => unknown): string => {
  try {
    act()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

/** What the agent is told of the newest task that it has. */
function told(world: LedgerHarness, agentId: string): string {
  const [newest] = world.taskTable.openOf(agentId, 1)
  return JSON.stringify(newest && world.workOf(newest.id))
}

async function loseThreeTimes(world: LedgerHarness): Promise<void> {
  for (let count = 0; count < 3; count++) {
    world.agents.die('worker')
    await world.clock.advance(10_000)
  }
}

describe('a task that the fleet could not work on', () => {
  test('is blocked and not failed when its run is lost three times, and goes on when it is tried again', async () => {
    heedsLesson(48)
    const { world, parent, taskId } = await aHandOff()
    world.agents.finish('operator')
    await loseThreeTimes(world)
    expect(taskOf(world, taskId)).toMatchObject({ state: 'blocked', blocked_by: 'infrastructure' })
    expect(messagesTo(world, parent.id)[1]).toContain('is blocked')
    manage(world, person, { taskId, action: 'retry', note: 'the disk is mended' })
    await world.clock.settle()
    expect(taskOf(world, taskId)).toMatchObject({ state: 'working', round: 1 })
    expect(told(world, 'worker')).toContain('retry by human:cli: the disk is mended')
    done(world, 'worker', taskId)
    expect(taskOf(world, taskId)).toMatchObject({ state: 'done', blocked_by: null })
  })

  test.each([
    ['model-failed', 'blocked', 'infrastructure'],
    ['internal-error', 'blocked', 'infrastructure'],
    ['budget-exhausted', 'blocked', 'budget'],
    ['rounds-exhausted', 'failed', null],
    ['tool-loop-terminated', 'failed', null],
  ])('a run that ends with %s leaves it %s', async (code, state, blocker) => {
    const { world, taskId } = await aHandOff()
    world.agents.finish('worker', { status: 'failed', error: { code, detail: 'no' } })
    await world.clock.settle()
    expect(taskOf(world, taskId)).toMatchObject({ state, blocked_by: blocker })
  })
})

describe('an assignee', () => {
  test('tells how far it is, and its giver can read it', async () => {
    const { world, taskId } = await aHandOff()
    update(world, 'worker', { taskId, action: 'progress', note: 'half of the\u200B files' })
    expect(taskOf(world, taskId)).toMatchObject({ state: 'working', progress: 'half of the files' })
    const { task, history } = world.tasks.readTask(world.callerOf('operator'), taskId)
    expect(task.progress).toBe('half of the files')
    expect(history.map(({ action }) => action)).toEqual(['given', 'begin', 'progress'])
  })

  test('takes on what waits in its lane, before its run begins', async () => {
    const world = await aStartedHarness()
    world.chat('worker')
    world.chat('operator')
    await world.clock.settle()
    const { task_id: taskId } = world.handOff(world.callerOf('operator'), { to: 'worker', ...work })
    update(world, 'worker', { taskId, action: 'accept' })
    expect(taskOf(world, taskId).state).toBe('accepted')
    world.agents.finish('worker')
    await world.clock.settle()
    expect(taskOf(world, taskId).state).toBe('working')
    expect(codeOf(() => update(world, 'worker', { taskId, action: 'accept' }))).toBe('conflict')
  })

  test('asks a question, is answered, and goes on in a run that knows both', async () => {
    const { world, parent, taskId, runId } = await aHandOff()
    update(world, 'worker', { taskId, action: 'block', note: 'which folder?' })
    world.agents.finish('worker')
    world.agents.finish('operator')
    await world.clock.settle()
    expect(taskOf(world, taskId)).toMatchObject({ state: 'blocked', blocked_by: 'question' })
    expect(messagesTo(world, parent.id)[1]).toContain('which folder?')
    manage(world, world.callerOf('operator'), { taskId, action: 'answer', note: 'the second' })
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.state(parent)).toBe('waiting')
    expect(taskOf(world, taskId).run_id).not.toBe(runId)
    expect(told(world, 'worker')).toContain('block by agent:worker: which folder?')
    expect(told(world, 'worker')).toContain('answer by agent:operator: the second')
    // Asked twice, its giver is told twice.
    update(world, 'worker', { taskId, action: 'block', note: 'which file?' })
    world.agents.finish('worker')
    await world.clock.settle()
    expect(messagesTo(world, parent.id)[2]).toContain('which file?')
    manage(world, person, { taskId, action: 'answer', note: 'all' })
    await world.clock.settle()
    done(world, 'worker', taskId)
    world.agents.finish('worker')
    world.agents.finish('operator')
    await world.clock.settle()
    expect(messagesTo(world, parent.id)[3]).toContain('is done')
  })

  test('that is answered before its turn ends tells a later attempt of that turn what the first was told', async () => {
    const { world, taskId, runId } = await aHandOff()
    const first = world.workOf(taskId, runId)
    expect(first?.answer).toBeNull()
    update(world, 'worker', { taskId, action: 'block', note: 'which folder?' })
    manage(world, person, { taskId, action: 'answer', note: 'the second' })
    // Its agent may be killed now: told another task, it would begin anew, and do again what it did.
    expect(world.workOf(taskId, runId)).toEqual(first)
    expect(world.workOf(taskId)?.answer?.text).toBe('the second')
    expect(taskOf(world, taskId).run_id).not.toBe(runId)
  })

  test('that asked stays blocked until it is answered, whatever its agent says before its turn ends', async () => {
    const { world, taskId } = await aHandOff()
    update(world, 'worker', { taskId, action: 'block', note: 'which folder?' })
    for (const status of ['done', 'failed'] as const) {
      const said = { taskId, status, summary: 'I wait for the answer.', result: null }
      expect(() => world.completeTask(world.callerOf('worker'), said)).toThrow(
        expect.objectContaining({ code: 'conflict', repair: expect.stringContaining('End your turn') }),
      )
    }
    world.agents.finish('worker', { response: 'I wait for the answer.' })
    await world.clock.settle()
    expect(taskOf(world, taskId)).toMatchObject({ state: 'blocked', summary: 'which folder?' })
    manage(world, person, { taskId, action: 'answer', note: 'the second' })
    await world.clock.settle()
    expect(done(world, 'worker', taskId).state).toBe('done')
  })

  test('asks nothing without words, and closes no task of another', async () => {
    const { world, taskId } = await aHandOff()
    expect(codeOf(() => update(world, 'worker', { taskId, action: 'block' }))).toBe('bad-request')
    expect(codeOf(() => update(world, 'operator', { taskId, action: 'block', note: 'x' }))).toBe('not-found')
    expect(codeOf(() => update(world, 'worker', { taskId, action: 'progress' }))).toBe('bad-request')
  })

  test('says so much of its progress and no more', async () => {
    const { world, taskId } = await aHandOff()
    for (let count = 0; count < taskLimits.progressMax; count++) {
      update(world, 'worker', { taskId, action: 'progress', note: `file ${count}` })
    }
    const more = () => update(world, 'worker', { taskId, action: 'progress', note: 'one more' })
    expect(codeOf(more)).toBe('unprocessable')
  })

  test('is asked the very same in every attempt, whatever it has said of it meanwhile', async () => {
    const { world, taskId } = await aHandOff()
    const say = (note: string) =>
      world.tasks.updateTask(world.callerOf('worker'), {
        taskId,
        action: 'progress',
        note,
        artifacts: [`${note}.txt`],
      })
    const before = world.workOf(taskId)
    say('half')
    expect(world.workOf(taskId)).toEqual(before)
    await loseThreeTimes(world)
    manage(world, person, { taskId, action: 'retry' })
    await world.clock.settle()
    const again = world.workOf(taskId)
    expect(again).not.toEqual(before)
    say('more')
    expect(world.workOf(taskId)).toEqual(again)
  })
})

describe('a task that needs others', () => {
  async function twoTasks() {
    const world = await aStartedHarness()
    const parent = world.chat('operator')
    await world.clock.settle()
    const caller = world.callerOf('operator')
    const first = world.handOff(caller, { to: 'worker', ...work })
    const second = world.tasks.handOff(caller, { to: 'other', ...work, needs: [first.task_id] })
    await world.clock.settle()
    return { world, parent, first: first.task_id, second: second.task_id, reply: second }
  }

  test('has no run before they are done, and one right after', async () => {
    const { world, first, second, reply } = await twoTasks()
    expect(reply).toMatchObject({ run_id: null, state: 'pending' })
    expect(reply.note).toMatch(/it begins when task_1 is done.*do not give it again/)
    done(world, 'worker', first)
    await world.clock.settle()
    expect(taskOf(world, second)).toMatchObject({ state: 'working', waits_for: null })
    const run = world.ledger.queries.find(taskOf(world, second).run_id!)
    expect(run?.origin).toEqual({ kind: 'operator', channel: 'agent', user: 'operator' })
  })

  test('is waited for like any other, and its result comes', async () => {
    const { world, parent, first, second } = await twoTasks()
    world.agents.finish('operator')
    done(world, 'worker', first)
    await world.clock.settle()
    expect(messagesTo(world, parent.id)).toHaveLength(2)
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.state(parent)).toBe('waiting')
    done(world, 'other', second)
    await world.clock.settle()
    expect(messagesTo(world, parent.id)[2]).toContain(second)
  })

  test('is blocked when one of them fails, and begins when that is done again', async () => {
    const { world, first, second } = await twoTasks()
    const failed = { taskId: first, status: 'failed', summary: 'no', result: null } as const
    world.completeTask(world.callerOf('worker'), failed)
    expect(taskOf(world, second)).toMatchObject({ state: 'blocked', blocked_by: 'dependency' })
    const inVain = () => manage(world, person, { taskId: second, action: 'retry' })
    expect(codeOf(inVain)).toBe('conflict')
    world.agents.finish('worker')
    await world.clock.settle()
    const again = manage(world, world.callerOf('operator'), { taskId: first, action: 'retry' })
    await world.clock.settle()
    expect(again).toMatchObject({ previous_task_id: first, assignee: 'worker', state: 'pending' })
    done(world, 'worker', again.id)
    manage(world, person, { taskId: second, action: 'retry' })
    await world.clock.settle()
    expect(taskOf(world, second).state).toBe('working')
  })

  test('begins after a mesh that died right after the end of what it needs', async () => {
    const { world, first, second } = await twoTasks()
    // As the rows stand when the commit is there and nothing that follows it has happened.
    world.database.exec(`UPDATE tasks SET state = 'done', completed_at = 1 WHERE id = '${first}'`)
    const again = await world.restarted()
    opened.push(again)
    again.ledger.start()
    again.tasks.sweep()
    await again.clock.settle()
    expect(taskOf(again, second).state).toBe('working')
  })

  test('ends with the run that asked for it', async () => {
    const { world, parent, second } = await twoTasks()
    world.ledger.lifecycle.cancelRun(person, parent.id)
    expect(taskOf(world, second)).toMatchObject({ state: 'cancelled', run_id: null })
  })

  test('cannot need what its giver may not see', async () => {
    const { world, first } = await twoTasks()
    const needs = ['task_none']
    const asked = () => world.handOff(world.callerOf('operator'), { to: 'third', ...work, needs })
    expect(codeOf(asked)).toBe('not-found')
    expect(taskOf(world, first).state).toBe('working')
  })

  test('is blocked where its giver may no longer give it', async () => {
    let denied = false
    const guard = () => {
      if (denied) throw new Problem('denied', { detail: 'no more' })
    }
    const world = await aStartedHarness({ guard })
    world.chat('operator')
    await world.clock.settle()
    const caller = world.callerOf('operator')
    const first = world.handOff(caller, { to: 'worker', ...work })
    const second = world.tasks.handOff(caller, { to: 'other', ...work, needs: [first.task_id] })
    await world.clock.settle()
    world.taskTable.replace(taskOf(world, first.task_id), {
      ...taskOf(world, first.task_id),
      state: 'done',
      completed_at: 1,
    })
    denied = true
    world.tasks.sweep()
    expect(taskOf(world, second.task_id)).toMatchObject({ state: 'blocked', blocked_by: 'infrastructure' })
    expect(taskOf(world, second.task_id).summary).toContain('no more')
  })
})

describe('a task for an agent that cannot begin', () => {
  test('is kept while the lane is full, says so, and begins when there is room', async () => {
    heedsLesson(45)
    const world = await aStartedHarness()
    for (let count = 0; count < 101; count++) {
      world.chat('worker', `${count}`)
      if (count === 0) await world.clock.settle()
    }
    world.chat('operator')
    await world.clock.settle()
    const given = world.tasks.handOff(world.callerOf('operator'), { to: 'worker', ...work })
    expect(given).toMatchObject({ run_id: null, state: 'pending' })
    expect(given.note).toContain('the lane of worker is full')
    world.agents.finish('worker')
    await world.clock.settle()
    world.tasks.release()
    expect(taskOf(world, given.task_id)).toMatchObject({ waits_for: null })
    expect(world.state({ id: taskOf(world, given.task_id).run_id! })).toBe('queued')
  })

  test('says why it will not begin at once', async () => {
    const unreachable = () => 'no agent is started at the moment: canary'
    const world = await aStartedHarness({ taskAgents: { unreachable } })
    const reply = world.tasks.handOff(person, { to: 'worker', ...work })
    expect(reply.note).toMatch(/canary.*do not give it again/)
    expect(reply.run_id).not.toBeNull()
  })

  test('waits in bounded numbers', async () => {
    const { world, taskId } = await aHandOff()
    const caller = world.callerOf('operator')
    const give = () => world.tasks.handOff(caller, { to: 'other', ...work, needs: [taskId] })
    for (let count = 0; count < taskLimits.waitingPerAgentMax; count++) give()
    expect(codeOf(give)).toBe('unprocessable')
  })
})

describe('whoever gave or routes a task', () => {
  test('gives it to another, whose work is told to the run that waits', async () => {
    const { world, parent, taskId, runId } = await aHandOff()
    world.agents.finish('operator')
    await world.clock.settle()
    manage(world, person, { taskId, action: 'reroute', to: 'other', note: 'worker is ill' })
    await world.clock.settle()
    expect(world.state({ id: runId })).toBe('cancelled')
    expect(world.agents.cancelled).toContain(runId)
    expect(taskOf(world, taskId)).toMatchObject({ assignee: 'other', state: 'working', round: 1 })
    expect(told(world, 'other')).toContain('from worker to other: worker is ill')
    done(world, 'other', taskId)
    await world.clock.settle()
    expect(messagesTo(world, parent.id)[1]).toContain('which you gave to other, is done')
  })

  test('does not give it to somebody who waits for it', async () => {
    const { world, taskId } = await aHandOff()
    const reroute = () => manage(world, person, { taskId, action: 'reroute', to: 'operator' })
    expect(codeOf(reroute)).toBe('hand-off-refused')
    expect(taskOf(world, taskId)).toMatchObject({ assignee: 'worker', round: 0, state: 'working' })
  })

  test('cancels it with all that was handed on below', async () => {
    const { world, parent, taskId, runId } = await aHandOff()
    const below = world.handOff(world.callerOf('worker'), { to: 'other', ...work })
    const waiting = world.tasks.handOff(world.callerOf('worker'), {
      to: 'third',
      ...work,
      needs: [below.task_id],
    })
    await world.clock.settle()
    expect(taskOf(world, below.task_id).parent_task_id).toBe(taskId)
    manage(world, world.callerOf('operator'), { taskId, action: 'cancel', note: 'not wanted' })
    world.agents.finish('operator')
    await world.clock.settle()
    const states = [taskId, below.task_id, waiting.task_id].map((id) => taskOf(world, id).state)
    expect(states).toEqual(['cancelled', 'cancelled', 'cancelled'])
    expect(world.state({ id: runId })).toBe('cancelled')
    expect(messagesTo(world, parent.id)[1]).toContain('not wanted')
  })

  test('says what it is worth: the words wait for its agent, and a rework is a new task', async () => {
    const { world, taskId } = await aHandOff()
    done(world, 'worker', taskId)
    world.agents.finish('worker')
    await world.clock.settle()
    const caller = world.callerOf('operator')
    const said = { taskId, outcome: 'rework', comment: 'count MIT too' } as const
    const { task, rework } = world.tasks.reviewTask(caller, said)
    await world.clock.settle()
    expect(task).toMatchObject({ state: 'done', outcome: 'rework', feedback: 'count MIT too' })
    expect(rework).toMatchObject({ previous_task_id: taskId, assignee: 'worker' })
    expect(told(world, 'worker')).toContain('count MIT too')
    expect(told(world, 'worker')).toContain('seven')
    expect(world.hooks.feedbackFor.ask('worker')).toMatchObject([
      { taskId, outcome: 'rework', comment: 'count MIT too', by: 'operator' },
    ])
    expect(world.feedbackGiven).toEqual(['worker'])
    // Said again it changes nothing, and another verdict comes too late.
    expect(world.tasks.reviewTask(caller, said).rework).toBeNull()
    const other = () => world.tasks.reviewTask(caller, { taskId, outcome: 'accepted', comment: '' })
    expect(codeOf(other)).toBe('conflict')
  })

  test('judges what has ended, with a reason where it is not good', async () => {
    const { world, taskId } = await aHandOff()
    const review = (outcome: 'accepted' | 'rejected', comment: string) => () =>
      world.tasks.reviewTask(person, { taskId, outcome, comment })
    expect(codeOf(review('accepted', ''))).toBe('conflict')
    done(world, 'worker', taskId)
    expect(codeOf(review('rejected', ' '))).toBe('bad-request')
    expect(codeOf(review('rejected', 'made up'))).toBe('no problem')
  })
})

describe('others', () => {
  const asAgent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })
  const noRouter = () => ({ allowed: false as const, reason: 'no', field: null })

  test('see no task that is not theirs, whatever they want of it', async () => {
    const { world, taskId } = await aHandOff({ decide: noRouter })
    world.chat('stranger')
    await world.clock.settle()
    const stranger = world.callerOf('stranger')
    expect(codeOf(() => world.tasks.readTask(stranger, taskId))).toBe('not-found')
    for (const action of ['answer', 'retry', 'reroute', 'cancel'] as const) {
      const asked = () => manage(world, stranger, { taskId, action, note: 'x', to: 'stranger' })
      expect(codeOf(asked)).toBe('not-found')
    }
    const judge = () => world.tasks.reviewTask(stranger, { taskId, outcome: 'rejected', comment: 'x' })
    expect(codeOf(judge)).toBe('not-found')
    expect(taskOf(world, taskId)).toMatchObject({ state: 'working', round: 0 })
  })

  test('who route tasks do so in their own project, the operator in all', async () => {
    const projects: Record<string, string> = { worker: 'red', member: 'red', outsider: 'blue' }
    const projectOf = (agentId: string) => projects[agentId] ?? null
    const { world, taskId } = await aHandOff({ taskAgents: { projectOf } })
    expect(taskOf(world, taskId).project).toBe('red')
    expect(world.tasks.readTask(asAgent('member'), taskId).task.id).toBe(taskId)
    expect(codeOf(() => world.tasks.readTask(asAgent('outsider'), taskId))).toBe('not-found')
    expect(world.tasks.readTask(asAgent('operator'), taskId).task.id).toBe(taskId)
  })
})

describe('the caps of a task', () => {
  test('hold over all its rounds', async () => {
    const world = await aStartedHarness()
    const tokenBudget = { max_cost_usd: 1, max_tokens: 1000 }
    const given = world.handOff(person, { to: 'worker', ...work, tokenBudget, maxTurns: 7 })
    await world.clock.settle()
    expect(world.tasks.capsOf(given.task_id)).toEqual({ maxTurns: 7, maxCostUsd: 1, callsBefore: 0 })
    world.ledger.lifecycle.addRunCost(given.run_id, 0.25, 400)
    update(world, 'worker', { taskId: given.task_id, action: 'block', note: 'which?' })
    world.agents.finish('worker')
    await world.clock.settle()
    manage(world, person, { taskId: given.task_id, action: 'answer', note: 'that' })
    const second = world.ledger.queries.find(taskOf(world, given.task_id).run_id!)
    expect(second).toMatchObject({ budgetUsd: 0.75, budgetTokens: 600 })
    world.ledger.lifecycle.addRunCost(second!.id, 5, 5000)
    await world.clock.settle()
    await loseThreeTimes(world)
    manage(world, person, { taskId: given.task_id, action: 'retry' })
    // A run that may use next to nothing says itself why it ends.
    const third = world.ledger.queries.find(taskOf(world, given.task_id).run_id!)
    expect(third).toMatchObject({ budgetUsd: 0.000001, budgetTokens: 1 })
  })
})

describe('ended tasks', () => {
  test('are kept for 90 days', async () => {
    const { world, taskId } = await aHandOff()
    done(world, 'worker', taskId)
    await world.clock.settle()
    const endedAt = taskOf(world, taskId).completed_at!
    world.database.exec(`UPDATE tasks SET completed_at = ${endedAt - taskLimits.retentionMs + 1}`)
    world.tasks.sweep()
    expect(world.taskTable.find(taskId)).not.toBeNull()
    world.database.exec(`UPDATE tasks SET completed_at = ${endedAt - taskLimits.retentionMs}`)
    world.tasks.sweep()
    expect(world.taskTable.find(taskId)).toBeNull()
    expect(world.database.prepare('SELECT count(*) AS count FROM task_history').get()).toEqual({ count: 0 })
  })
})
