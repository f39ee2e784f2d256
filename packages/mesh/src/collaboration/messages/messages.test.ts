import { messageLimits } from '@flotilla/protocol/message-limits'
import { wireLimits } from '@flotilla/protocol/limits'
import type { Person } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { afterEach, describe, expect, test } from 'vitest'
import { verifies } from '../../../../../tests/verifies.ts'
import { authorize } from '../../access/index.ts'
import type { Action, Caller, HumanCaller } from '../../access/index.ts'
import { aLedgerHarness, person } from '../../testing/ledger-harness.ts'
import type { LedgerHarness } from '../../testing/ledger-harness.ts'
import { createMessages } from './messages.ts'
import type { Messages } from './messages.ts'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((world) => world.ledger.close()))
})

type World = LedgerHarness & {
  readonly messages: Messages
  readonly may: Set<string>
  readonly archived: Set<string>
  /** Agents that do not work now, and why. */
  readonly failed: Map<string, string>
  /** What the file of people says at the moment. */
  readonly people: Map<string, Pick<Person, 'name' | 'role' | 'agents'>>
}

function around(ledger: LedgerHarness): World {
  opened.push(ledger)
  const may = new Set(['ada', 'bob', 'cleo', 'dan', 'operator'])
  const archived = new Set<string>()
  const failed: World['failed'] = new Map()
  const people: World['people'] = new Map()
  const allows = (action: Action) => action.do !== 'message-agent' || may.has(action.to)
  const messages = createMessages({
    ...ledger,
    guard: (_caller, action) => {
      if (!allows(action)) throw new Problem('denied')
    },
    decide: (caller, action) => {
      if (caller.kind === 'human')
        return authorize({ broken: null, recordOf: () => undefined }, caller, action)
      return allows(action) ? { allowed: true } : { allowed: false, reason: 'no', field: null }
    },
    people: { byName: (name) => people.get(name) ?? null },
    runs: ledger.runs,
    agents: {
      find: (agentId) => (agentId === 'nobody' ? null : {}),
      isArchived: (agentId) => archived.has(agentId),
      failureOf: (agentId) => failed.get(agentId) ?? null,
      requireWorking: () => {},
    },
  })
  ledger.hooks.runSettled.subscribe(messages.runSettled)
  ledger.hooks.runAwaits.subscribe(messages.openOf)
  return { ...ledger, messages, may, archived, failed, people }
}

async function started(): Promise<World> {
  const world = around(aLedgerHarness())
  world.ledger.start()
  await world.clock.settle()
  return world
}

/** `ada` works on what a person asked. */
async function adaAtWork() {
  const world = await started()
  const run = world.chat('ada', 'ask bob')
  await world.clock.settle()
  return { world, run }
}

interface Said {
  readonly text?: string
  readonly key?: string
}
const send = (world: World, [from, to]: readonly [string, string], { text = 'how many?', key }: Said = {}) =>
  world.messages.send(world.callerOf(from), { to, text, idempotencyKey: key })
const sentTo = (world: World, runId: string) =>
  world.agents.sent.filter((sending) => sending.runId === runId).map((sending) => sending.message)
const never = new AbortController().signal
const awaitOf = (world: World, from: string, asked: readonly [id: string, waitSeconds: number]) =>
  world.messages.awaitAnswer(world.callerOf(from), { id: asked[0], waitSeconds: asked[1] }, never)

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

describe('a message', () => {
  test('is a run of the other below that of the asker, with its caps, in a conversation of the two', async () => {
    verifies('purpose:mesh:routes-messages')
    const world = await started()
    const asking = world.ledger.queue.submitRun(person, {
      agentId: 'ada',
      input: { kind: 'chat', message: 'ask bob', session: 'main' },
      budgetUsd: 0.5,
      budgetTokens: 1000,
    })
    await world.clock.settle()
    const message = send(world, ['ada', 'bob'])
    expect(message).toMatchObject({ sender: 'ada', recipient: 'bob', capability: null, state: 'sent' })
    expect(world.ledger.queries.find(message.run_id ?? '')).toMatchObject({
      agentId: 'bob',
      parentId: asking.id,
      depth: 1,
      budgetUsd: 0.5,
      budgetTokens: 1000,
      traceId: asking.traceId,
      origin: { kind: 'agent', channel: 'agent', user: 'ada' },
      input: {
        kind: 'chat',
        session: 'agent:ada',
        message: 'Message of agent ada. Your last words are the answer that it gets.\n\nhow many?',
      },
    })
  })

  test('whose answer nobody waits for parks its asker, which goes on with it exactly once', async () => {
    const { world, run } = await adaAtWork()
    const message = send(world, ['ada', 'bob'])
    world.agents.finish('ada', { response: 'I asked bob' })
    await world.clock.settle()
    const parked = world.ledger.queries.find(run.id)
    expect(parked && world.ledger.queries.view(parked)).toMatchObject({
      state: 'waiting',
      waiting_on: [message.id],
    })
    world.agents.finish('bob', { response: 'seven' })
    await world.clock.settle()
    expect(world.ledger.queries.find(run.id)).toMatchObject({ state: 'running', turn: 1 })
    expect(sentTo(world, run.id)).toEqual([
      'ask bob',
      'Your message to bob ("how many?") is answered (done).\nAnswer: seven',
    ])
    world.agents.finish('ada', { response: 'there are seven' })
    await world.clock.settle()
    expect(world.ledger.queries.find(run.id)).toMatchObject({
      state: 'done',
      outcome: { text: 'there are seven' },
    })
    expect(world.messages.list(person, { limit: 5 })).toMatchObject([
      { id: message.id, state: 'answered', answer: { state: 'done', text: 'seven' } },
    ])
  })

  test('whose answer is awaited gives it there, and no turn is told of it again', async () => {
    const { world, run } = await adaAtWork()
    const { id } = send(world, ['ada', 'bob'])
    const answer = awaitOf(world, 'ada', [id, 30])
    await world.clock.settle()
    world.agents.finish('bob', { response: 'seven' })
    await world.clock.settle()
    expect(await answer).toMatchObject({ state: 'answered', answer: { state: 'done', text: 'seven' } })
    // A reply that was lost on the way is asked for again.
    expect(await awaitOf(world, 'ada', [id, 30])).toMatchObject({ state: 'answered' })
    world.agents.finish('ada', { response: 'there are seven' })
    await world.clock.settle()
    expect(world.ledger.queries.find(run.id)).toMatchObject({ state: 'done', turn: 0 })
    expect(sentTo(world, run.id)).toEqual(['ask bob'])
  })

  test('that is awaited in vain comes back as it is when the time is up, and is told later', async () => {
    const { world, run } = await adaAtWork()
    const { id } = send(world, ['ada', 'bob'])
    const answer = awaitOf(world, 'ada', [id, 2])
    await world.clock.advance(2000)
    expect(await answer).toMatchObject({ state: 'sent', answer: null })
    world.agents.finish('ada')
    await world.clock.settle()
    world.agents.finish('bob', { response: 'seven' })
    await world.clock.settle()
    expect(sentTo(world, run.id).at(-1)).toContain('Answer: seven')
  })

  test('that the other fails at is answered with that', async () => {
    const { world, run } = await adaAtWork()
    send(world, ['ada', 'bob'])
    world.agents.finish('ada')
    await world.clock.settle()
    world.agents.finish('bob', { status: 'failed', error: { code: 'model-failed', detail: 'no model' } })
    await world.clock.settle()
    expect(sentTo(world, run.id).at(-1)).toContain('("how many?") is answered (failed).')
  })

  test('of a run that is cancelled is cancelled with it', async () => {
    const { world, run } = await adaAtWork()
    const { id, run_id: below } = send(world, ['ada', 'bob'])
    world.ledger.lifecycle.cancelRun(person, run.id)
    expect(world.state({ id: below ?? '' })).toBe('cancelled')
    expect(world.messages.list(person, { limit: 1 })).toMatchObject([
      { id, state: 'answered', answer: { state: 'cancelled' } },
    ])
  })

  test('survives a restart of the mesh that comes before the answer', async () => {
    const { world, run } = await adaAtWork()
    send(world, ['ada', 'bob'])
    world.agents.finish('ada')
    await world.clock.settle()
    const again = around(await world.restarted())
    again.ledger.start()
    await again.clock.settle()
    again.agents.finish('bob', { response: 'seven' })
    await again.clock.settle()
    expect(sentTo(again, run.id).at(-1)).toContain('Answer: seven')
  })

  test('under the same key is the same message and one run, for something else a conflict', async () => {
    const { world } = await adaAtWork()
    const first = send(world, ['ada', 'bob'], { text: 'how many?', key: 'run_1:1' })
    expect(send(world, ['ada', 'bob'], { text: 'how many?', key: 'run_1:1' })).toEqual(first)
    expect(codeOf(() => send(world, ['ada', 'bob'], { text: 'how few?', key: 'run_1:1' }))).toBe('conflict')
    expect(codeOf(() => send(world, ['ada', 'cleo'], { text: 'how many?', key: 'run_1:1' }))).toBe('conflict')
    expect(world.ledger.queries.list({ agentId: 'bob', limit: 5 })).toHaveLength(1)
  })

  test('is nobody else’s to await', async () => {
    const { world } = await adaAtWork()
    const { id } = send(world, ['ada', 'bob'])
    await world.clock.settle()
    await expect(awaitOf(world, 'bob', [id, 0])).rejects.toMatchObject({ code: 'not-found' })
    await expect(awaitOf(world, 'ada', ['msg_9', 0])).rejects.toMatchObject({ code: 'not-found' })
  })

  test.each([
    ['whom it may not message', 'eve', 'denied'],
    ['who is itself', 'ada', 'bad-request'],
  ])('to one %s is refused', async (_name, to, code) => {
    const { world } = await adaAtWork()
    expect(codeOf(() => send(world, ['ada', to]))).toBe(code)
    expect(world.ledger.queries.list({ limit: 5 })).toHaveLength(1)
  })

  test('is for agents, in a live run', async () => {
    const { world } = await adaAtWork()
    const without: Caller = { kind: 'agent', agentId: 'bob', token: 'door', run: null }
    expect(codeOf(() => world.messages.send(person, { to: 'bob', text: 'x' }))).toBe('denied')
    expect(codeOf(() => world.messages.send(without, { to: 'ada', text: 'x' }))).toBe('stale-fence')
  })
})

describe('talk between agents ends', () => {
  test('where one would ask who waits for it, near or far', async () => {
    const { world } = await adaAtWork()
    send(world, ['ada', 'bob'])
    await world.clock.settle()
    expect(codeOf(() => send(world, ['bob', 'ada']))).toBe('hand-off-refused')
    send(world, ['bob', 'cleo'])
    await world.clock.settle()
    expect(codeOf(() => send(world, ['cleo', 'ada']))).toBe('hand-off-refused')
  })

  test('where one run has sent as many messages as it may', async () => {
    const { world } = await adaAtWork()
    for (let count = 0; count < messageLimits.perRunMax; count++) send(world, ['ada', 'bob'])
    expect(codeOf(() => send(world, ['ada', 'bob']))).toBe('messages-exhausted')
  })

  test('where all runs of one stimulus have sent as many as they may together', async () => {
    const { world } = await adaAtWork()
    for (let count = 0; count < messageLimits.perRunMax; count++) send(world, ['ada', 'bob'])
    await world.clock.settle()
    for (let more = 0; more < messageLimits.perStimulusMax - messageLimits.perRunMax; more++) {
      const at = Math.floor(more / messageLimits.perRunMax)
      if (more % messageLimits.perRunMax === 0 && at > 0) {
        // Its next run, which comes of the same stimulus.
        world.agents.finish('bob')
        await world.clock.settle()
      }
      send(world, ['bob', 'cleo'])
    }
    world.agents.finish('bob')
    await world.clock.settle()
    expect(codeOf(() => send(world, ['bob', 'cleo']))).toBe('messages-exhausted')
  })

  test('where it would be handed on deeper than work may be', async () => {
    const world = await started()
    const names = Array.from({ length: wireLimits.handOffDepthMax + 2 }, (_, index) => `agent${index}`)
    for (const name of names) world.may.add(name)
    world.chat(names[0] ?? '')
    await world.clock.settle()
    for (let depth = 0; depth < wireLimits.handOffDepthMax; depth++) {
      send(world, [names[depth] ?? '', names[depth + 1] ?? ''])
      await world.clock.settle()
    }
    const last = names[wireLimits.handOffDepthMax] ?? ''
    expect(codeOf(() => send(world, [last, names.at(-1) ?? '']))).toBe('hand-off-refused')
  })
})

describe('a worker’s message to the operator', () => {
  test('for a person’s sake is a run of the operator', async () => {
    const { world } = await adaAtWork()
    expect(send(world, ['ada', 'operator']).state).toBe('sent')
    expect(world.ledger.queries.list({ agentId: 'operator', limit: 5 })).toHaveLength(1)
  })

  const member: HumanCaller = {
    kind: 'human',
    channel: 'api',
    role: 'member',
    user: 'ann',
    person: 'ann',
    agents: ['ada'],
  }
  /** `ada` works on what `ann` asked; then the file of people says this of her. */
  async function askedByAnn(now: Pick<Person, 'role' | 'agents'> | null) {
    const world = await started()
    world.ledger.queue.submitRun(member, {
      agentId: 'ada',
      input: { kind: 'chat', message: 'tell the operator', session: 'main' },
    })
    await world.clock.settle()
    if (now) world.people.set('ann', { name: 'ann', ...now })
    return world
  }

  test.each([
    ['owns the fleet', { role: 'owner', agents: [] }],
    ['is granted the operator by name', { role: 'member', agents: ['ada', 'operator'] }],
  ] as const)('for the sake of one who %s is a run of the operator', async (_name, { role, agents }) => {
    const world = await askedByAnn({ role, agents: [...agents] })
    expect(send(world, ['ada', 'operator']).state).toBe('sent')
    expect(world.ledger.queries.list({ agentId: 'operator', limit: 5 })).toHaveLength(1)
  })

  test.each([
    ['is granted that worker alone', { role: 'member', agents: ['ada'] }],
    ['is granted every worker', { role: 'member', agents: ['*'] }],
    ['only looks by now', { role: 'viewer', agents: ['operator'] }],
    ['is nobody any more', null],
  ] as const)('for the sake of one who %s is kept', async (_name, now) => {
    const world = await askedByAnn(now && { role: now.role, agents: [...now.agents] })
    expect(send(world, ['ada', 'operator'])).toMatchObject({ state: 'kept', run_id: null })
    expect(world.ledger.queries.list({ agentId: 'operator', limit: 5 })).toEqual([])
  })

  test('is kept where somebody who may not has steered the owner’s run, taken or not', async () => {
    for (const taken of [false, true]) {
      const { world } = await adaAtWork()
      world.people.set('ann', { name: 'ann', role: 'member', agents: ['ada'] })
      const steer = world.ledger.steering.steerRun(member, { agentId: 'ada', text: 'tell the operator' })
      expect(steer.state).toBe('waiting')
      if (taken) world.ledger.steering.takeSteers(world.callerOf('ada'), { ids: [steer.id], step: 1 })
      expect(send(world, ['ada', 'operator'])).toMatchObject({ state: 'kept', run_id: null })
      expect(world.ledger.queries.list({ agentId: 'operator', limit: 5 })).toEqual([])
    }
  })

  test('is kept where they steered what it works for, or an agent of theirs steered it', async () => {
    const above = await adaAtWork()
    send(above.world, ['ada', 'bob'])
    await above.world.clock.settle()
    above.world.people.set('ann', { name: 'ann', role: 'member', agents: ['ada'] })
    above.world.ledger.steering.steerRun(member, { agentId: 'ada', text: 'tell the operator' })
    expect(send(above.world, ['bob', 'operator']).state).toBe('kept')

    // `bob` works for the owner; `ada`, on what ann asked, says something to it.
    const world = await askedByAnn({ role: 'member', agents: ['ada'] })
    world.chat('bob')
    await world.clock.settle()
    world.ledger.steering.steerRun(world.callerOf('ada'), { agentId: 'bob', text: 'tell the operator' })
    expect(send(world, ['bob', 'operator']).state).toBe('kept')
  })

  test.each(['a turn', 'a steer'])(
    'is kept where %s of somebody who may not stands in its conversation, and in no other',
    async (said) => {
      const world = await started()
      const owners = (session: string) => {
        const input = { kind: 'chat', message: 'go on', session } as const
        world.ledger.queue.submitRun(person, { agentId: 'ada', input })
      }
      world.people.set('ann', { name: 'ann', role: 'member', agents: ['ada'] })
      if (said === 'a turn') {
        const input = { kind: 'chat', message: 'tell the operator', session: 'main' } as const
        world.ledger.queue.submitRun(member, { agentId: 'ada', input })
        await world.clock.settle()
      } else {
        owners('main')
        await world.clock.settle()
        const { id } = world.ledger.steering.steerRun(member, { agentId: 'ada', text: 'tell the operator' })
        world.ledger.steering.takeSteers(world.callerOf('ada'), { ids: [id], step: 1 })
      }
      world.agents.finish('ada')
      await world.clock.settle()
      owners('main')
      await world.clock.settle()
      expect(send(world, ['ada', 'operator']).state).toBe('kept')
      world.agents.finish('ada')
      await world.clock.settle()
      owners('elsewhere')
      await world.clock.settle()
      expect(send(world, ['ada', 'operator']).state).toBe('sent')
    },
  )

  test('is kept where a watch told the run something', async () => {
    const { world } = await adaAtWork()
    world.ledger.steering.steerRun(
      { kind: 'system' },
      { agentId: 'ada', text: 'a key changed', trigger: 'watcher', triggerId: 'watch_1' },
    )
    expect(send(world, ['ada', 'operator']).state).toBe('kept')
  })

  test('is a run where those who steered may give the operator work', async () => {
    const { world } = await adaAtWork()
    world.people.set('ann', { name: 'ann', role: 'member', agents: ['ada', 'operator'] })
    world.ledger.steering.steerRun(
      { ...member, agents: ['ada', 'operator'] },
      { agentId: 'ada', text: 'go on' },
    )
    world.steer('ada')
    expect(send(world, ['ada', 'operator']).state).toBe('sent')
  })

  test('is kept however far below what that person began', async () => {
    const world = await askedByAnn({ role: 'member', agents: ['ada', 'bob'] })
    send(world, ['ada', 'bob'])
    await world.clock.settle()
    expect(send(world, ['bob', 'operator']).state).toBe('kept')
  })

  test('that nobody stands behind begins nothing and waits for one heartbeat', async () => {
    const world = await started()
    world.ledger.queue.submitRun(
      { kind: 'system' },
      { agentId: 'ada', input: { kind: 'chat', message: 'tick', session: 'cron' }, trigger: 'cron' },
    )
    await world.clock.settle()
    const message = send(world, ['ada', 'operator'], { text: 'the disk is odd' })
    expect(message).toMatchObject({ state: 'kept', run_id: null })
    expect(world.ledger.queries.list({ agentId: 'operator', limit: 5 })).toEqual([])
    expect(world.messages.keptFor('operator')).toMatchObject({
      count: 1,
      oldest: [{ id: message.id, from: 'ada', text: 'the disk is odd' }],
    })
    expect(await awaitOf(world, 'ada', [message.id, 30])).toMatchObject({ state: 'kept' })
    world.messages.tellKept([message.id], 'run_9')
    expect(world.messages.keptFor('operator')).toEqual({ count: 0, oldest: [] })
    // It parks nobody: no answer comes.
    world.agents.finish('ada')
    await world.clock.settle()
    expect(world.ledger.queries.list({ agentId: 'ada', limit: 1 })).toMatchObject([{ state: 'done' }])
  })

  const tick = async (world: World, agentId: string) => {
    world.ledger.queue.submitRun(
      { kind: 'system' },
      { agentId, input: { kind: 'chat', message: 'tick', session: 'cron' }, trigger: 'cron' },
    )
    await world.clock.settle()
  }
  /** As many as are kept of one sender, in one run. */
  const fill = async (world: World, agentId: string) => {
    await tick(world, agentId)
    for (let count = 0; count < messageLimits.keptPerSenderMax; count++) send(world, [agentId, 'operator'])
    world.agents.finish(agentId)
    await world.clock.settle()
  }

  test('is refused once as many of that worker wait as are kept of one, and others still are heard', async () => {
    const world = await started()
    await fill(world, 'ada')
    await tick(world, 'ada')
    expect(codeOf(() => send(world, ['ada', 'operator']))).toBe('messages-exhausted')
    await tick(world, 'bob')
    expect(send(world, ['bob', 'operator']).state).toBe('kept')
    const [oldest] = world.messages.keptFor('operator').oldest
    world.messages.tellKept([oldest?.id ?? ''], 'run_9')
    expect(send(world, ['ada', 'operator']).state).toBe('kept')
  })

  test('is refused once as many wait as are kept of all', async () => {
    const world = await started()
    const senders = messageLimits.keptMax / messageLimits.keptPerSenderMax
    for (let from = 0; from < senders; from++) await fill(world, `agent${from}`)
    await tick(world, 'ada')
    expect(codeOf(() => send(world, ['ada', 'operator']))).toBe('messages-exhausted')
  })
})

describe('a message to whoever can', () => {
  const declare = (world: World, agentId: string, ...names: string[]) =>
    world.messages.declare({ kind: 'agent', agentId, token: 'door', run: null }, names)

  test('reaches one that declares it, and the asker is told who', async () => {
    const { world } = await adaAtWork()
    declare(world, 'cleo', 'translate', 'count')
    declare(world, 'bob', 'count')
    expect(send(world, ['ada', 'capability:count'])).toMatchObject({ recipient: 'bob', capability: 'count' })
    await world.clock.settle()
    // Bob has something to do now.
    expect(send(world, ['ada', 'capability:count']).recipient).toBe('cleo')
    expect(send(world, ['ada', 'capability:translate']).recipient).toBe('cleo')
  })

  test('passes over who is archived, may not be messaged, asks itself, waits above or is the operator', async () => {
    const { world } = await adaAtWork()
    for (const agentId of ['ada', 'bob', 'dan', 'eve', 'nobody', 'operator']) declare(world, agentId, 'count')
    world.archived.add('bob')
    expect(send(world, ['ada', 'capability:count']).recipient).toBe('dan')
    await world.clock.settle()
    declare(world, 'cleo', 'count')
    expect(send(world, ['dan', 'capability:count']).recipient).toBe('cleo')
  })

  test('passes over who does not work now and who is given no work, while another can', async () => {
    const { world } = await adaAtWork()
    for (const agentId of ['bob', 'cleo', 'dan']) declare(world, agentId, 'count')
    world.failed.set('bob', 'crashed three times')
    world.hooks.reasonsToGiveNoWork.subscribe((agentId) => (agentId === 'cleo' ? ['made for one task'] : []))
    expect(send(world, ['ada', 'capability:count']).recipient).toBe('dan')
  })

  test('that only such agents can is refused, and is no hint of what else there is', async () => {
    const { world } = await adaAtWork()
    declare(world, 'bob', 'count')
    declare(world, 'cleo', 'count')
    world.failed.set('bob', 'crashed three times')
    world.hooks.reasonsToGiveNoWork.subscribe((agentId) => (agentId === 'cleo' ? ['made for one task'] : []))
    expect(codeOf(() => send(world, ['ada', 'capability:count']))).toBe('no-capable-agent')
    expect(codeOf(() => send(world, ['ada', 'capability:other']))).toBe('no-capable-agent')
    world.failed.clear()
    expect(send(world, ['ada', 'capability:count']).recipient).toBe('bob')
  })

  test('under the same key goes to the same agent, whoever is free by then', async () => {
    const { world } = await adaAtWork()
    declare(world, 'bob', 'count')
    declare(world, 'cleo', 'count')
    const first = send(world, ['ada', 'capability:count'], { text: 'how many?', key: 'run_1:4' })
    await world.clock.settle()
    expect(send(world, ['ada', 'capability:count'], { text: 'how many?', key: 'run_1:4' })).toEqual(first)
  })

  test('that nobody can is refused with what was meant, and nothing of agents that may not be messaged', async () => {
    const { world } = await adaAtWork()
    declare(world, 'bob', 'translate')
    declare(world, 'eve', 'secret-work')
    const asked = () => send(world, ['ada', 'capability:translat'])
    expect(codeOf(asked)).toBe('no-capable-agent')
    expect(asked).toThrow(/did you mean translate\? \(declared: translate\)/)
  })

  test('goes by what was declared last; a deleted agent can nothing', async () => {
    const { world } = await adaAtWork()
    expect(declare(world, 'bob', 'count', 'count', 'add')).toEqual(['add', 'count'])
    declare(world, 'bob', 'add')
    expect(codeOf(() => send(world, ['ada', 'capability:count']))).toBe('no-capable-agent')
    world.messages.forget('bob')
    expect(codeOf(() => send(world, ['ada', 'capability:add']))).toBe('no-capable-agent')
  })
})
