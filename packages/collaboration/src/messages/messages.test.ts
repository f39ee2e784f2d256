import { messageLimits } from '@flotilla/protocol/message-limits'
import type { Person } from '@flotilla/protocol/people'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { authorize } from '../../../identity/src/access/index.ts'
import type { Action, Caller, HumanCaller } from '../../../identity/src/access/index.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'
import { createMessages } from './messages.ts'
import type { Messages } from './messages.ts'
import { runLimits } from '@flotilla/work/runs'

type Harness = LedgerHarness & {
  readonly messages: Messages
  readonly may: Set<string>
  readonly archived: Set<string>
  /** Agents that do not work now, with the reason. */
  readonly failed: Map<string, string>
  /** The current content of the people file. */
  readonly people: Map<string, Pick<Person, 'name' | 'role' | 'agents'>>
}

function around(ledger: LedgerHarness): Harness {
  onTestFinished(() => ledger.ledger.close())
  const may = new Set(['ada', 'bob', 'cleo', 'dan', 'operator'])
  const archived = new Set<string>()
  const failed: Harness['failed'] = new Map()
  const people: Harness['people'] = new Map()
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
  ledger.workEvents.runSettled.subscribe(messages.runSettled)
  ledger.workEvents.runAwaits.subscribe(messages.openOf)
  return { ...ledger, messages, may, archived, failed, people }
}

async function started(): Promise<Harness> {
  const harness = around(aLedgerHarness())
  harness.ledger.start()
  await harness.clock.settle()
  return harness
}

/** `ada` works on a person's request. */
async function adaAtWork() {
  const harness = await started()
  const run = harness.chat('ada', 'ask bob')
  await harness.clock.settle()
  return { harness, run }
}

interface Said {
  readonly text?: string
  readonly key?: string
}
const send = (
  harness: Harness,
  [from, to]: readonly [string, string],
  { text = 'how many?', key }: Said = {},
) => harness.messages.send(harness.callerOf(from), { to, text, idempotencyKey: key })
const sentTo = (harness: Harness, runId: string) =>
  harness.agents.sent.filter((sending) => sending.runId === runId).map((sending) => sending.message)
const never = new AbortController().signal
const awaitOf = (harness: Harness, from: string, asked: readonly [id: string, waitSeconds: number]) =>
  harness.messages.awaitAnswer(harness.callerOf(from), { id: asked[0], waitSeconds: asked[1] }, never)

const codeOf = (work: () => unknown): string => {
  try {
    work()
    return 'no problem'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

describe('a message', () => {
  test('a message creates a run of the recipient below the asking run, with its limits, in a conversation of both', async () => {
    verifies('purpose:mesh:routes-messages')
    const harness = await started()
    const asking = harness.ledger.queue.submitRun(person, {
      agentId: 'ada',
      input: { kind: 'chat', message: 'ask bob', session: 'main' },
      budgetUsd: 0.5,
      budgetTokens: 1000,
    })
    await harness.clock.settle()
    const message = send(harness, ['ada', 'bob'])
    expect(message).toMatchObject({ sender: 'ada', recipient: 'bob', capability: null, state: 'sent' })
    expect(harness.ledger.queries.find(message.run_id ?? '')).toMatchObject({
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
        message: 'Message of agent ada. The last text of your turn is sent to it as the answer.\n\nhow many?',
      },
    })
  })

  test('a message whose answer is not awaited parks the asking run, which continues with it exactly once', async () => {
    const { harness, run } = await adaAtWork()
    const message = send(harness, ['ada', 'bob'])
    harness.agents.finish('ada', { response: 'I asked bob' })
    await harness.clock.settle()
    const parked = harness.ledger.queries.find(run.id)
    expect(parked && harness.ledger.queries.view(parked)).toMatchObject({
      state: 'waiting',
      waiting_on: [message.id],
    })
    harness.agents.finish('bob', { response: 'seven' })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'running', turn: 1 })
    expect(sentTo(harness, run.id)).toEqual([
      'ask bob',
      'Your message to bob ("how many?") is answered (done).\nAnswer: seven',
    ])
    harness.agents.finish('ada', { response: 'there are seven' })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({
      state: 'done',
      outcome: { text: 'there are seven' },
    })
    expect(harness.messages.list(person, { limit: 5 })).toMatchObject([
      { id: message.id, state: 'answered', answer: { state: 'done', text: 'seven' } },
    ])
  })

  test('an awaited answer is returned to the caller and not delivered to any later turn', async () => {
    const { harness, run } = await adaAtWork()
    const { id } = send(harness, ['ada', 'bob'])
    const answer = awaitOf(harness, 'ada', [id, 30])
    await harness.clock.settle()
    harness.agents.finish('bob', { response: 'seven' })
    await harness.clock.settle()
    expect(await answer).toMatchObject({ state: 'answered', answer: { state: 'done', text: 'seven' } })
    // The client asks again for a reply that was lost.
    expect(await awaitOf(harness, 'ada', [id, 30])).toMatchObject({ state: 'answered' })
    harness.agents.finish('ada', { response: 'there are seven' })
    await harness.clock.settle()
    expect(harness.ledger.queries.find(run.id)).toMatchObject({ state: 'done', turn: 0 })
    expect(sentTo(harness, run.id)).toEqual(['ask bob'])
  })

  test('an await that times out returns the unanswered message, and the answer is delivered later', async () => {
    const { harness, run } = await adaAtWork()
    const { id } = send(harness, ['ada', 'bob'])
    const answer = awaitOf(harness, 'ada', [id, 2])
    await harness.clock.advance(2000)
    expect(await answer).toMatchObject({ state: 'sent', answer: null })
    harness.agents.finish('ada')
    await harness.clock.settle()
    harness.agents.finish('bob', { response: 'seven' })
    await harness.clock.settle()
    expect(sentTo(harness, run.id).at(-1)).toContain('Answer: seven')
  })

  test('a message whose recipient fails is answered with the failure', async () => {
    const { harness, run } = await adaAtWork()
    send(harness, ['ada', 'bob'])
    harness.agents.finish('ada')
    await harness.clock.settle()
    harness.agents.finish('bob', { status: 'failed', error: { code: 'model-failed', detail: 'no model' } })
    await harness.clock.settle()
    expect(sentTo(harness, run.id).at(-1)).toContain('("how many?") is answered (failed).')
  })

  test('cancelling a run cancels its messages', async () => {
    const { harness, run } = await adaAtWork()
    const { id, run_id: below } = send(harness, ['ada', 'bob'])
    harness.ledger.lifecycle.cancelRun(person, run.id)
    expect(harness.state({ id: below ?? '' })).toBe('cancelled')
    expect(harness.messages.list(person, { limit: 1 })).toMatchObject([
      { id, state: 'answered', answer: { state: 'cancelled' } },
    ])
  })

  test('a message survives a restart of the mesh before the answer', async () => {
    const { harness, run } = await adaAtWork()
    send(harness, ['ada', 'bob'])
    harness.agents.finish('ada')
    await harness.clock.settle()
    const again = around(await harness.restarted())
    again.ledger.start()
    await again.clock.settle()
    again.agents.finish('bob', { response: 'seven' })
    await again.clock.settle()
    expect(sentTo(again, run.id).at(-1)).toContain('Answer: seven')
  })

  test('the same key gives the same message and one run, and conflicts with a different request', async () => {
    const { harness } = await adaAtWork()
    const first = send(harness, ['ada', 'bob'], { text: 'how many?', key: 'run_1:1' })
    expect(send(harness, ['ada', 'bob'], { text: 'how many?', key: 'run_1:1' })).toEqual(first)
    expect(codeOf(() => send(harness, ['ada', 'bob'], { text: 'how few?', key: 'run_1:1' }))).toBe('conflict')
    expect(codeOf(() => send(harness, ['ada', 'cleo'], { text: 'how many?', key: 'run_1:1' }))).toBe(
      'conflict',
    )
    expect(harness.ledger.queries.list({ agentId: 'bob', limit: 5 })).toHaveLength(1)
  })

  test('only the sender can await a message', async () => {
    const { harness } = await adaAtWork()
    const { id } = send(harness, ['ada', 'bob'])
    await harness.clock.settle()
    await expect(awaitOf(harness, 'bob', [id, 0])).rejects.toMatchObject({ code: 'not-found' })
    await expect(awaitOf(harness, 'ada', ['msg_9', 0])).rejects.toMatchObject({ code: 'not-found' })
  })

  test.each([
    ['whom it may not message', 'eve', 'denied'],
    ['who is itself', 'ada', 'bad-request'],
  ])('a message to one %s is refused', async (_name, to, code) => {
    const { harness } = await adaAtWork()
    expect(codeOf(() => send(harness, ['ada', to]))).toBe(code)
    expect(harness.ledger.queries.list({ limit: 5 })).toHaveLength(1)
  })

  test('only agents with a live run can send messages', async () => {
    const { harness } = await adaAtWork()
    const without: Caller = { kind: 'agent', agentId: 'bob', token: 'door', run: null }
    expect(codeOf(() => harness.messages.send(person, { to: 'bob', text: 'x' }))).toBe('denied')
    expect(codeOf(() => harness.messages.send(without, { to: 'ada', text: 'x' }))).toBe('stale-fence')
  })
})

describe('limits of messages between agents', () => {
  test('a message to an agent that waits for the sender is rejected, directly or through others', async () => {
    const { harness } = await adaAtWork()
    send(harness, ['ada', 'bob'])
    await harness.clock.settle()
    expect(codeOf(() => send(harness, ['bob', 'ada']))).toBe('hand-off-refused')
    send(harness, ['bob', 'cleo'])
    await harness.clock.settle()
    expect(codeOf(() => send(harness, ['cleo', 'ada']))).toBe('hand-off-refused')
  })

  test('a run that has sent its maximum of messages is rejected', async () => {
    const { harness } = await adaAtWork()
    for (let count = 0; count < messageLimits.perRunMax; count++) send(harness, ['ada', 'bob'])
    expect(codeOf(() => send(harness, ['ada', 'bob']))).toBe('messages-exhausted')
  })

  test('all runs of one trigger share a maximum of messages', async () => {
    const { harness } = await adaAtWork()
    for (let count = 0; count < messageLimits.perRunMax; count++) send(harness, ['ada', 'bob'])
    await harness.clock.settle()
    for (let more = 0; more < messageLimits.perStimulusMax - messageLimits.perRunMax; more++) {
      const at = Math.floor(more / messageLimits.perRunMax)
      if (more % messageLimits.perRunMax === 0 && at > 0) {
        // The next run that the same trigger caused.
        harness.agents.finish('bob')
        await harness.clock.settle()
      }
      send(harness, ['bob', 'cleo'])
    }
    harness.agents.finish('bob')
    await harness.clock.settle()
    expect(codeOf(() => send(harness, ['bob', 'cleo']))).toBe('messages-exhausted')
  })

  test('a message beyond the maximum depth of hand-offs is rejected', async () => {
    const harness = await started()
    const names = Array.from({ length: runLimits.handOffDepthMax + 2 }, (_, index) => `agent${index}`)
    for (const name of names) harness.may.add(name)
    harness.chat(names[0] ?? '')
    await harness.clock.settle()
    for (let depth = 0; depth < runLimits.handOffDepthMax; depth++) {
      send(harness, [names[depth] ?? '', names[depth + 1] ?? ''])
      await harness.clock.settle()
    }
    const last = names[runLimits.handOffDepthMax] ?? ''
    expect(codeOf(() => send(harness, [last, names.at(-1) ?? '']))).toBe('hand-off-refused')
  })
})

describe('a message of a worker to the operator', () => {
  test("a worker's message on behalf of a person starts a run of the operator", async () => {
    const { harness } = await adaAtWork()
    expect(send(harness, ['ada', 'operator']).state).toBe('sent')
    expect(harness.ledger.queries.list({ agentId: 'operator', limit: 5 })).toHaveLength(1)
  })

  const member: HumanCaller = {
    kind: 'human',
    channel: 'api',
    role: 'member',
    user: 'ann',
    person: 'ann',
    agents: ['ada'],
  }
  /** `ada` works on a request of `ann`; then the people file changes to this entry for her. */
  async function askedByAnn(now: Pick<Person, 'role' | 'agents'> | null) {
    const harness = await started()
    harness.ledger.queue.submitRun(member, {
      agentId: 'ada',
      input: { kind: 'chat', message: 'tell the operator', session: 'main' },
    })
    await harness.clock.settle()
    if (now) harness.people.set('ann', { name: 'ann', ...now })
    return harness
  }

  test.each([
    ['owns the fleet', { role: 'owner', agents: [] }],
    ['is granted the operator by name', { role: 'member', agents: ['ada', 'operator'] }],
  ] as const)(
    'a message of a worker to the operator for the sake of one who %s is a run of the operator',
    async (_name, { role, agents }) => {
      const harness = await askedByAnn({ role, agents: [...agents] })
      expect(send(harness, ['ada', 'operator']).state).toBe('sent')
      expect(harness.ledger.queries.list({ agentId: 'operator', limit: 5 })).toHaveLength(1)
    },
  )

  test.each([
    ['is granted that worker alone', { role: 'member', agents: ['ada'] }],
    ['is granted every worker', { role: 'member', agents: ['*'] }],
    ['only looks by now', { role: 'viewer', agents: ['operator'] }],
    ['is nobody any more', null],
  ] as const)(
    'a message of a worker to the operator for the sake of one who %s is kept',
    async (_name, now) => {
      const harness = await askedByAnn(now && { role: now.role, agents: [...now.agents] })
      expect(send(harness, ['ada', 'operator'])).toMatchObject({ state: 'kept', run_id: null })
      expect(harness.ledger.queries.list({ agentId: 'operator', limit: 5 })).toEqual([])
    },
  )

  test("a worker's message is kept if a person without permission has steered the owner's run, delivered or not", async () => {
    for (const taken of [false, true]) {
      const { harness } = await adaAtWork()
      harness.people.set('ann', { name: 'ann', role: 'member', agents: ['ada'] })
      const steer = harness.ledger.steering.steerRun(member, { agentId: 'ada', text: 'tell the operator' })
      expect(steer.state).toBe('waiting')
      if (taken) harness.ledger.steering.takeSteers(harness.callerOf('ada'), { ids: [steer.id], step: 1 })
      expect(send(harness, ['ada', 'operator'])).toMatchObject({ state: 'kept', run_id: null })
      expect(harness.ledger.queries.list({ agentId: 'operator', limit: 5 })).toEqual([])
    }
  })

  test("a worker's message is kept if such a person, or their agent, steered the work above it", async () => {
    const above = await adaAtWork()
    send(above.harness, ['ada', 'bob'])
    await above.harness.clock.settle()
    above.harness.people.set('ann', { name: 'ann', role: 'member', agents: ['ada'] })
    above.harness.ledger.steering.steerRun(member, { agentId: 'ada', text: 'tell the operator' })
    expect(send(above.harness, ['bob', 'operator']).state).toBe('kept')

    // `bob` works for the owner; `ada`, working for ann, says something to it.
    const harness = await askedByAnn({ role: 'member', agents: ['ada'] })
    harness.chat('bob')
    await harness.clock.settle()
    harness.ledger.steering.steerRun(harness.callerOf('ada'), { agentId: 'bob', text: 'tell the operator' })
    expect(send(harness, ['bob', 'operator']).state).toBe('kept')
  })

  test.each(['a turn', 'a steer'])(
    "a worker's message is kept if %s of a person without permission is in its conversation, and only then",
    async (said) => {
      const harness = await started()
      const owners = (session: string) => {
        const input = { kind: 'chat', message: 'go on', session } as const
        harness.ledger.queue.submitRun(person, { agentId: 'ada', input })
      }
      harness.people.set('ann', { name: 'ann', role: 'member', agents: ['ada'] })
      if (said === 'a turn') {
        const input = { kind: 'chat', message: 'tell the operator', session: 'main' } as const
        harness.ledger.queue.submitRun(member, { agentId: 'ada', input })
        await harness.clock.settle()
      } else {
        owners('main')
        await harness.clock.settle()
        const { id } = harness.ledger.steering.steerRun(member, { agentId: 'ada', text: 'tell the operator' })
        harness.ledger.steering.takeSteers(harness.callerOf('ada'), { ids: [id], step: 1 })
      }
      harness.agents.finish('ada')
      await harness.clock.settle()
      owners('main')
      await harness.clock.settle()
      expect(send(harness, ['ada', 'operator']).state).toBe('kept')
      harness.agents.finish('ada')
      await harness.clock.settle()
      owners('elsewhere')
      await harness.clock.settle()
      expect(send(harness, ['ada', 'operator']).state).toBe('sent')
    },
  )

  test("a worker's message is kept if a watch notified the run of something", async () => {
    const { harness } = await adaAtWork()
    harness.ledger.steering.steerRun(
      { kind: 'system' },
      { agentId: 'ada', text: 'a key changed', trigger: 'watcher', triggerId: 'watch_1' },
    )
    expect(send(harness, ['ada', 'operator']).state).toBe('kept')
  })

  test("a worker's message starts a run if those who steered it may give the operator work", async () => {
    const { harness } = await adaAtWork()
    harness.people.set('ann', { name: 'ann', role: 'member', agents: ['ada', 'operator'] })
    harness.ledger.steering.steerRun(
      { ...member, agents: ['ada', 'operator'] },
      { agentId: 'ada', text: 'go on' },
    )
    harness.steer('ada')
    expect(send(harness, ['ada', 'operator']).state).toBe('sent')
  })

  test("a worker's message is kept however far below the person's request it is sent", async () => {
    const harness = await askedByAnn({ role: 'member', agents: ['ada', 'bob'] })
    send(harness, ['ada', 'bob'])
    await harness.clock.settle()
    expect(send(harness, ['bob', 'operator']).state).toBe('kept')
  })

  test("a worker's message without a person behind it starts nothing and waits for one heartbeat", async () => {
    const harness = await started()
    harness.ledger.queue.submitRun(
      { kind: 'system' },
      { agentId: 'ada', input: { kind: 'chat', message: 'tick', session: 'cron' }, trigger: 'cron' },
    )
    await harness.clock.settle()
    const message = send(harness, ['ada', 'operator'], { text: 'the disk is odd' })
    expect(message).toMatchObject({ state: 'kept', run_id: null })
    expect(harness.ledger.queries.list({ agentId: 'operator', limit: 5 })).toEqual([])
    expect(harness.messages.keptFor('operator')).toMatchObject({
      count: 1,
      oldest: [{ id: message.id, from: 'ada', text: 'the disk is odd' }],
    })
    expect(await awaitOf(harness, 'ada', [message.id, 30])).toMatchObject({ state: 'kept' })
    harness.messages.deliverKept([message.id], 'run_9')
    expect(harness.messages.keptFor('operator')).toEqual({ count: 0, oldest: [] })
    // The run is not parked, because no answer will come.
    harness.agents.finish('ada')
    await harness.clock.settle()
    expect(harness.ledger.queries.list({ agentId: 'ada', limit: 1 })).toMatchObject([{ state: 'done' }])
  })

  const tick = async (harness: Harness, agentId: string) => {
    harness.ledger.queue.submitRun(
      { kind: 'system' },
      { agentId, input: { kind: 'chat', message: 'tick', session: 'cron' }, trigger: 'cron' },
    )
    await harness.clock.settle()
  }
  /** Sends as many messages as are kept of one sender, in one run. */
  const fill = async (harness: Harness, agentId: string) => {
    await tick(harness, agentId)
    for (let count = 0; count < messageLimits.keptPerSenderMax; count++) send(harness, [agentId, 'operator'])
    harness.agents.finish(agentId)
    await harness.clock.settle()
  }

  test('a worker at its maximum of kept messages is rejected, and others can still send', async () => {
    const harness = await started()
    await fill(harness, 'ada')
    await tick(harness, 'ada')
    expect(codeOf(() => send(harness, ['ada', 'operator']))).toBe('messages-exhausted')
    await tick(harness, 'bob')
    expect(send(harness, ['bob', 'operator']).state).toBe('kept')
    const [oldest] = harness.messages.keptFor('operator').oldest
    harness.messages.deliverKept([oldest?.id ?? ''], 'run_9')
    expect(send(harness, ['ada', 'operator']).state).toBe('kept')
  })

  test('messages are rejected once the total of kept messages is reached', async () => {
    const harness = await started()
    const senders = messageLimits.keptMax / messageLimits.keptPerSenderMax
    for (let from = 0; from < senders; from++) await fill(harness, `agent${from}`)
    await tick(harness, 'ada')
    expect(codeOf(() => send(harness, ['ada', 'operator']))).toBe('messages-exhausted')
  })
})

describe('a message to a capability', () => {
  const declare = (harness: Harness, agentId: string, ...names: string[]) =>
    harness.messages.declare({ kind: 'agent', agentId, token: 'door', run: null }, names)

  test('a message to a capability reaches an agent that declares it, and the sender learns which', async () => {
    const { harness } = await adaAtWork()
    declare(harness, 'cleo', 'translate', 'count')
    declare(harness, 'bob', 'count')
    expect(send(harness, ['ada', 'capability:count'])).toMatchObject({
      recipient: 'bob',
      capability: 'count',
    })
    await harness.clock.settle()
    // Bob has work now.
    expect(send(harness, ['ada', 'capability:count']).recipient).toBe('cleo')
    expect(send(harness, ['ada', 'capability:translate']).recipient).toBe('cleo')
  })

  test('a message to a capability skips archived, forbidden and waiting agents, the sender and the operator', async () => {
    const { harness } = await adaAtWork()
    for (const agentId of ['ada', 'bob', 'dan', 'eve', 'nobody', 'operator'])
      declare(harness, agentId, 'count')
    harness.archived.add('bob')
    expect(send(harness, ['ada', 'capability:count']).recipient).toBe('dan')
    await harness.clock.settle()
    declare(harness, 'cleo', 'count')
    expect(send(harness, ['dan', 'capability:count']).recipient).toBe('cleo')
  })

  test('a message to a capability skips agents that do not work or get no work while another is available', async () => {
    const { harness } = await adaAtWork()
    for (const agentId of ['bob', 'cleo', 'dan']) declare(harness, agentId, 'count')
    harness.failed.set('bob', 'crashed three times')
    harness.workEvents.reasonsToGiveNoWork.subscribe((agentId) =>
      agentId === 'cleo' ? ['made for one task'] : [],
    )
    expect(send(harness, ['ada', 'capability:count']).recipient).toBe('dan')
  })

  test('a message that only unavailable agents could answer is rejected without naming other capabilities', async () => {
    const { harness } = await adaAtWork()
    declare(harness, 'bob', 'count')
    declare(harness, 'cleo', 'count')
    harness.failed.set('bob', 'crashed three times')
    harness.workEvents.reasonsToGiveNoWork.subscribe((agentId) =>
      agentId === 'cleo' ? ['made for one task'] : [],
    )
    expect(codeOf(() => send(harness, ['ada', 'capability:count']))).toBe('no-capable-agent')
    expect(codeOf(() => send(harness, ['ada', 'capability:other']))).toBe('no-capable-agent')
    harness.failed.clear()
    expect(send(harness, ['ada', 'capability:count']).recipient).toBe('bob')
  })

  test('the same key gives the same agent, even if another is free by then', async () => {
    const { harness } = await adaAtWork()
    declare(harness, 'bob', 'count')
    declare(harness, 'cleo', 'count')
    const first = send(harness, ['ada', 'capability:count'], { text: 'how many?', key: 'run_1:4' })
    await harness.clock.settle()
    expect(send(harness, ['ada', 'capability:count'], { text: 'how many?', key: 'run_1:4' })).toEqual(first)
  })

  test('a message to an unknown capability is rejected with a suggestion from agents that may be messaged', async () => {
    const { harness } = await adaAtWork()
    declare(harness, 'bob', 'translate')
    declare(harness, 'eve', 'secret-work')
    const asked = () => send(harness, ['ada', 'capability:translat'])
    expect(codeOf(asked)).toBe('no-capable-agent')
    expect(asked).toThrow(/did you mean translate\? \(declared: translate\)/)
  })

  test('only the last declaration of an agent counts, and a deleted agent declares nothing', async () => {
    const { harness } = await adaAtWork()
    expect(declare(harness, 'bob', 'count', 'count', 'add')).toEqual(['add', 'count'])
    declare(harness, 'bob', 'add')
    expect(codeOf(() => send(harness, ['ada', 'capability:count']))).toBe('no-capable-agent')
    harness.messages.forget('bob')
    expect(codeOf(() => send(harness, ['ada', 'capability:add']))).toBe('no-capable-agent')
  })
})
