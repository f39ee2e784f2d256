import type { ChatFrame, ChatRequest } from '@flotilla/protocol/agent-api'
import { describe, expect, test } from 'vitest'
import type { AgentConnection, AgentConnections } from './agent-connection.ts'

/** An agent whose model does not answer until the test allows it. */
export interface AgentUnderTest {
  readonly line: AgentConnection
  /** Resolves when the agent executes a run and has called its model. */
  working(): Promise<void>
  /** Ends the agent's run, which waits for its model, with this answer of the model. */
  finish(words: string): Promise<void>
  /** Ends the agent's process; unfinished work is lost. */
  die(): Promise<void>
  close(): Promise<void>
}

const patientSignal = new AbortController().signal
const ask = (runId: string, fence: number, message = 'hello'): ChatRequest => ({
  run_id: runId,
  fence,
  message,
  session: 'main',
})

/** Tests the contract of a connection to an agent, on which the ledger relies. */
export function describeAgentLine(name: string, make: () => Promise<AgentUnderTest>): void {
  const withAgent = (work: (agent: AgentUnderTest) => Promise<void>) => async (): Promise<void> => {
    const agent = await make()
    try {
      await work(agent)
    } finally {
      await agent.close()
    }
  }
  const chat = ({ line }: AgentUnderTest, request: ChatRequest, signal = patientSignal) => {
    const frames: ChatFrame[] = []
    const result = line.chatStream(request, (frame) => frames.push(frame), signal)
    // The promise is awaited later; until then a rejection must not be unhandled.
    result.catch(() => undefined)
    return { frames, result }
  }
  const task = (runId: string, fence: number) => ({
    task_id: 'task_1',
    run_id: runId,
    fence,
    task_type: 'count',
    input_data: { what: 'files' },
    context: {},
    timeout_s: 60,
    max_retries: 0,
    token_budget: null,
  })

  describe(`${name} as a line to an agent`, () => {
    test(
      'a turn ends with its result, which is the last frame, and is remembered',
      withAgent(async (agent) => {
        const { frames, result } = chat(agent, ask('run_1', 3))
        await agent.working()
        expect(await agent.line.result('run_1', 0, patientSignal)).toEqual({ state: 'working', fence: 3 })
        await agent.finish('it is done')
        const ended = await result
        expect(ended).toMatchObject({
          run_id: 'run_1',
          fence: 3,
          status: 'complete',
          response: 'it is done',
        })
        expect(frames.at(-1)).toEqual({ type: 'done', result: ended })
        const stored = await agent.line.result('run_1', 0, patientSignal)
        expect(stored).toEqual({ state: 'finished', result: ended })
        expect(await agent.line.result('run_2', 0, patientSignal)).toEqual({ state: 'unknown' })
      }),
    )

    test(
      'a run sent again under its fence attaches, and when it has ended is answered and not done again',
      withAgent(async (agent) => {
        const first = chat(agent, ask('run_1', 3))
        await agent.working()
        const second = chat(agent, ask('run_1', 3))
        // A client that disconnects from the stream does not end the run.
        const leaving = new AbortController()
        const third = chat(agent, ask('run_1', 3), leaving.signal)
        const reason = new Error('gone')
        leaving.abort(reason)
        await expect(third.result).rejects.toBe(reason)
        await agent.finish('once')
        const ended = await first.result
        // The second call may have attached just after the run ended; the agent returns the outcome in any case.
        expect(await second.result).toEqual(ended)
        expect(await chat(agent, ask('run_1', 3)).result).toEqual(ended)
        // A call with a newer fencing token gets the same outcome, marked with that newer token.
        expect(await chat(agent, ask('run_1', 5)).result).toEqual({ ...ended, fence: 5 })
        expect(await agent.line.result('run_1', 0, patientSignal)).toMatchObject({ result: { fence: 5 } })
      }),
    )

    test(
      'a run that ended does another turn when something else is asked under a newer fence',
      withAgent(async (agent) => {
        const first = chat(agent, ask('run_1', 3))
        await agent.finish('one')
        await first.result
        const second = chat(agent, ask('run_1', 4, 'and now?'))
        await agent.finish('two')
        expect(await second.result).toMatchObject({ fence: 4, status: 'complete', response: 'two' })
      }),
    )

    test(
      'a higher fence takes over and leaves no outcome of the lower, which then is refused',
      withAgent(async (agent) => {
        const older = chat(agent, ask('run_1', 3))
        await agent.working()
        const newer = chat(agent, ask('run_2', 4))
        expect((await older.result)?.status ?? 'cancelled').toBe('cancelled')
        await agent.working()
        expect(await agent.line.result('run_1', 0, patientSignal)).toEqual({ state: 'unknown' })
        const stale = { code: 'agent-unavailable', extra: { agent_code: 'stale-fence' } }
        await expect(chat(agent, ask('run_1', 3)).result).rejects.toMatchObject(stale)
        await expect(agent.line.task(task('run_3', 2), patientSignal)).rejects.toMatchObject(stale)
        await agent.finish('newer')
        expect(await newer.result).toMatchObject({ run_id: 'run_2', fence: 4, status: 'complete' })
      }),
    )

    test(
      'a cancelled run ends as cancelled, and a run under another fence is not cancelled',
      withAgent(async (agent) => {
        const { result } = chat(agent, ask('run_1', 3))
        await agent.working()
        await agent.line.cancel('run_1', 2, patientSignal)
        await agent.line.cancel('run_9', 3, patientSignal)
        expect(await agent.line.result('run_1', 0, patientSignal)).toMatchObject({ state: 'working' })
        await agent.line.cancel('run_1', 3, patientSignal)
        expect(await result).toMatchObject({ run_id: 'run_1', fence: 3, status: 'cancelled' })
        expect(await agent.line.result('run_1', 20, patientSignal)).toMatchObject({
          state: 'finished',
          result: { status: 'cancelled' },
        })
      }),
    )

    test(
      'words reach the run that works under that fence, and no other',
      withAgent(async (agent) => {
        const { result } = chat(agent, ask('run_1', 3))
        await agent.working()
        const say = (run_id: string, fence: number) =>
          agent.line.steer(
            { run_id, fence, steers: [{ id: 'steer_1', from: 'your user', text: 'also this' }] },
            patientSignal,
          )
        expect(await say('run_1', 2)).toBe(false)
        expect(await say('run_2', 3)).toBe(false)
        expect(await say('run_1', 3)).toBe(true)
        expect(await say('run_1', 3)).toBe(true)
        await agent.finish('heard')
        await result
        expect(await say('run_1', 3)).toBe(false)
      }),
    )

    test(
      'a task is taken, shown while it goes on, and asked for',
      withAgent(async (agent) => {
        expect(await agent.line.task(task('run_1', 3), patientSignal)).toBe(true)
        const frames: ChatFrame[] = []
        const watched = agent.line.watch('run_1', (frame) => frames.push(frame), patientSignal)
        await agent.working()
        expect(await agent.line.task(task('run_1', 3), patientSignal)).toBe(true)
        const pending = agent.line.result('run_1', 20, patientSignal)
        await agent.finish('three files')
        const reply = await pending
        expect(reply).toMatchObject({
          state: 'finished',
          result: { run_id: 'run_1', fence: 3, status: 'complete', response: 'three files' },
        })
        await watched
        expect(frames.at(-1)).toMatchObject({ type: 'done', result: { run_id: 'run_1' } })
        // `watch` serves only for display, so a run that does not exist is no error.
        await agent.line.watch('run_1', () => undefined, patientSignal)
      }),
    )

    test(
      'a process that ends breaks its streams without a result, and then cannot be reached',
      withAgent(async (agent) => {
        const { result } = chat(agent, ask('run_1', 3))
        await agent.working()
        expect(await agent.line.healthy(patientSignal)).toBe(true)
        await agent.die()
        expect(await result).toBeNull()
        expect(await agent.line.healthy(patientSignal)).toBe(false)
        const gone = { code: 'agent-unavailable' }
        await expect(agent.line.result('run_1', 0, patientSignal)).rejects.toMatchObject(gone)
        await expect(agent.line.task(task('run_2', 4), patientSignal)).rejects.toMatchObject(gone)
        await expect(agent.line.cancel('run_1', 3, patientSignal)).rejects.toMatchObject(gone)
        await expect(chat(agent, ask('run_1', 4)).result).rejects.toMatchObject(gone)
        await agent.line.watch('run_1', () => undefined, patientSignal)
      }),
    )

    test(
      'a caller that aborts gets its own reason',
      withAgent(async ({ line }) => {
        const reason = new Error('given up')
        const signal = AbortSignal.abort(reason)
        await expect(line.chatStream(ask('run_1', 3), () => undefined, signal)).rejects.toBe(reason)
        await expect(line.task(task('run_1', 3), signal)).rejects.toBe(reason)
        await expect(line.result('run_1', 0, signal)).rejects.toBe(reason)
      }),
    )
  })
}

export interface ConnectionsUnderTest {
  readonly connections: AgentConnections
  /** Id of an agent that the fleet knows and that is not running. */
  readonly agentId: string
  /** Ends the agent's process without a request of the mesh. */
  die(): Promise<void>
  close(): Promise<void>
}

/** Tests the contract of the connections to a fleet, on which the ledger relies. */
export function describeAgentConnections(name: string, make: () => Promise<ConnectionsUnderTest>): void {
  const withFleet = (work: (fleet: ConnectionsUnderTest) => Promise<void>) => async (): Promise<void> => {
    const fleet = await make()
    try {
      await work(fleet)
    } finally {
      await fleet.close()
    }
  }

  describe(`${name} as what starts agents`, () => {
    test(
      'an agent is started by who needs it, and not by who only asks whether it runs',
      withFleet(async ({ connections, agentId }) => {
        expect(await connections.connectIfRunning(agentId)).toBeNull()
        expect(await connections.connectIfRunning(agentId)).toBeNull()
        const lines = await Promise.all([
          connections.ensureRunning(agentId, patientSignal),
          connections.ensureRunning(agentId, patientSignal),
        ])
        for (const line of [...lines, await connections.connectIfRunning(agentId)]) {
          expect(line?.agentId).toBe(agentId)
          expect(await line?.healthy(patientSignal)).toBe(true)
        }
      }),
    )

    test(
      'one that ended by itself runs no more, and is started again',
      withFleet(async ({ connections, agentId, die }) => {
        const before = await connections.ensureRunning(agentId, patientSignal)
        await die()
        expect(await connections.connectIfRunning(agentId)).toBeNull()
        expect(await before.healthy(patientSignal)).toBe(false)
        const after = await connections.ensureRunning(agentId, patientSignal)
        expect(await after.healthy(patientSignal)).toBe(true)
      }),
    )

    test(
      'one that is given up is ended, and started again by who needs it',
      withFleet(async ({ connections, agentId }) => {
        await connections.ensureRunning(agentId, patientSignal)
        await connections.giveUp(agentId, 'it does not get on')
        expect(await connections.connectIfRunning(agentId)).toBeNull()
        const after = await connections.ensureRunning(agentId, patientSignal)
        expect(await after.healthy(patientSignal)).toBe(true)
      }),
    )
  })
}
