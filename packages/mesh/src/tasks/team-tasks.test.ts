import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import { afterEach, describe, expect, test } from 'vitest'
import type { Caller } from '../access/caller.ts'
import { aLedgerHarness, person } from '../testing/ledger-harness.ts'
import type { LedgerHarness, LedgerHarnessOptions } from '../testing/ledger-harness.ts'
import { heedsLesson } from '../../../../tests/verifies.ts'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((harness) => harness.ledger.close()))
})

async function aStartedHarness(options: LedgerHarnessOptions = {}): Promise<LedgerHarness> {
  const harness = aLedgerHarness(options)
  opened.push(harness)
  harness.ledger.start()
  await harness.clock.settle()
  return harness
}

/** The operator runs, has given one task to the worker, and that works on it. */
async function aHandOff(options: LedgerHarnessOptions = {}) {
  const harness = await aStartedHarness(options)
  const parent = harness.chat('operator')
  await harness.clock.settle()
  const given = harness.handOff(harness.callerOf('operator'), { to: 'worker', ...work })
  await harness.clock.settle()
  return { harness, parent, taskId: given.task_id, runId: given.run_id }
}

const work = { title: 'count licences', description: 'all of them', data: { file: 'a.json' } }
const taskOf = (harness: LedgerHarness, id: string) => harness.taskTable.find(id)!
const messagesTo = (harness: LedgerHarness, runId: string) =>
  harness.agents.sent.filter((sending) => sending.runId === runId).map((sending) => sending.message)
const done = (harness: LedgerHarness, agentId: string, taskId: string) =>
  harness.completeTask(harness.callerOf(agentId), { taskId, status: 'done', summary: 'seven', result: null })
const update = (
  harness: LedgerHarness,
  agentId: string,
  said: { taskId: string; action: 'accept' | 'progress' | 'block'; note?: string },
) => harness.tasks.updateTask(harness.callerOf(agentId), { note: '', ...said })
const manage = (
  harness: LedgerHarness,
  caller: Caller,
  said: { taskId: string; action: 'answer' | 'retry' | 'reroute' | 'cancel'; note?: string; to?: string },
) => harness.tasks.manageTask(caller, { note: '', ...said })
const codeOf = (act: () => unknown): string => {
  try {
    act()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

/** What the agent is told of the newest task that it has. */
function told(harness: LedgerHarness, agentId: string): string {
  const [newest] = harness.taskTable.openOf(agentId, 1)
  return JSON.stringify(newest && harness.workOf(newest.id))
}

async function loseThreeTimes(harness: LedgerHarness): Promise<void> {
  for (let count = 0; count < 3; count++) {
    harness.agents.die('worker')
    await harness.clock.advance(10_000)
  }
}

describe('a task that the fleet could not work on', () => {
  test('is blocked and not failed when its run is lost three times, and goes on when it is tried again', async () => {
    heedsLesson(48)
    const { harness, parent, taskId } = await aHandOff()
    harness.agents.finish('operator')
    await loseThreeTimes(harness)
    expect(taskOf(harness, taskId)).toMatchObject({ state: 'blocked', blocked_by: 'infrastructure' })
    expect(messagesTo(harness, parent.id)[1]).toContain('is blocked')
    manage(harness, person, { taskId, action: 'retry', note: 'the disk is mended' })
    await harness.clock.settle()
    expect(taskOf(harness, taskId)).toMatchObject({ state: 'working', round: 1 })
    expect(told(harness, 'worker')).toContain('retry by human:cli: the disk is mended')
    done(harness, 'worker', taskId)
    expect(taskOf(harness, taskId)).toMatchObject({ state: 'done', blocked_by: null })
  })

  test.each([
    ['model-failed', 'blocked', 'infrastructure'],
    ['internal-error', 'blocked', 'infrastructure'],
    ['budget-exhausted', 'blocked', 'budget'],
    ['rounds-exhausted', 'failed', null],
    ['tool-loop-terminated', 'failed', null],
  ])('a run that ends with %s leaves it %s', async (code, state, blocker) => {
    const { harness, taskId } = await aHandOff()
    harness.agents.finish('worker', { status: 'failed', error: { code, detail: 'no' } })
    await harness.clock.settle()
    expect(taskOf(harness, taskId)).toMatchObject({ state, blocked_by: blocker })
  })
})

describe('an assignee', () => {
  test('tells how far it is, and its giver can read it', async () => {
    const { harness, taskId } = await aHandOff()
    update(harness, 'worker', { taskId, action: 'progress', note: 'half of the\u200B files' })
    expect(taskOf(harness, taskId)).toMatchObject({ state: 'working', progress: 'half of the files' })
    const { task, history } = harness.tasks.readTask(harness.callerOf('operator'), taskId)
    expect(task.progress).toBe('half of the files')
    expect(history.map(({ action }) => action)).toEqual(['given', 'begin', 'progress'])
  })

  test('takes on what waits in its lane, before its run begins', async () => {
    const harness = await aStartedHarness()
    harness.chat('worker')
    harness.chat('operator')
    await harness.clock.settle()
    const { task_id: taskId } = harness.handOff(harness.callerOf('operator'), { to: 'worker', ...work })
    update(harness, 'worker', { taskId, action: 'accept' })
    expect(taskOf(harness, taskId).state).toBe('accepted')
    harness.agents.finish('worker')
    await harness.clock.settle()
    expect(taskOf(harness, taskId).state).toBe('working')
    expect(codeOf(() => update(harness, 'worker', { taskId, action: 'accept' }))).toBe('conflict')
  })

  test('asks a question, is answered, and goes on in a run that knows both', async () => {
    const { harness, parent, taskId, runId } = await aHandOff()
    update(harness, 'worker', { taskId, action: 'block', note: 'which folder?' })
    harness.agents.finish('worker')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(taskOf(harness, taskId)).toMatchObject({ state: 'blocked', blocked_by: 'question' })
    expect(messagesTo(harness, parent.id)[1]).toContain('which folder?')
    manage(harness, harness.callerOf('operator'), { taskId, action: 'answer', note: 'the second' })
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.state(parent)).toBe('waiting')
    expect(taskOf(harness, taskId).run_id).not.toBe(runId)
    expect(told(harness, 'worker')).toContain('block by agent:worker: which folder?')
    expect(told(harness, 'worker')).toContain('answer by agent:operator: the second')
    // Asked twice, its giver is told twice.
    update(harness, 'worker', { taskId, action: 'block', note: 'which file?' })
    harness.agents.finish('worker')
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)[2]).toContain('which file?')
    manage(harness, person, { taskId, action: 'answer', note: 'all' })
    await harness.clock.settle()
    done(harness, 'worker', taskId)
    harness.agents.finish('worker')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)[3]).toContain('is done')
  })

  test('that is answered before its turn ends tells a later attempt of that turn what the first was told', async () => {
    const { harness, taskId, runId } = await aHandOff()
    const first = harness.workOf(taskId, runId)
    expect(first?.answer).toBeNull()
    update(harness, 'worker', { taskId, action: 'block', note: 'which folder?' })
    manage(harness, person, { taskId, action: 'answer', note: 'the second' })
    // Its agent may be killed now: told another task, it would begin anew, and do again what it did.
    expect(harness.workOf(taskId, runId)).toEqual(first)
    expect(harness.workOf(taskId)?.answer?.text).toBe('the second')
    expect(taskOf(harness, taskId).run_id).not.toBe(runId)
  })

  test('that asked stays blocked until it is answered, whatever its agent says before its turn ends', async () => {
    const { harness, taskId } = await aHandOff()
    update(harness, 'worker', { taskId, action: 'block', note: 'which folder?' })
    for (const status of ['done', 'failed'] as const) {
      const said = { taskId, status, summary: 'I wait for the answer.', result: null }
      expect(() => harness.completeTask(harness.callerOf('worker'), said)).toThrow(
        expect.objectContaining({ code: 'conflict', repair: expect.stringContaining('End your turn') }),
      )
    }
    harness.agents.finish('worker', { response: 'I wait for the answer.' })
    await harness.clock.settle()
    expect(taskOf(harness, taskId)).toMatchObject({ state: 'blocked', summary: 'which folder?' })
    manage(harness, person, { taskId, action: 'answer', note: 'the second' })
    await harness.clock.settle()
    expect(done(harness, 'worker', taskId).state).toBe('done')
  })

  test('asks nothing without words, and closes no task of another', async () => {
    const { harness, taskId } = await aHandOff()
    expect(codeOf(() => update(harness, 'worker', { taskId, action: 'block' }))).toBe('bad-request')
    expect(codeOf(() => update(harness, 'operator', { taskId, action: 'block', note: 'x' }))).toBe(
      'not-found',
    )
    expect(codeOf(() => update(harness, 'worker', { taskId, action: 'progress' }))).toBe('bad-request')
  })

  test('says so much of its progress and no more', async () => {
    const { harness, taskId } = await aHandOff()
    for (let count = 0; count < taskLimits.progressMax; count++) {
      update(harness, 'worker', { taskId, action: 'progress', note: `file ${count}` })
    }
    const more = () => update(harness, 'worker', { taskId, action: 'progress', note: 'one more' })
    expect(codeOf(more)).toBe('unprocessable')
  })

  test('is asked the very same in every attempt, whatever it has said of it meanwhile', async () => {
    const { harness, taskId } = await aHandOff()
    const say = (note: string) =>
      harness.tasks.updateTask(harness.callerOf('worker'), {
        taskId,
        action: 'progress',
        note,
        artifacts: [`${note}.txt`],
      })
    const before = harness.workOf(taskId)
    say('half')
    expect(harness.workOf(taskId)).toEqual(before)
    await loseThreeTimes(harness)
    manage(harness, person, { taskId, action: 'retry' })
    await harness.clock.settle()
    const again = harness.workOf(taskId)
    expect(again).not.toEqual(before)
    say('more')
    expect(harness.workOf(taskId)).toEqual(again)
  })
})

describe('a task that needs others', () => {
  async function twoTasks() {
    const harness = await aStartedHarness()
    const parent = harness.chat('operator')
    await harness.clock.settle()
    const caller = harness.callerOf('operator')
    const first = harness.handOff(caller, { to: 'worker', ...work })
    const second = harness.tasks.handOff(caller, { to: 'other', ...work, needs: [first.task_id] })
    await harness.clock.settle()
    return { harness, parent, first: first.task_id, second: second.task_id, reply: second }
  }

  test('has no run before they are done, and one right after', async () => {
    const { harness, first, second, reply } = await twoTasks()
    expect(reply).toMatchObject({ run_id: null, state: 'pending' })
    expect(reply.note).toMatch(/it starts when task_1 is done.*do not give it again/)
    done(harness, 'worker', first)
    await harness.clock.settle()
    expect(taskOf(harness, second)).toMatchObject({ state: 'working', waits_for: null })
    const run = harness.ledger.queries.find(taskOf(harness, second).run_id!)
    expect(run?.origin).toEqual({ kind: 'operator', channel: 'agent', user: 'operator' })
  })

  test('is waited for like any other, and its result comes', async () => {
    const { harness, parent, first, second } = await twoTasks()
    harness.agents.finish('operator')
    done(harness, 'worker', first)
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)).toHaveLength(2)
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.state(parent)).toBe('waiting')
    done(harness, 'other', second)
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)[2]).toContain(second)
  })

  test('is blocked when one of them fails, and begins when that is done again', async () => {
    const { harness, first, second } = await twoTasks()
    const failed = { taskId: first, status: 'failed', summary: 'no', result: null } as const
    harness.completeTask(harness.callerOf('worker'), failed)
    expect(taskOf(harness, second)).toMatchObject({ state: 'blocked', blocked_by: 'dependency' })
    const inVain = () => manage(harness, person, { taskId: second, action: 'retry' })
    expect(codeOf(inVain)).toBe('conflict')
    harness.agents.finish('worker')
    await harness.clock.settle()
    const again = manage(harness, harness.callerOf('operator'), { taskId: first, action: 'retry' })
    await harness.clock.settle()
    expect(again).toMatchObject({ previous_task_id: first, assignee: 'worker', state: 'pending' })
    done(harness, 'worker', again.id)
    manage(harness, person, { taskId: second, action: 'retry' })
    await harness.clock.settle()
    expect(taskOf(harness, second).state).toBe('working')
  })

  test('begins after a mesh that died right after the end of what it needs', async () => {
    const { harness, first, second } = await twoTasks()
    // As the rows stand when the commit is there and nothing that follows it has happened.
    harness.database.exec(`UPDATE tasks SET state = 'done', completed_at = 1 WHERE id = '${first}'`)
    const again = await harness.restarted()
    opened.push(again)
    again.ledger.start()
    again.tasks.sweep()
    await again.clock.settle()
    expect(taskOf(again, second).state).toBe('working')
  })

  test('ends with the run that asked for it', async () => {
    const { harness, parent, second } = await twoTasks()
    harness.ledger.lifecycle.cancelRun(person, parent.id)
    expect(taskOf(harness, second)).toMatchObject({ state: 'cancelled', run_id: null })
  })

  test('cannot need what its giver may not see', async () => {
    const { harness, first } = await twoTasks()
    const needs = ['task_none']
    const asked = () => harness.handOff(harness.callerOf('operator'), { to: 'third', ...work, needs })
    expect(codeOf(asked)).toBe('not-found')
    expect(taskOf(harness, first).state).toBe('working')
  })

  test('is blocked where its giver may no longer give it', async () => {
    let denied = false
    const guard = () => {
      if (denied) throw new Problem('denied', { detail: 'no more' })
    }
    const harness = await aStartedHarness({ guard })
    harness.chat('operator')
    await harness.clock.settle()
    const caller = harness.callerOf('operator')
    const first = harness.handOff(caller, { to: 'worker', ...work })
    const second = harness.tasks.handOff(caller, { to: 'other', ...work, needs: [first.task_id] })
    await harness.clock.settle()
    harness.taskTable.replace(taskOf(harness, first.task_id), {
      ...taskOf(harness, first.task_id),
      state: 'done',
      completed_at: 1,
    })
    denied = true
    harness.tasks.sweep()
    expect(taskOf(harness, second.task_id)).toMatchObject({ state: 'blocked', blocked_by: 'infrastructure' })
    expect(taskOf(harness, second.task_id).summary).toContain('no more')
  })
})

describe('a task for an agent that cannot begin', () => {
  test('is kept while the lane is full, says so, and begins when there is room', async () => {
    heedsLesson(45)
    const harness = await aStartedHarness()
    for (let count = 0; count < 101; count++) {
      harness.chat('worker', `${count}`)
      if (count === 0) await harness.clock.settle()
    }
    harness.chat('operator')
    await harness.clock.settle()
    const given = harness.tasks.handOff(harness.callerOf('operator'), { to: 'worker', ...work })
    expect(given).toMatchObject({ run_id: null, state: 'pending' })
    expect(given.note).toContain('the lane of worker is full')
    harness.agents.finish('worker')
    await harness.clock.settle()
    harness.tasks.release()
    expect(taskOf(harness, given.task_id)).toMatchObject({ waits_for: null })
    expect(harness.state({ id: taskOf(harness, given.task_id).run_id! })).toBe('queued')
  })

  test('says why it will not begin at once', async () => {
    const unreachable = () => 'no agent is started at the moment: canary'
    const harness = await aStartedHarness({ taskAgents: { unreachable } })
    const reply = harness.tasks.handOff(person, { to: 'worker', ...work })
    expect(reply.note).toMatch(/canary.*do not give it again/)
    expect(reply.run_id).not.toBeNull()
  })

  test('waits in bounded numbers', async () => {
    const { harness, taskId } = await aHandOff()
    const caller = harness.callerOf('operator')
    const give = () => harness.tasks.handOff(caller, { to: 'other', ...work, needs: [taskId] })
    for (let count = 0; count < taskLimits.waitingPerAgentMax; count++) give()
    expect(codeOf(give)).toBe('unprocessable')
  })
})

describe('whoever gave or routes a task', () => {
  test('gives it to another, whose work is told to the run that waits', async () => {
    const { harness, parent, taskId, runId } = await aHandOff()
    harness.agents.finish('operator')
    await harness.clock.settle()
    manage(harness, person, { taskId, action: 'reroute', to: 'other', note: 'worker is ill' })
    await harness.clock.settle()
    expect(harness.state({ id: runId })).toBe('cancelled')
    expect(harness.agents.cancelled).toContain(runId)
    expect(taskOf(harness, taskId)).toMatchObject({ assignee: 'other', state: 'working', round: 1 })
    expect(told(harness, 'other')).toContain('from worker to other: worker is ill')
    done(harness, 'other', taskId)
    await harness.clock.settle()
    expect(messagesTo(harness, parent.id)[1]).toContain('which you gave to other, is done')
  })

  test('does not give it to somebody who waits for it', async () => {
    const { harness, taskId } = await aHandOff()
    const reroute = () => manage(harness, person, { taskId, action: 'reroute', to: 'operator' })
    expect(codeOf(reroute)).toBe('hand-off-refused')
    expect(taskOf(harness, taskId)).toMatchObject({ assignee: 'worker', round: 0, state: 'working' })
  })

  test('cancels it with all that was handed on below', async () => {
    const { harness, parent, taskId, runId } = await aHandOff()
    const below = harness.handOff(harness.callerOf('worker'), { to: 'other', ...work })
    const waiting = harness.tasks.handOff(harness.callerOf('worker'), {
      to: 'third',
      ...work,
      needs: [below.task_id],
    })
    await harness.clock.settle()
    expect(taskOf(harness, below.task_id).parent_task_id).toBe(taskId)
    manage(harness, harness.callerOf('operator'), { taskId, action: 'cancel', note: 'not wanted' })
    harness.agents.finish('operator')
    await harness.clock.settle()
    const states = [taskId, below.task_id, waiting.task_id].map((id) => taskOf(harness, id).state)
    expect(states).toEqual(['cancelled', 'cancelled', 'cancelled'])
    expect(harness.state({ id: runId })).toBe('cancelled')
    expect(messagesTo(harness, parent.id)[1]).toContain('not wanted')
  })

  test('says what it is worth: the words wait for its agent, and a rework is a new task', async () => {
    const { harness, taskId } = await aHandOff()
    done(harness, 'worker', taskId)
    harness.agents.finish('worker')
    await harness.clock.settle()
    const caller = harness.callerOf('operator')
    const said = { taskId, outcome: 'rework', comment: 'count MIT too' } as const
    const { task, rework } = harness.tasks.reviewTask(caller, said)
    await harness.clock.settle()
    expect(task).toMatchObject({ state: 'done', outcome: 'rework', feedback: 'count MIT too' })
    expect(rework).toMatchObject({ previous_task_id: taskId, assignee: 'worker' })
    expect(told(harness, 'worker')).toContain('count MIT too')
    expect(told(harness, 'worker')).toContain('seven')
    expect(harness.hooks.feedbackFor.ask('worker')).toMatchObject([
      { taskId, outcome: 'rework', comment: 'count MIT too', by: 'operator' },
    ])
    expect(harness.feedbackGiven).toEqual(['worker'])
    // Said again it changes nothing, and another verdict comes too late.
    expect(harness.tasks.reviewTask(caller, said).rework).toBeNull()
    const other = () => harness.tasks.reviewTask(caller, { taskId, outcome: 'accepted', comment: '' })
    expect(codeOf(other)).toBe('conflict')
  })

  test('judges what has ended, with a reason where it is not good', async () => {
    const { harness, taskId } = await aHandOff()
    const review = (outcome: 'accepted' | 'rejected', comment: string) => () =>
      harness.tasks.reviewTask(person, { taskId, outcome, comment })
    expect(codeOf(review('accepted', ''))).toBe('conflict')
    done(harness, 'worker', taskId)
    expect(codeOf(review('rejected', ' '))).toBe('bad-request')
    expect(codeOf(review('rejected', 'made up'))).toBe('no problem')
  })
})

describe('others', () => {
  const asAgent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })
  const noRouter = () => ({ allowed: false as const, reason: 'no', field: null })

  test('see no task that is not theirs, whatever they want of it', async () => {
    const { harness, taskId } = await aHandOff({ decide: noRouter })
    harness.chat('stranger')
    await harness.clock.settle()
    const stranger = harness.callerOf('stranger')
    expect(codeOf(() => harness.tasks.readTask(stranger, taskId))).toBe('not-found')
    for (const action of ['answer', 'retry', 'reroute', 'cancel'] as const) {
      const asked = () => manage(harness, stranger, { taskId, action, note: 'x', to: 'stranger' })
      expect(codeOf(asked)).toBe('not-found')
    }
    const judge = () => harness.tasks.reviewTask(stranger, { taskId, outcome: 'rejected', comment: 'x' })
    expect(codeOf(judge)).toBe('not-found')
    expect(taskOf(harness, taskId)).toMatchObject({ state: 'working', round: 0 })
  })

  test('who route tasks do so in their own project, the operator in all', async () => {
    const projects: Record<string, string> = { worker: 'red', member: 'red', outsider: 'blue' }
    const projectOf = (agentId: string) => projects[agentId] ?? null
    const { harness, taskId } = await aHandOff({ taskAgents: { projectOf } })
    expect(taskOf(harness, taskId).project).toBe('red')
    expect(harness.tasks.readTask(asAgent('member'), taskId).task.id).toBe(taskId)
    expect(codeOf(() => harness.tasks.readTask(asAgent('outsider'), taskId))).toBe('not-found')
    expect(harness.tasks.readTask(asAgent('operator'), taskId).task.id).toBe(taskId)
  })
})

describe('the caps of a task', () => {
  test('hold over all its rounds', async () => {
    const harness = await aStartedHarness()
    const tokenBudget = { max_cost_usd: 1, max_tokens: 1000 }
    const given = harness.handOff(person, { to: 'worker', ...work, tokenBudget, maxTurns: 7 })
    await harness.clock.settle()
    expect(harness.tasks.capsOf(given.task_id)).toEqual({ maxTurns: 7, maxCostUsd: 1, callsBefore: 0 })
    harness.ledger.lifecycle.addRunCost(given.run_id, 0.25, 400)
    update(harness, 'worker', { taskId: given.task_id, action: 'block', note: 'which?' })
    harness.agents.finish('worker')
    await harness.clock.settle()
    manage(harness, person, { taskId: given.task_id, action: 'answer', note: 'that' })
    const second = harness.ledger.queries.find(taskOf(harness, given.task_id).run_id!)
    expect(second).toMatchObject({ budgetUsd: 0.75, budgetTokens: 600 })
    harness.ledger.lifecycle.addRunCost(second!.id, 5, 5000)
    await harness.clock.settle()
    await loseThreeTimes(harness)
    manage(harness, person, { taskId: given.task_id, action: 'retry' })
    // A run that may use next to nothing says itself why it ends.
    const third = harness.ledger.queries.find(taskOf(harness, given.task_id).run_id!)
    expect(third).toMatchObject({ budgetUsd: 0.000001, budgetTokens: 1 })
  })
})

describe('ended tasks', () => {
  test('are kept for 90 days', async () => {
    const { harness, taskId } = await aHandOff()
    done(harness, 'worker', taskId)
    await harness.clock.settle()
    const endedAt = taskOf(harness, taskId).completed_at!
    harness.database.exec(`UPDATE tasks SET completed_at = ${endedAt - taskLimits.retentionMs + 1}`)
    harness.tasks.sweep()
    expect(harness.taskTable.find(taskId)).not.toBeNull()
    harness.database.exec(`UPDATE tasks SET completed_at = ${endedAt - taskLimits.retentionMs}`)
    harness.tasks.sweep()
    expect(harness.taskTable.find(taskId)).toBeNull()
    expect(harness.database.prepare('SELECT count(*) AS count FROM task_history').get()).toEqual({ count: 0 })
  })
})
