import { steerLimits } from '@flotilla/protocol/steer-limits'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aLedgerHarness, person } from '../../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import { runLimits } from '../run-limits.ts'

async function started(): Promise<LedgerHarness> {
  const harness = aLedgerHarness()
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  await harness.clock.settle()
  return harness
}

/** A ledger in which `ada` executes a chat. */
async function atWork() {
  const harness = await started()
  const run = harness.chat('ada', 'count')
  await harness.clock.settle()
  return { harness, run }
}

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}
const heard = (harness: LedgerHarness, agentId = 'ada') => [
  ...(harness.agents.working(agentId)?.steers.keys() ?? []),
]
const take = (harness: LedgerHarness, ids: readonly string[], step = 3) =>
  harness.ledger.steering.takeSteers(harness.callerOf('ada'), { ids, step })

describe('a steer to an agent at work', () => {
  test('a steer to an agent at work is attached to its run, reaches the agent, and is not a run', async () => {
    const { harness, run } = await atWork()
    const steer = harness.steer('ada')
    expect(steer).toMatchObject({ state: 'waiting', runId: run.id, becameRunId: null })
    await harness.clock.settle()
    expect(harness.agents.working('ada')?.steers.get(steer.id)).toEqual({
      id: steer.id,
      from: 'your user',
      text: 'also this',
    })
    expect(harness.ledger.queries.list({ limit: 10 })).toHaveLength(1)
  })

  test.each([
    [
      'a member',
      { kind: 'human', channel: 'api', role: 'member', user: 'ann', person: 'ann' },
      'ann, a member and not your owner,',
    ],
    [
      'a named owner',
      { kind: 'human', channel: 'api', role: 'owner', user: 'max', person: 'max' },
      'your user',
    ],
    ['a watch', { kind: 'system' }, 'the fleet, because of your watch watch_1,'],
  ] as const)('a steer of %s names its real sender to the agent', async (_who, caller, from) => {
    const { harness } = await atWork()
    const more = caller.kind === 'system' ? ({ trigger: 'watcher', triggerId: 'watch_1' } as const) : {}
    const { id } = harness.ledger.steering.steerRun(caller, { agentId: 'ada', text: 'also this', ...more })
    await harness.clock.settle()
    expect(harness.agents.working('ada')?.steers.get(id)?.from).toBe(from)
  })

  test('a steer is taken once the agent confirms it, and the run shows the step', async () => {
    const { harness, run } = await atWork()
    const { id } = harness.steer('ada')
    expect(take(harness, [id])).toBe(1)
    expect(take(harness, [id])).toBe(1)
    expect(harness.steersOf(run)).toMatchObject([{ id, state: 'taken', step: 3, became_run_id: null }])
    harness.agents.finish('ada')
    await harness.clock.settle()
    expect(harness.ledger.queries.list({ limit: 10 })).toHaveLength(1)
    const told = harness.database
      .prepare("SELECT action FROM journal WHERE action LIKE 'steer.%' ORDER BY seq")
      .all()
    expect(told.map((row) => row['action'])).toEqual(['steer.accepted', 'steer.taken'])
    const events = harness.events
      .since(0, 1000)
      .flatMap(({ body }) => (body.type === 'steer.changed' ? [body] : []))
    expect(events).toMatchObject([
      { state: 'waiting', run_id: run.id, step: null },
      { state: 'taken', run_id: run.id, step: 3 },
    ])
  })

  test.each([
    ['done', {}],
    ['failed', { status: 'failed', error: { code: 'model-failed', detail: 'no' } }],
  ] as const)(
    'a steer to an agent at work that its run did not take is a run of its own when that is %s',
    async (state, end) => {
      const { harness, run } = await atWork()
      const { id } = harness.steer('ada')
      harness.agents.finish('ada', end)
      await harness.clock.settle()
      expect(harness.state(run)).toBe(state)
      const [now] = harness.steersOf(run)
      const became = harness.ledger.queries.find(now?.became_run_id ?? '')
      expect(now).toMatchObject({ id, state: 'became-run', step: null })
      expect(became).toMatchObject({
        state: 'running',
        input: { kind: 'chat', message: 'also this', session: 'main' },
        origin: { kind: 'human', channel: 'cli' },
      })
      expect(harness.steersOf(became ?? run)).toEqual([now])
      expect(codeOf(() => take(harness, [id]))).toBe('not-found')
    },
  )

  test('a steer of a person that was not read goes back when the run is stopped, and starts nothing', async () => {
    const { harness, run } = await atWork()
    const { id } = harness.steer('ada')
    const { id: ofWatch } = harness.ledger.steering.steerRun(
      { kind: 'system' },
      { agentId: 'ada', text: 'a file came', trigger: 'watcher', triggerId: 'watch_1' },
    )
    harness.ledger.lifecycle.cancelRun(person, run.id)
    await harness.clock.settle()
    const [mine, watch] = harness.steersOf(run)
    expect(mine).toMatchObject({ id, state: 'returned', became_run_id: null })
    expect(mine?.settled_at).not.toBeNull()
    // The steer of a trigger becomes a run of its own when the run that it was attached to is cancelled.
    expect(watch).toMatchObject({ id: ofWatch, state: 'became-run' })
    expect(harness.ledger.queries.list({ limit: 10 }).map(({ input }) => input)).toMatchObject([
      { message: 'a file came' },
      { message: 'count' },
    ])
    expect(codeOf(() => take(harness, [id]))).toBe('not-found')
  })

  test('a steer does not wait for the children of a run that parks', async () => {
    const harness = await started()
    const parent = harness.chat('operator')
    await harness.clock.settle()
    harness.handOff(harness.callerOf('operator'), { to: 'ada', title: 'work', description: '', data: {} })
    harness.steer('operator')
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.state(parent)).toBe('waiting')
    const [steer] = harness.steersOf(parent)
    expect(harness.state({ id: steer?.became_run_id ?? '' })).toBe('running')
    // In its next turn the run cannot read a steer that has become a run.
    harness.agents.finish('operator')
    harness.agents.finish('ada')
    await harness.clock.settle()
    harness.agents.finish('ada')
    await harness.clock.settle()
    expect(harness.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1 })
    const late = { ids: [steer?.id ?? ''], step: 9 }
    expect(codeOf(() => harness.ledger.steering.takeSteers(harness.callerOf('operator'), late))).toBe(
      'not-found',
    )
  })

  test('a steer is sent with the next attempt of a run whose agent died, whether it was taken or not', async () => {
    const { harness, run } = await atWork()
    const [taken, waiting] = [harness.steer('ada', 'one'), harness.steer('ada', 'two')]
    take(harness, [taken.id], 2)
    harness.agents.die('ada')
    await harness.clock.advance(5000)
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 2 })
    expect(heard(harness)).toEqual([taken.id, waiting.id])
    // After a lost checkpoint the agent starts again and reads the same steers again.
    take(harness, [taken.id, waiting.id], 7)
    expect(harness.steersOf(run).map(({ state, step }) => [state, step])).toEqual([
      ['taken', 7],
      ['taken', 7],
    ])
  })

  test('a steer that an earlier turn took is not sent with a later one', async () => {
    const harness = await started()
    const parent = harness.chat('operator')
    await harness.clock.settle()
    const operator = harness.callerOf('operator')
    harness.handOff(operator, { to: 'ada', title: 'work', description: '', data: {} })
    const steer = harness.steer('operator')
    harness.ledger.steering.takeSteers(operator, { ids: [steer.id], step: 1 })
    harness.agents.finish('operator')
    await harness.clock.settle()
    harness.agents.finish('ada')
    await harness.clock.settle()
    harness.agents.finish('ada')
    await harness.clock.settle()
    expect(harness.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1 })
    expect(heard(harness, 'operator')).toEqual([])
  })

  test('a steer is delivered after a restart of the mesh that came before its delivery', async () => {
    const { harness } = await atWork()
    const steer = harness.steer('ada')
    const again = await harness.restarted()
    onTestFinished(() => again.ledger.close())
    again.ledger.start()
    await again.clock.settle()
    expect(heard(again)).toEqual([steer.id])
  })

  test('a steer waits for an agent that does not answer, and reaches it later', async () => {
    const { harness } = await atWork()
    harness.agents.hang('ada', true)
    const steer = harness.steer('ada')
    await harness.clock.advance(3000)
    expect(heard(harness)).toEqual([])
    harness.agents.hang('ada', false)
    await harness.clock.advance(3000)
    expect(heard(harness)).toEqual([steer.id])
  })

  test('a steer under the same key is the same steer, then the same run; a different request is a conflict', async () => {
    const { harness, run } = await atWork()
    const key = { idempotencyKey: 'key-1' }
    const steer = harness.steer('ada', 'also this', key)
    expect(harness.steer('ada', 'also this', key).id).toBe(steer.id)
    expect(codeOf(() => harness.steer('ada', 'other', key))).toBe('conflict')
    expect(codeOf(() => harness.chat('ada', 'also this', 'key-1'))).toBe('conflict')
    harness.agents.finish('ada')
    await harness.clock.settle()
    const [became] = harness.steersOf(run)
    expect(harness.steer('ada', 'also this', key).becameRunId).toBe(became?.became_run_id)
    // The key of the steer is the key of the run that it became, so that its sender can follow it.
    expect(harness.chat('ada', 'also this', 'key-1').id).toBe(became?.became_run_id)
    harness.chat('ada', 'hello', 'key-2')
    expect(codeOf(() => harness.steer('ada', 'hello', { idempotencyKey: 'key-2' }))).toBe('conflict')
    expect(harness.steersOf(run)).toHaveLength(1)
  })

  test('a steer beyond the limit of its run is rejected', async () => {
    const { harness } = await atWork()
    for (let count = 0; count < steerLimits.perRunMax; count++) harness.steer('ada')
    expect(codeOf(() => harness.steer('ada'))).toBe('unprocessable')
  })

  test('a waiting steer takes a place in the lane for the run that it may become', async () => {
    const { harness } = await atWork()
    for (let count = 1; count < runLimits.laneQueueMax; count++) harness.chat('ada')
    const steer = harness.steer('ada')
    expect(codeOf(() => harness.chat('ada'))).toBe('lane-full')
    expect(codeOf(() => harness.steer('ada'))).toBe('lane-full')
    take(harness, [steer.id])
    expect(codeOf(() => harness.chat('ada'))).toBe('no problem')
  })

  test("where steers alone fill the lane, a trigger's run that a person requests enters with the current time", async () => {
    const { harness } = await atWork()
    const { id } = harness.steer('ada')
    const columns = harness.database
      .prepare("SELECT name FROM pragma_table_info('steers') WHERE name NOT IN ('id', 'position')")
      .all()
      .map((row) => String(row['name']))
      .join()
    for (let count = 1; count < runLimits.laneQueueMax; count++) {
      harness.database
        .prepare(`INSERT INTO steers (id, ${columns}) SELECT ?, ${columns} FROM steers WHERE id = ?`)
        .run(`${id}-${count}`, id)
    }
    const run = harness.ledger.queue.submitRun(
      { kind: 'system' },
      {
        agentId: 'ada',
        input: { kind: 'chat', message: 'try it', session: 'webhook:one' },
        trigger: 'webhook',
        triggerId: 'one',
        requestedByPerson: true,
      },
    )
    expect(run.queuedSince).toBe(harness.clock.now() - 1)
  })

  test('a steer enters the lane at the time when it was sent', async () => {
    const { harness, run } = await atWork()
    const steer = harness.steer('ada')
    await harness.clock.advance(10)
    const later = harness.chat('ada', 'later')
    harness.agents.finish('ada')
    await harness.clock.settle()
    const [now] = harness.steersOf(run)
    expect(now?.id).toBe(steer.id)
    expect([harness.state({ id: now?.became_run_id ?? '' }), harness.state(later)]).toEqual([
      'running',
      'queued',
    ])
  })
})

describe('a steer to an agent that is not at work on that', () => {
  test('a steer to an idle agent is a run at once', async () => {
    const harness = await started()
    const steer = harness.steer('ada')
    expect(steer).toMatchObject({ state: 'became-run', runId: null })
    expect(harness.ledger.queries.find(steer.becameRunId ?? '')?.input).toEqual({
      kind: 'chat',
      message: 'also this',
      session: 'default',
    })
  })

  test('a steer to an idle agent is a run in the session of its sender, and not in that of the terminal', async () => {
    const harness = await started()
    const caller = { kind: 'human', role: 'owner', channel: 'telegram', user: '17' } as const
    const steer = harness.ledger.steering.steerRun(caller, { agentId: 'ada', text: 'also this' })
    expect(harness.ledger.queries.find(steer.becameRunId ?? '')?.input).toMatchObject({
      session: 'telegram:17',
    })
  })

  test.each(['heartbeat', 'task:task_1', 'tool:run_1'])(
    'a steer to an agent that is not at work on that begins no turn in the conversation %s, nor does a message',
    async (session) => {
      const harness = await started()
      const input = { kind: 'chat', message: 'close it', session } as const
      expect(codeOf(() => harness.steer('ada', 'also this', { session }))).toBe('bad-request')
      expect(codeOf(() => harness.ledger.queue.submitRun(person, { agentId: 'ada', input }))).toBe(
        'bad-request',
      )
      expect(harness.ledger.queries.list({ limit: 5 })).toEqual([])
    },
  )

  test.each([
    ['another conversation', 'elsewhere', 'became-run'],
    ['the conversation of its run', 'main', 'waiting'],
  ])('a message is a steer when it names %s', async (_name, session, state) => {
    const { harness } = await atWork()
    expect(harness.steer('ada', 'also this', { session }).state).toBe(state)
  })

  test('a steer during a single tool call is a run of its own', async () => {
    const harness = await started()
    const input = { kind: 'tool', tool: 'list_files', params: {} } as const
    harness.ledger.queue.submitRun(person, { agentId: 'ada', input })
    await harness.clock.settle()
    expect(harness.steer('ada').state).toBe('became-run')
  })

  test('a steer to an unknown agent is rejected', async () => {
    const harness = await started()
    expect(codeOf(() => harness.steer('nobody'))).toBe('unknown-agent')
  })
})

describe('a steer to an agent that is given no work but its own', () => {
  const reason = 'agent spawn_1 was spawned for one task and accepts no other work'

  async function spawned() {
    const harness = await started()
    const asking = harness.chat('operator')
    await harness.clock.settle()
    const operator = harness.callerOf('operator')
    const given = harness.handOff(operator, { to: 'spawn_1', title: 'work', description: '', data: {} })
    await harness.clock.settle()
    harness.workEvents.reasonsToGiveNoWork.subscribe((agentId) => (agentId === 'spawn_1' ? [reason] : []))
    return { harness, asking, operator, given }
  }

  test('a steer to a spawned agent is rejected where it would become a run at once, as a message is', async () => {
    const { harness } = await spawned()
    const elsewhere = () => harness.steer('spawn_1', 'also this', { session: 'elsewhere' })
    expect(codeOf(() => harness.chat('spawn_1'))).toBe('conflict')
    expect(codeOf(elsewhere)).toBe('conflict')
    expect(elsewhere).toThrow(reason)
    expect(harness.ledger.queries.list({ agentId: 'spawn_1', limit: 5 })).toHaveLength(1)
  })

  test('a steer to a spawned agent reaches its work, and its sender learns why it never becomes a run', async () => {
    const { harness, operator, asking, given } = await spawned()
    const [read, late] = [
      harness.ledger.steering.steerRun(operator, { agentId: 'spawn_1', text: 'faster' }),
      harness.steer('spawn_1'),
    ]
    const tooLate = harness.ledger.steering.steerRun(operator, { agentId: 'spawn_1', text: 'slower' })
    const worker = harness.callerOf('spawn_1')
    harness.ledger.steering.takeSteers(worker, { ids: [read.id], step: 1 })
    harness.completeTask(worker, { taskId: given.task_id, status: 'done', summary: 'did it', result: null })
    harness.agents.finish('spawn_1')
    await harness.clock.settle()
    const steers = harness.steersOf({ id: given.run_id })
    expect(steers.map(({ state }) => state)).toEqual(['taken', 'became-run', 'became-run'])
    expect(harness.agents.sent.filter(({ agentId }) => agentId === 'spawn_1')).toHaveLength(1)
    const ends = [late, tooLate].map(({ id }) => {
      const runId = steers.find((steer) => steer.id === id)?.became_run_id ?? ''
      return harness.ledger.queries.find(runId)
    })
    const undeliverable = {
      state: 'cancelled',
      startedAt: null,
      outcome: { text: expect.stringContaining(reason) },
    }
    expect(ends).toMatchObject([undeliverable, undeliverable])
    expect(harness.ledger.delivery.outbox.ofRun(ends[0]?.id ?? '')).toMatchObject([
      { recipient: 'human:cli' },
    ])
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.agents.sent.at(-1)).toMatchObject({
      runId: asking.id,
      message: expect.stringMatching(/Your message to spawn_1 \("slower"\)[^]*accepts no other work/),
    })
  })
})

describe('a steer of an agent', () => {
  /** The operator handed work to `ada` and continues its own turn. */
  async function given() {
    const harness = await started()
    const asking = harness.chat('operator')
    await harness.clock.settle()
    const operator = harness.callerOf('operator')
    harness.handOff(operator, { to: 'ada', title: 'work', description: '', data: {} })
    await harness.clock.settle()
    return { harness, asking, operator }
  }

  test("an agent's steer reaches the agent that works on its hand-off, in its own name", async () => {
    const { harness, operator } = await given()
    const steer = harness.ledger.steering.steerRun(operator, { agentId: 'ada', text: 'faster' })
    await harness.clock.settle()
    expect(harness.agents.working('ada')?.steers.get(steer.id)?.from).toBe('agent operator')
  })

  test("an agent's steer is a conflict where the target is idle, and the problem names hand_off", async () => {
    const { harness, operator } = await given()
    expect(() => harness.ledger.steering.steerRun(operator, { agentId: 'bob', text: 'faster' })).toThrow(
      /hand_off/,
    )
  })

  test("an agent's late steer is answered by a run below its own, and it receives the answer", async () => {
    const { harness, asking, operator } = await given()
    harness.ledger.steering.steerRun(operator, { agentId: 'ada', text: 'faster' })
    const ada = harness.callerOf('ada')
    const taskId = ada.kind === 'agent' ? (ada.run?.taskId ?? '') : ''
    harness.completeTask(ada, { taskId, status: 'done', summary: 'did it', result: null })
    harness.agents.finish('ada')
    await harness.clock.settle()
    const own = harness.ledger.queries.list({ agentId: 'ada', limit: 1 })[0]
    expect(own).toMatchObject({
      state: 'running',
      parentId: asking.id,
      depth: 1,
      origin: { kind: 'operator' },
    })
    harness.agents.finish('ada', { response: 'as fast as I can' })
    await harness.clock.settle()
    harness.agents.finish('operator')
    await harness.clock.settle()
    const told = harness.agents.sent.at(-1)
    expect(told).toMatchObject({ agentId: 'operator', runId: asking.id })
    expect(told?.message).toContain('Your message to ada ("faster")')
    expect(told?.message).toContain('as fast as I can')
  })

  test('an agent needs a live run to steer', async () => {
    const { harness, operator } = await given()
    harness.ledger.lifecycle.cancelRun(
      person,
      harness.ledger.queries.list({ agentId: 'operator', limit: 1 })[0]?.id ?? '',
    )
    expect(codeOf(() => harness.ledger.steering.steerRun(operator, { agentId: 'ada', text: 'faster' }))).toBe(
      'stale-fence',
    )
  })
})

describe('what an agent says it took', () => {
  test('confirming a steer is rejected under an old fencing token and for a steer of another run', async () => {
    const { harness } = await atWork()
    const steer = harness.steer('ada')
    const old = harness.callerOf('ada')
    harness.chat('bob')
    await harness.clock.settle()
    const foreign = harness.callerOf('bob')
    const taken = { ids: [steer.id], step: 1 }
    expect(codeOf(() => harness.ledger.steering.takeSteers(foreign, taken))).toBe('not-found')
    harness.agents.die('ada')
    await harness.clock.advance(5000)
    expect(codeOf(() => harness.ledger.steering.takeSteers(old, taken))).toBe('stale-fence')
    expect(codeOf(() => harness.ledger.steering.takeSteers(person, taken))).toBe('not-found')
    expect(codeOf(() => take(harness, [steer.id]))).toBe('no problem')
  })

  test('confirming several steers is all or nothing', async () => {
    const { harness, run } = await atWork()
    const steer = harness.steer('ada')
    expect(codeOf(() => take(harness, [steer.id, 'steer_0']))).toBe('not-found')
    expect(harness.steersOf(run)[0]?.state).toBe('waiting')
  })
})

describe('one conversation and many runs', () => {
  const conversation = (harness: LedgerHarness, session: string) =>
    harness.ledger.queue.submitRun(person, { agentId: 'ada', input: { kind: 'chat', message: 'x', session } })

  test('a run that waits for its children lets other runs into its session', async () => {
    const harness = await started()
    const first = harness.chat('operator', 'first')
    const second = harness.chat('operator', 'second')
    await harness.clock.settle()
    harness.handOff(harness.callerOf('operator'), { to: 'ada', title: 'work', description: '', data: {} })
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect([harness.state(first), harness.state(second)]).toEqual(['waiting', 'running'])
    harness.agents.finish('operator')
    await harness.clock.settle()
    expect(harness.state(second)).toBe('done')
  })

  test('a run that was interrupted in mid-turn continues before other runs of its session, but not before runs of others', async () => {
    const harness = await started()
    const cut = conversation(harness, 'one')
    await harness.clock.settle()
    const same = conversation(harness, 'one')
    const other = conversation(harness, 'two')
    harness.agents.die('ada')
    await harness.clock.advance(1500)
    expect([harness.state(cut), harness.state(same), harness.state(other)]).toEqual([
      'queued',
      'queued',
      'running',
    ])
    harness.agents.finish('ada')
    await harness.clock.advance(5000)
    expect([harness.state(cut), harness.state(same)]).toEqual(['running', 'queued'])
    harness.agents.finish('ada')
    await harness.clock.settle()
    expect(harness.state(same)).toBe('running')
  })
})
