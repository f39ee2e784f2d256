import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import { aLedgerHarness, person } from '../../testing/ledger-harness.ts'
import type { LedgerHarness } from '../../testing/ledger-harness.ts'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((world) => world.ledger.close()))
})

async function started(): Promise<LedgerHarness> {
  const world = aLedgerHarness()
  opened.push(world)
  world.ledger.start()
  await world.clock.settle()
  return world
}

/** A world in which `ada` works on a chat. */
async function atWork() {
  const world = await started()
  const run = world.chat('ada', 'count')
  await world.clock.settle()
  return { world, run }
}

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}
const heard = (world: LedgerHarness, agentId = 'ada') => [
  ...(world.agents.working(agentId)?.steers.keys() ?? []),
]
const take = (world: LedgerHarness, ids: readonly string[], step = 3) =>
  world.ledger.steering.takeSteers(world.callerOf('ada'), { ids, step })

describe('a steer to an agent at work', () => {
  test('is a row attached to its run, reaches the agent, and is no run', async () => {
    const { world, run } = await atWork()
    const steer = world.steer('ada')
    expect(steer).toMatchObject({ state: 'waiting', runId: run.id, becameRunId: null })
    await world.clock.settle()
    expect(world.agents.working('ada')?.steers.get(steer.id)).toEqual({
      id: steer.id,
      from: 'your user',
      text: 'also this',
    })
    expect(world.ledger.queries.list({ limit: 10 })).toHaveLength(1)
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
    ['a watch', { kind: 'system' }, 'the fleet, by your watch watch_1,'],
  ] as const)('of %s tells the agent truthfully who says it', async (_who, caller, from) => {
    const { world } = await atWork()
    const more = caller.kind === 'system' ? ({ trigger: 'watcher', triggerId: 'watch_1' } as const) : {}
    const { id } = world.ledger.steering.steerRun(caller, { agentId: 'ada', text: 'also this', ...more })
    await world.clock.settle()
    expect(world.agents.working('ada')?.steers.get(id)?.from).toBe(from)
  })

  test('is taken once the agent says so, and the run shows at which step', async () => {
    const { world, run } = await atWork()
    const { id } = world.steer('ada')
    expect(take(world, [id])).toBe(1)
    expect(take(world, [id])).toBe(1)
    expect(world.steersOf(run)).toMatchObject([{ id, state: 'taken', step: 3, became_run_id: null }])
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.ledger.queries.list({ limit: 10 })).toHaveLength(1)
    const told = world.database
      .prepare("SELECT action FROM journal WHERE action LIKE 'steer.%' ORDER BY seq")
      .all()
    expect(told.map((row) => row['action'])).toEqual(['steer.accepted', 'steer.taken'])
    const events = world.events
      .since(0, 1000)
      .flatMap(({ body }) => (body.type === 'steer.changed' ? [body] : []))
    expect(events).toMatchObject([
      { state: 'waiting', run_id: run.id, step: null },
      { state: 'taken', run_id: run.id, step: 3 },
    ])
  })

  test.each([
    ['done', (world: LedgerHarness) => void world.agents.finish('ada')],
    [
      'failed',
      (world: LedgerHarness) =>
        void world.agents.finish('ada', { status: 'failed', error: { code: 'model-failed', detail: 'no' } }),
    ],
    [
      'cancelled',
      (world: LedgerHarness, run: { id: string }) => void world.ledger.lifecycle.cancelRun(person, run.id),
    ],
  ] as const)('that its run did not take is a run of its own when that is %s', async (state, end) => {
    const { world, run } = await atWork()
    const { id } = world.steer('ada')
    end(world, run)
    await world.clock.settle()
    expect(world.state(run)).toBe(state)
    const [now] = world.steersOf(run)
    const became = world.ledger.queries.find(now?.became_run_id ?? '')
    expect(now).toMatchObject({ id, state: 'became-run', step: null })
    expect(became).toMatchObject({
      state: 'running',
      input: { kind: 'chat', message: 'also this', session: 'main' },
      origin: { kind: 'human', channel: 'cli' },
    })
    expect(world.steersOf(became ?? run)).toEqual([now])
    expect(codeOf(() => take(world, [id]))).toBe('not-found')
  })

  test('does not wait for the children of a run that parks', async () => {
    const world = await started()
    const parent = world.chat('operator')
    await world.clock.settle()
    world.handOff(world.callerOf('operator'), { to: 'ada', title: 'work', description: '', data: {} })
    world.steer('operator')
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.state(parent)).toBe('waiting')
    const [steer] = world.steersOf(parent)
    expect(world.state({ id: steer?.became_run_id ?? '' })).toBe('running')
    // In its next turn the run cannot take what is a run of its own by then.
    world.agents.finish('operator')
    world.agents.finish('ada')
    await world.clock.settle()
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1 })
    const late = { ids: [steer?.id ?? ''], step: 9 }
    expect(codeOf(() => world.ledger.steering.takeSteers(world.callerOf('operator'), late))).toBe('not-found')
  })

  test('comes with the next attempt of a run whose agent died, whether it was taken or not', async () => {
    const { world, run } = await atWork()
    const [taken, waiting] = [world.steer('ada', 'one'), world.steer('ada', 'two')]
    take(world, [taken.id], 2)
    world.agents.die('ada')
    await world.clock.advance(5000)
    expect(world.ledger.queries.find(run.id)).toMatchObject({ state: 'running', attempt: 2 })
    expect(heard(world)).toEqual([taken.id, waiting.id])
    // A checkpoint that was lost begins anew, and reads again what it had read.
    take(world, [taken.id, waiting.id], 7)
    expect(world.steersOf(run).map(({ state, step }) => [state, step])).toEqual([
      ['taken', 7],
      ['taken', 7],
    ])
  })

  test('that an earlier turn took is not sent with a later one', async () => {
    const world = await started()
    const parent = world.chat('operator')
    await world.clock.settle()
    const operator = world.callerOf('operator')
    world.handOff(operator, { to: 'ada', title: 'work', description: '', data: {} })
    const steer = world.steer('operator')
    world.ledger.steering.takeSteers(operator, { ids: [steer.id], step: 1 })
    world.agents.finish('operator')
    await world.clock.settle()
    world.agents.finish('ada')
    await world.clock.settle()
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.ledger.queries.find(parent.id)).toMatchObject({ state: 'running', turn: 1 })
    expect(heard(world, 'operator')).toEqual([])
  })

  test('is told again after a restart of the mesh that came before the telling', async () => {
    const { world } = await atWork()
    const steer = world.steer('ada')
    const again = await world.restarted()
    opened.push(again)
    again.ledger.start()
    await again.clock.settle()
    expect(heard(again)).toEqual([steer.id])
  })

  test('waits for an agent that does not answer, and reaches it later', async () => {
    const { world } = await atWork()
    world.agents.hang('ada', true)
    const steer = world.steer('ada')
    await world.clock.advance(3000)
    expect(heard(world)).toEqual([])
    world.agents.hang('ada', false)
    await world.clock.advance(3000)
    expect(heard(world)).toEqual([steer.id])
  })

  test('under the same key is the same steer, then the same run; for something else a conflict', async () => {
    const { world, run } = await atWork()
    const key = { idempotencyKey: 'key-1' }
    const steer = world.steer('ada', 'also this', key)
    expect(world.steer('ada', 'also this', key).id).toBe(steer.id)
    expect(codeOf(() => world.steer('ada', 'other', key))).toBe('conflict')
    expect(codeOf(() => world.chat('ada', 'also this', 'key-1'))).toBe('conflict')
    world.agents.finish('ada')
    await world.clock.settle()
    const [became] = world.steersOf(run)
    expect(world.steer('ada', 'also this', key).becameRunId).toBe(became?.became_run_id)
    // The key of the steer is the key of the run that it became, so that whoever asked can follow it.
    expect(world.chat('ada', 'also this', 'key-1').id).toBe(became?.became_run_id)
    world.chat('ada', 'hello', 'key-2')
    expect(codeOf(() => world.steer('ada', 'hello', { idempotencyKey: 'key-2' }))).toBe('conflict')
    expect(world.steersOf(run)).toHaveLength(1)
  })

  test('is refused beyond the steers that one run may have', async () => {
    const { world } = await atWork()
    for (let count = 0; count < wireLimits.steersPerRunMax; count++) world.steer('ada')
    expect(codeOf(() => world.steer('ada'))).toBe('unprocessable')
  })

  test('holds a place in the lane, so that there is room for the run that it may become', async () => {
    const { world } = await atWork()
    for (let count = 1; count < wireLimits.laneQueueMax; count++) world.chat('ada')
    const steer = world.steer('ada')
    expect(codeOf(() => world.chat('ada'))).toBe('lane-full')
    expect(codeOf(() => world.steer('ada'))).toBe('lane-full')
    take(world, [steer.id])
    expect(codeOf(() => world.chat('ada'))).toBe('no problem')
  })

  test('where steers alone fill the lane, what a person asks a trigger for waits since now', async () => {
    const { world } = await atWork()
    const { id } = world.steer('ada')
    const columns = world.database
      .prepare("SELECT name FROM pragma_table_info('steers') WHERE name NOT IN ('id', 'position')")
      .all()
      .map((row) => String(row['name']))
      .join()
    for (let count = 1; count < wireLimits.laneQueueMax; count++) {
      world.database
        .prepare(`INSERT INTO steers (id, ${columns}) SELECT ?, ${columns} FROM steers WHERE id = ?`)
        .run(`${id}-${count}`, id)
    }
    const run = world.ledger.queue.submitRun(
      { kind: 'system' },
      {
        agentId: 'ada',
        input: { kind: 'chat', message: 'try it', session: 'webhook:one' },
        trigger: 'webhook',
        triggerId: 'one',
        askedByPerson: true,
      },
    )
    expect(run.queuedSince).toBe(world.clock.now() - 1)
  })

  test('enters the lane at the place of the time when it was said', async () => {
    const { world, run } = await atWork()
    const steer = world.steer('ada')
    await world.clock.advance(10)
    const later = world.chat('ada', 'later')
    world.agents.finish('ada')
    await world.clock.settle()
    const [now] = world.steersOf(run)
    expect(now?.id).toBe(steer.id)
    expect([world.state({ id: now?.became_run_id ?? '' }), world.state(later)]).toEqual(['running', 'queued'])
  })
})

describe('a steer to an agent that is not at work on that', () => {
  test('is a run at once', async () => {
    const world = await started()
    const steer = world.steer('ada')
    expect(steer).toMatchObject({ state: 'became-run', runId: null })
    expect(world.ledger.queries.find(steer.becameRunId ?? '')?.input).toEqual({
      kind: 'chat',
      message: 'also this',
      session: 'default',
    })
  })

  test('is a run in the conversation of whoever says it, and not in that of the terminal', async () => {
    const world = await started()
    const caller = { kind: 'human', role: 'owner', channel: 'telegram', user: '17' } as const
    const steer = world.ledger.steering.steerRun(caller, { agentId: 'ada', text: 'also this' })
    expect(world.ledger.queries.find(steer.becameRunId ?? '')?.input).toMatchObject({
      session: 'telegram:17',
    })
  })

  test.each(['heartbeat', 'task:task_1', 'tool:run_1'])(
    'begins no turn in the conversation %s, nor does a message',
    async (session) => {
      const world = await started()
      const input = { kind: 'chat', message: 'close it', session } as const
      expect(codeOf(() => world.steer('ada', 'also this', { session }))).toBe('bad-request')
      expect(codeOf(() => world.ledger.queue.submitRun(person, { agentId: 'ada', input }))).toBe(
        'bad-request',
      )
      expect(world.ledger.queries.list({ limit: 5 })).toEqual([])
    },
  )

  test.each([
    ['another conversation', 'elsewhere', 'became-run'],
    ['the conversation of its run', 'main', 'waiting'],
  ])('counts as such when it names %s', async (_name, session, state) => {
    const { world } = await atWork()
    expect(world.steer('ada', 'also this', { session }).state).toBe(state)
  })

  test('is a run behind a lone tool call, which could not hear it', async () => {
    const world = await started()
    const input = { kind: 'tool', tool: 'list_files', params: {} } as const
    world.ledger.queue.submitRun(person, { agentId: 'ada', input })
    await world.clock.settle()
    expect(world.steer('ada').state).toBe('became-run')
  })

  test('is refused where there is no such agent', async () => {
    const world = await started()
    expect(codeOf(() => world.steer('nobody'))).toBe('unknown-agent')
  })
})

describe('a steer to an agent that is given no work but its own', () => {
  const reason = 'spawn_1 was made for one task and is given no other'

  async function spawned() {
    const world = await started()
    const asking = world.chat('operator')
    await world.clock.settle()
    const operator = world.callerOf('operator')
    const given = world.handOff(operator, { to: 'spawn_1', title: 'work', description: '', data: {} })
    await world.clock.settle()
    world.hooks.reasonsToGiveNoWork.subscribe((agentId) => (agentId === 'spawn_1' ? [reason] : []))
    return { world, asking, operator, given }
  }

  test('is refused where it would be a run at once, as a message is', async () => {
    const { world } = await spawned()
    const elsewhere = () => world.steer('spawn_1', 'also this', { session: 'elsewhere' })
    expect(codeOf(() => world.chat('spawn_1'))).toBe('conflict')
    expect(codeOf(elsewhere)).toBe('conflict')
    expect(elsewhere).toThrow(reason)
    expect(world.ledger.queries.list({ agentId: 'spawn_1', limit: 5 })).toHaveLength(1)
  })

  test('reaches its work, and is never worked on after it; whoever said it is told why', async () => {
    const { world, operator, asking, given } = await spawned()
    const [read, late] = [
      world.ledger.steering.steerRun(operator, { agentId: 'spawn_1', text: 'faster' }),
      world.steer('spawn_1'),
    ]
    const tooLate = world.ledger.steering.steerRun(operator, { agentId: 'spawn_1', text: 'slower' })
    const worker = world.callerOf('spawn_1')
    world.ledger.steering.takeSteers(worker, { ids: [read.id], step: 1 })
    world.completeTask(worker, { taskId: given.task_id, status: 'done', summary: 'did it', result: null })
    world.agents.finish('spawn_1')
    await world.clock.settle()
    const steers = world.steersOf({ id: given.run_id })
    expect(steers.map(({ state }) => state)).toEqual(['taken', 'became-run', 'became-run'])
    expect(world.agents.sent.filter(({ agentId }) => agentId === 'spawn_1')).toHaveLength(1)
    const ends = [late, tooLate].map(({ id }) => {
      const runId = steers.find((steer) => steer.id === id)?.became_run_id ?? ''
      return world.ledger.queries.find(runId)
    })
    const undeliverable = {
      state: 'cancelled',
      startedAt: null,
      outcome: { text: expect.stringContaining(reason) },
    }
    expect(ends).toMatchObject([undeliverable, undeliverable])
    expect(world.ledger.delivery.outbox.ofRun(ends[0]?.id ?? '')).toMatchObject([{ recipient: 'human:cli' }])
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.agents.sent.at(-1)).toMatchObject({
      runId: asking.id,
      message: expect.stringMatching(/What you said to spawn_1 \("slower"\)[^]*is given no other/),
    })
  })
})

describe('a steer of an agent', () => {
  /** The operator gave `ada` work and goes on with its own turn. */
  async function given() {
    const world = await started()
    const asking = world.chat('operator')
    await world.clock.settle()
    const operator = world.callerOf('operator')
    world.handOff(operator, { to: 'ada', title: 'work', description: '', data: {} })
    await world.clock.settle()
    return { world, asking, operator }
  }

  test('reaches who works on what it gave, in its own name', async () => {
    const { world, operator } = await given()
    const steer = world.ledger.steering.steerRun(operator, { agentId: 'ada', text: 'faster' })
    await world.clock.settle()
    expect(world.agents.working('ada')?.steers.get(steer.id)?.from).toBe('agent operator')
  })

  test('is a conflict where nobody works, with the way to give work', async () => {
    const { world, operator } = await given()
    expect(() => world.ledger.steering.steerRun(operator, { agentId: 'bob', text: 'faster' })).toThrow(
      /hand_off/,
    )
  })

  test('that came too late is answered by a run below its own, and it is told the answer', async () => {
    const { world, asking, operator } = await given()
    world.ledger.steering.steerRun(operator, { agentId: 'ada', text: 'faster' })
    const ada = world.callerOf('ada')
    const taskId = ada.kind === 'agent' ? (ada.run?.taskId ?? '') : ''
    world.completeTask(ada, { taskId, status: 'done', summary: 'did it', result: null })
    world.agents.finish('ada')
    await world.clock.settle()
    const own = world.ledger.queries.list({ agentId: 'ada', limit: 1 })[0]
    expect(own).toMatchObject({
      state: 'running',
      parentId: asking.id,
      depth: 1,
      origin: { kind: 'operator' },
    })
    world.agents.finish('ada', { response: 'as fast as I can' })
    await world.clock.settle()
    world.agents.finish('operator')
    await world.clock.settle()
    const told = world.agents.sent.at(-1)
    expect(told).toMatchObject({ agentId: 'operator', runId: asking.id })
    expect(told?.message).toContain('What you said to ada ("faster")')
    expect(told?.message).toContain('as fast as I can')
  })

  test('needs a live run of its own', async () => {
    const { world, operator } = await given()
    world.ledger.lifecycle.cancelRun(
      person,
      world.ledger.queries.list({ agentId: 'operator', limit: 1 })[0]?.id ?? '',
    )
    expect(codeOf(() => world.ledger.steering.steerRun(operator, { agentId: 'ada', text: 'faster' }))).toBe(
      'stale-fence',
    )
  })
})

describe('what an agent says it took', () => {
  test('is refused under an old fence, and for a steer of another run', async () => {
    const { world } = await atWork()
    const steer = world.steer('ada')
    const old = world.callerOf('ada')
    world.chat('bob')
    await world.clock.settle()
    const foreign = world.callerOf('bob')
    const taken = { ids: [steer.id], step: 1 }
    expect(codeOf(() => world.ledger.steering.takeSteers(foreign, taken))).toBe('not-found')
    world.agents.die('ada')
    await world.clock.advance(5000)
    expect(codeOf(() => world.ledger.steering.takeSteers(old, taken))).toBe('stale-fence')
    expect(codeOf(() => world.ledger.steering.takeSteers(person, taken))).toBe('not-found')
    expect(codeOf(() => take(world, [steer.id]))).toBe('no problem')
  })

  test('is all or nothing', async () => {
    const { world, run } = await atWork()
    const steer = world.steer('ada')
    expect(codeOf(() => take(world, [steer.id, 'steer_0']))).toBe('not-found')
    expect(world.steersOf(run)[0]?.state).toBe('waiting')
  })
})

describe('one conversation and many runs', () => {
  const conversation = (world: LedgerHarness, session: string) =>
    world.ledger.queue.submitRun(person, { agentId: 'ada', input: { kind: 'chat', message: 'x', session } })

  test('a run that waits for its children lets others into its conversation', async () => {
    const world = await started()
    const first = world.chat('operator', 'first')
    const second = world.chat('operator', 'second')
    await world.clock.settle()
    world.handOff(world.callerOf('operator'), { to: 'ada', title: 'work', description: '', data: {} })
    world.agents.finish('operator')
    await world.clock.settle()
    expect([world.state(first), world.state(second)]).toEqual(['waiting', 'running'])
    world.agents.finish('operator')
    await world.clock.settle()
    expect(world.state(second)).toBe('done')
  })

  test('a run that was cut off in mid-turn goes on before any other of its conversation, not before others', async () => {
    const world = await started()
    const cut = conversation(world, 'one')
    await world.clock.settle()
    const same = conversation(world, 'one')
    const other = conversation(world, 'two')
    world.agents.die('ada')
    await world.clock.advance(1500)
    expect([world.state(cut), world.state(same), world.state(other)]).toEqual(['queued', 'queued', 'running'])
    world.agents.finish('ada')
    await world.clock.advance(5000)
    expect([world.state(cut), world.state(same)]).toEqual(['running', 'queued'])
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.state(same)).toBe('running')
  })
})
