import { Problem } from '@flotilla/protocol/problem'
import { taskLimits } from '@flotilla/protocol/task-actions'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness, LedgerHarnessOptions } from '../../../testing/src/ledger-harness.ts'
import { heedsLesson } from '../../../../tests/verifies.ts'

async function aStartedHarness(options: LedgerHarnessOptions = {}): Promise<LedgerHarness> {
  const harness = aLedgerHarness(options)
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  await harness.clock.settle()
  return harness
}

/** The operator runs and has given one task to the worker, which works on it. */
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

/** The input of the agent's newest task. */
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

describe('a fault of the fleet', () => {
  test('a task whose run is lost three times is blocked, not failed, and continues after a retry', async () => {
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
  ])('a run that ends with %s leaves its task %s', async (code, state, blocker) => {
    const { harness, taskId } = await aHandOff()
    harness.agents.finish('worker', { status: 'failed', error: { code, detail: 'no' } })
    await harness.clock.settle()
    expect(taskOf(harness, taskId)).toMatchObject({ state, blocked_by: blocker })
  })
})

describe('the assignee of a task', () => {
  test('an assignee reports progress, and the creator can read it', async () => {
    const { harness, taskId } = await aHandOff()
    update(harness, 'worker', { taskId, action: 'progress', note: 'half of the\u200B files' })
    expect(taskOf(harness, taskId)).toMatchObject({ state: 'working', progress: 'half of the files' })
    const { task, history } = harness.tasks.readTask(harness.callerOf('operator'), taskId)
    expect(task.progress).toBe('half of the files')
    expect(history.map(({ action }) => action)).toEqual(['given', 'begin', 'progress'])
  })

  test('an assignee accepts a task that waits in its lane, before its run starts', async () => {
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

  test('an assignee asks a question, gets the answer, and continues in a run that knows both', async () => {
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
    // Each question notifies the creator.
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

  test('an answer before the end of the turn does not change the input of a later attempt of that turn', async () => {
    const { harness, taskId, runId } = await aHandOff()
    const first = harness.workOf(taskId, runId)
    expect(first?.answer).toBeNull()
    update(harness, 'worker', { taskId, action: 'block', note: 'which folder?' })
    manage(harness, person, { taskId, action: 'answer', note: 'the second' })
    // If the agent is killed now, a different input would make it repeat its work.
    expect(harness.workOf(taskId, runId)).toEqual(first)
    expect(harness.workOf(taskId)?.answer?.text).toBe('the second')
    expect(taskOf(harness, taskId).run_id).not.toBe(runId)
  })

  test('a task with an open question stays blocked, whatever its agent reports before the turn ends', async () => {
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

  test('an assignee cannot ask an empty question or close a task of another', async () => {
    const { harness, taskId } = await aHandOff()
    expect(codeOf(() => update(harness, 'worker', { taskId, action: 'block' }))).toBe('bad-request')
    expect(codeOf(() => update(harness, 'operator', { taskId, action: 'block', note: 'x' }))).toBe(
      'not-found',
    )
    expect(codeOf(() => update(harness, 'worker', { taskId, action: 'progress' }))).toBe('bad-request')
  })

  test('progress notes are limited', async () => {
    const { harness, taskId } = await aHandOff()
    for (let count = 0; count < taskLimits.progressMax; count++) {
      update(harness, 'worker', { taskId, action: 'progress', note: `file ${count}` })
    }
    const more = () => update(harness, 'worker', { taskId, action: 'progress', note: 'one more' })
    expect(codeOf(more)).toBe('unprocessable')
  })

  test('every attempt gets the same input, whatever the agent has reported meanwhile', async () => {
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

describe('a task with needs', () => {
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

  test('a task with needs has no run before they are done, and one right afterwards', async () => {
    const { harness, first, second, reply } = await twoTasks()
    expect(reply).toMatchObject({ run_id: null, state: 'pending' })
    expect(reply.note).toMatch(/the task starts when task_1 is done.*do not give it again/)
    done(harness, 'worker', first)
    await harness.clock.settle()
    expect(taskOf(harness, second)).toMatchObject({ state: 'working', waits_for: null })
    const run = harness.ledger.queries.find(taskOf(harness, second).run_id!)
    expect(run?.origin).toEqual({ kind: 'operator', channel: 'agent', user: 'operator' })
  })

  test('a task with needs is waited for like any other, and its result arrives', async () => {
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

  test('a task is blocked when one of its needs fails, and starts when that is repeated successfully', async () => {
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

  test('a task starts after a crash that followed the end of its needs', async () => {
    const { harness, first, second } = await twoTasks()
    // The rows after the commit and before its follow-up work.
    harness.database.exec(`UPDATE tasks SET state = 'done', completed_at = 1 WHERE id = '${first}'`)
    const again = await harness.restarted()
    onTestFinished(() => again.ledger.close())
    again.ledger.start()
    again.tasks.sweep()
    await again.clock.settle()
    expect(taskOf(again, second).state).toBe('working')
  })

  test('a waiting task ends with the run that created it', async () => {
    const { harness, parent, second } = await twoTasks()
    harness.ledger.lifecycle.cancelRun(person, parent.id)
    expect(taskOf(harness, second)).toMatchObject({ state: 'cancelled', run_id: null })
  })

  test('a task cannot need one that its creator may not see', async () => {
    const { harness, first } = await twoTasks()
    const needs = ['task_none']
    const asked = () => harness.handOff(harness.callerOf('operator'), { to: 'third', ...work, needs })
    expect(codeOf(asked)).toBe('not-found')
    expect(taskOf(harness, first).state).toBe('working')
  })

  test('a waiting task is blocked if its creator has lost the permission', async () => {
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

describe('a task for an unavailable agent', () => {
  test('a task is kept while the lane is full, says so, and starts when there is space', async () => {
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
    expect(given.note).toContain('the queue of worker is full')
    harness.agents.finish('worker')
    await harness.clock.settle()
    harness.tasks.release()
    expect(taskOf(harness, given.task_id)).toMatchObject({ waits_for: null })
    expect(harness.state({ id: taskOf(harness, given.task_id).run_id! })).toBe('queued')
  })

  test('a task says why it does not start at once', async () => {
    const unreachable = () => 'no agent can be started now: canary'
    const harness = await aStartedHarness({ taskAgents: { unreachable } })
    const reply = harness.tasks.handOff(person, { to: 'worker', ...work })
    expect(reply.note).toMatch(/canary.*do not give it again/)
    expect(reply.run_id).not.toBeNull()
  })

  test('the number of waiting tasks is limited', async () => {
    const { harness, taskId } = await aHandOff()
    const caller = harness.callerOf('operator')
    const give = () => harness.tasks.handOff(caller, { to: 'other', ...work, needs: [taskId] })
    for (let count = 0; count < taskLimits.waitingPerAgentMax; count++) give()
    expect(codeOf(give)).toBe('unprocessable')
  })
})

describe('the creator or router of a task', () => {
  test('a task can be rerouted to another agent, whose result goes to the waiting run', async () => {
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

  test('a task cannot be rerouted to an agent that waits for it', async () => {
    const { harness, taskId } = await aHandOff()
    const reroute = () => manage(harness, person, { taskId, action: 'reroute', to: 'operator' })
    expect(codeOf(reroute)).toBe('hand-off-refused')
    expect(taskOf(harness, taskId)).toMatchObject({ assignee: 'worker', round: 0, state: 'working' })
  })

  test('cancelling a task cancels all hand-offs below it', async () => {
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

  test('a review is stored for the agent, and a rework is a new task', async () => {
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
    expect(harness.fleetEvents.feedbackFor.ask('worker')).toMatchObject([
      { taskId, outcome: 'rework', comment: 'count MIT too', by: 'operator' },
    ])
    expect(harness.feedbackGiven).toEqual(['worker'])
    // A repeated review has no effect, and a different one is a conflict.
    expect(harness.tasks.reviewTask(caller, said).rework).toBeNull()
    const other = () => harness.tasks.reviewTask(caller, { taskId, outcome: 'accepted', comment: '' })
    expect(codeOf(other)).toBe('conflict')
  })

  test('an ended task is reviewed, with a comment unless it is accepted', async () => {
    const { harness, taskId } = await aHandOff()
    const review = (outcome: 'accepted' | 'rejected', comment: string) => () =>
      harness.tasks.reviewTask(person, { taskId, outcome, comment })
    expect(codeOf(review('accepted', ''))).toBe('conflict')
    done(harness, 'worker', taskId)
    expect(codeOf(review('rejected', ' '))).toBe('bad-request')
    expect(codeOf(review('rejected', 'made up'))).toBe('no problem')
  })
})

describe('other agents', () => {
  const asAgent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })
  const noRouter = () => ({ allowed: false as const, reason: 'no', field: null })

  test('agents cannot see tasks of others, whatever the action', async () => {
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

  test('agents that route tasks do so in their own project, and the operator in all', async () => {
    const projects: Record<string, string> = { worker: 'red', member: 'red', outsider: 'blue' }
    const projectOf = (agentId: string) => projects[agentId] ?? null
    const { harness, taskId } = await aHandOff({ taskAgents: { projectOf } })
    expect(taskOf(harness, taskId).project).toBe('red')
    expect(harness.tasks.readTask(asAgent('member'), taskId).task.id).toBe(taskId)
    expect(codeOf(() => harness.tasks.readTask(asAgent('outsider'), taskId))).toBe('not-found')
    expect(harness.tasks.readTask(asAgent('operator'), taskId).task.id).toBe(taskId)
  })
})

describe('the limits of a task', () => {
  test('the limits of a task apply to all its rounds', async () => {
    const harness = await aStartedHarness()
    const tokenBudget = { max_cost_usd: 1, max_tokens: 1000 }
    const given = harness.handOff(person, { to: 'worker', ...work, tokenBudget, maxTurns: 7 })
    await harness.clock.settle()
    expect(harness.tasks.capsOf(given.task_id)).toEqual({ maxTurns: 7, maxCostUsd: 1, callsBefore: 0 })
    harness.ledger.lifecycle.addRunCost(given.run_id, { costUsd: 0.25, tokens: 400 })
    update(harness, 'worker', { taskId: given.task_id, action: 'block', note: 'which?' })
    harness.agents.finish('worker')
    await harness.clock.settle()
    manage(harness, person, { taskId: given.task_id, action: 'answer', note: 'that' })
    const second = harness.ledger.queries.find(taskOf(harness, given.task_id).run_id!)
    expect(second).toMatchObject({ budgetUsd: 0.75, budgetTokens: 600 })
    harness.ledger.lifecycle.addRunCost(second!.id, { costUsd: 5, tokens: 5000 })
    await harness.clock.settle()
    await loseThreeTimes(harness)
    manage(harness, person, { taskId: given.task_id, action: 'retry' })
    // A run without a remaining budget fails at its first call.
    const third = harness.ledger.queries.find(taskOf(harness, given.task_id).run_id!)
    expect(third).toMatchObject({ budgetUsd: 0.000001, budgetTokens: 1 })
  })
})

describe('ended tasks', () => {
  test('ended tasks are kept for 90 days', async () => {
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
