import type { ChatFrame, ChatRequest, HeartbeatRequest, TaskResult } from '@flotilla/protocol/agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type { SteerMessage } from '@flotilla/protocol/steer'
import type { AgentConnection, AgentConnections } from '../../fleet/src/agents/connection/agent-connection.ts'

/** A run as a fake agent holds it while it works. */
export interface FakeRun {
  readonly runId: string
  readonly fence: number
  readonly kind: Sending['kind']
  readonly message: string
  /** The whole request: the same run with the same input is not executed again. */
  readonly input: string
  /** The outcome, sent to every subscriber. A superseded attempt is reported as such and has no outcome. */
  result: TaskResult | null
  readonly listeners: Set<(frame: ChatFrame) => void>
  /** Steers that arrived while it works, by id; lost with its process. */
  readonly steers: Map<string, SteerMessage>
}

interface FakeAgent {
  alive: boolean
  /** The container runs, but its process does not answer. */
  hung: boolean
  current: FakeRun | null
  highestFence: number
  /** Stored on its disk, by run: the input and the outcome. */
  readonly outcomes: Map<string, { readonly input: string; readonly result: TaskResult }>
  readonly watchers: Set<() => void>
}

/** A request to an agent; repeated attempts are separate requests. */
export interface Sending {
  readonly agentId: string
  readonly runId: string
  readonly fence: number
  readonly kind: 'chat' | 'task' | 'tool' | 'heartbeat'
  readonly message: string
  readonly steers?: readonly SteerMessage[]
}

/** Fake of `AgentConnections` without containers: tests let its agents work, end, hang and die. */
export interface FakeAgents extends AgentConnections {
  readonly sent: Sending[]
  readonly cancelled: string[]
  /** Thrown by `ensureRunning` while it is set. */
  startFault: Problem | null
  /** Thrown by `connectIfRunning` while it is set. */
  engineFault: Error | null
  working(agentId: string): FakeRun | null
  finish(agentId: string, changes?: Partial<TaskResult>): TaskResult | null
  say(agentId: string, frame: ChatFrame): void
  /** Ends the container; unfinished work is lost. */
  die(agentId: string): void
  hang(agentId: string, hung: boolean): void
  /** Agents that were given up, with the reasons. */
  readonly givenUp: { readonly agentId: string; readonly reason: string }[]
  /** Open streams end without `done`. */
  breakStreams(agentId: string): void
}

export function aTaskResult(
  run: { readonly runId: string; readonly fence: number },
  changes: Partial<TaskResult> = {},
): TaskResult {
  return {
    run_id: run.runId,
    fence: run.fence,
    task_id: null,
    status: 'complete',
    result: null,
    response: `answer of ${run.runId}`,
    error: null,
    promote_to_blackboard: {},
    tool_outputs: [],
    tokens_used: 0,
    cost_usd: 0,
    duration_ms: 1,
    ...changes,
  }
}

export function createFakeAgents(): FakeAgents {
  const agents = new Map<string, FakeAgent>()
  const sent: Sending[] = []
  const cancelled: string[] = []

  function agentOf(agentId: string): FakeAgent {
    const known = agents.get(agentId)
    if (known) return known
    const fresh: FakeAgent = {
      alive: false,
      hung: false,
      current: null,
      highestFence: 0,
      outcomes: new Map(),
      watchers: new Set(),
    }
    agents.set(agentId, fresh)
    return fresh
  }

  const fakes: FakeAgents = {
    sent,
    cancelled,
    startFault: null,
    engineFault: null,
    ensureRunning: async (agentId) => {
      if (fakes.startFault) throw fakes.startFault
      agentOf(agentId).alive = true
      return createFakeConnection({ agentId, agent: agentOf(agentId), sent, cancelled })
    },
    connectIfRunning: async (agentId) => {
      if (fakes.engineFault) throw fakes.engineFault
      const agent = agentOf(agentId)
      return agent.alive ? createFakeConnection({ agentId, agent, sent, cancelled }) : null
    },
    givenUp: [],
    giveUp: async (agentId, reason) => {
      fakes.givenUp.push({ agentId, reason })
      agentOf(agentId).hung = false
      fakes.die(agentId)
    },
    working: (agentId) => agentOf(agentId).current,
    finish: (agentId, changes) => {
      const agent = agentOf(agentId)
      const run = agent.current
      if (!run || !agent.alive) return null
      const result = aTaskResult(run, changes)
      // A forged result, or the end of a process that stops, is not stored for the next attempt.
      if (result.fence === run.fence && result.status !== 'cancelled') keepOutcome(agent, run, result)
      endRun(agent, run, result)
      return result
    },
    say: (agentId, frame) => tell(agentOf(agentId).current, frame),
    die: (agentId) => {
      const agent = agentOf(agentId)
      Object.assign(agent, { alive: false, current: null, highestFence: 0 })
      stir(agent)
    },
    hang: (agentId, hung) => {
      agentOf(agentId).hung = hung
    },
    breakStreams: (agentId) => stir(agentOf(agentId)),
  }
  return fakes
}

function stir(agent: FakeAgent): void {
  for (const watcher of agent.watchers) watcher()
}

function tell(run: FakeRun | null, frame: ChatFrame): void {
  for (const listener of run?.listeners ?? []) listener(frame)
}

/** Stores the outcome on the agent's disk, before any subscriber is notified. */
function keepOutcome(agent: FakeAgent, run: FakeRun, result: TaskResult): void {
  agent.outcomes.set(run.runId, { input: run.input, result })
}

function endRun(agent: FakeAgent, run: FakeRun, result: TaskResult): void {
  agent.current = null
  run.result = result
  tell(run, { type: 'done', result })
  stir(agent)
}

interface ConnectionDeps {
  readonly agentId: string
  readonly agent: FakeAgent
  readonly sent: Sending[]
  readonly cancelled: string[]
}

function createFakeConnection({ agentId, agent, sent, cancelled }: ConnectionDeps): AgentConnection {
  function requireAnswer(): void {
    if (!agent.alive || agent.hung) throw new Problem('agent-unavailable')
  }

  /**
   * Behaves like the real agent: an equal fencing token attaches, a higher one aborts lower attempts, a lower one is
   * rejected.
   */
  function take({ steers = [], ...sending }: Sending, asked: object): FakeRun | TaskResult {
    requireAnswer()
    sent.push(sending)
    const { runId, fence, kind } = sending
    const input = JSON.stringify([kind, asked])
    const live = agent.current
    const isLive = live?.runId === runId && live.fence === fence
    const run = isLive ? live : (endedBefore({ runId, fence, input }) ?? begun({ ...sending, input }))
    if ('listeners' in run) for (const steer of steers) run.steers.set(steer.id, steer)
    return run
  }

  /** Finished work is not repeated; a caller with a newer fencing token gets the outcome under that token. */
  function endedBefore({
    runId,
    fence,
    input,
  }: Pick<FakeRun, 'runId' | 'fence' | 'input'>): TaskResult | null {
    const known = agent.outcomes.get(runId)
    if (!known || (known.input !== input && fence > known.result.fence)) return null
    if (fence <= known.result.fence) return known.result
    const result = { ...known.result, fence }
    agent.outcomes.set(runId, { ...known, result })
    return result
  }

  function begun(asked: Pick<FakeRun, 'runId' | 'fence' | 'kind' | 'message' | 'input'>): FakeRun {
    const { runId, fence, kind, message, input } = asked
    if (fence < agent.highestFence) {
      throw new Problem('agent-unavailable', { extra: { agent_status: 409, agent_code: 'stale-fence' } })
    }
    const { current } = agent
    if (current) endRun(agent, current, aTaskResult(current, { status: 'cancelled', response: '' }))
    agent.highestFence = fence
    agent.current = {
      runId,
      fence,
      kind,
      message,
      input,
      result: null,
      listeners: new Set(),
      steers: new Map(),
    }
    return agent.current
  }

  /** Resolves when something happened to the agent; rejects with the signal. */
  function stirred(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (end: () => void) => () => {
        agent.watchers.delete(woken)
        end()
      }
      const woken = finish(resolve)
      agent.watchers.add(woken)
      signal.addEventListener(
        'abort',
        finish(() => reject(signal.reason)),
        { once: true },
      )
    })
  }

  async function follow(
    kind: 'chat' | 'heartbeat',
    request: ChatRequest | HeartbeatRequest,
    { onFrame, signal }: { readonly onFrame: (frame: ChatFrame) => void; readonly signal: AbortSignal },
  ): Promise<TaskResult | null> {
    signal.throwIfAborted()
    const { run_id: runId, fence, message, steers = [] } = request
    const asked = 'session' in request ? [message, request.session] : [message, request.continues]
    const run = take({ agentId, runId, fence, kind, message, steers }, asked)
    if (!('listeners' in run)) {
      onFrame({ type: 'done', result: run })
      return run
    }
    run.listeners.add(onFrame)
    try {
      if (run.result === null) await stirred(signal)
    } finally {
      run.listeners.delete(onFrame)
    }
    return run.result
  }

  return {
    agentId,
    healthy: async () => agent.alive && !agent.hung,
    started: async () => agent.alive && !agent.hung,
    status: () => Promise.reject(new Problem('agent-unavailable')),
    tools: async () => [],
    chatStream: (request, onFrame, signal) => follow('chat', request, { onFrame, signal }),
    heartbeat: (request, onFrame, signal) => follow('heartbeat', request, { onFrame, signal }),
    heartbeatContext: () => Promise.reject(new Problem('agent-unavailable')),
    steer: async ({ run_id: runId, fence, steers }) => {
      requireAnswer()
      const run = agent.current
      if (run?.runId !== runId || run.fence !== fence || run.kind === 'tool') return false
      for (const steer of steers) run.steers.set(steer.id, steer)
      return true
    },
    watch: async (runId, onFrame, signal) => {
      const run = agent.current
      if (!agent.alive || agent.hung || run?.runId !== runId) return
      run.listeners.add(onFrame)
      await stirred(signal).catch(() => {})
      run.listeners.delete(onFrame)
    },
    task: async (assignment, signal) => {
      signal.throwIfAborted()
      const { run_id: runId, fence, task_id, steers = [] } = assignment
      const { task_type, input_data, context } = assignment
      take({ agentId, runId, fence, kind: 'task', message: task_id, steers }, [
        task_id,
        task_type,
        input_data,
        context,
      ])
      return true
    },
    invoke: async ({ run_id: runId, fence, tool, params }, signal) => {
      signal.throwIfAborted()
      take({ agentId, runId, fence, kind: 'tool', message: tool }, [tool, params])
      return true
    },
    result: async (runId, waitSeconds, signal) => {
      signal.throwIfAborted()
      requireAnswer()
      if (waitSeconds > 0 && agent.current?.runId === runId) await stirred(signal)
      requireAnswer()
      if (agent.current?.runId === runId) return { state: 'working', fence: agent.current.fence }
      const known = agent.outcomes.get(runId)
      return known ? { state: 'finished', result: known.result } : { state: 'unknown' }
    },
    cancel: async (runId, fence) => {
      requireAnswer()
      cancelled.push(runId)
      const run = agent.current
      if (run?.runId !== runId || run.fence !== fence) return
      const result = aTaskResult(run, { status: 'cancelled', response: '' })
      keepOutcome(agent, run, result)
      endRun(agent, run, result)
    },
    writeFile: async () => {},
    listFolder: async (path) => ({ path, entries: [], more: false }),
    readFile: async () => ({ content: new Uint8Array(), giveBack: () => {} }),
    readPicture: async () => ({ content: new Uint8Array(), giveBack: () => {} }),
    facts: async () => ({ facts: [], total: 0, more: false }),
    forgetFact: async () => false,
    workspaceFiles: async () => [],
    mcpServers: async () => [],
    chatSessions: async () => ({ sessions: [], total: 0 }),
    chatHistory: async ({ session }) => ({
      session,
      messages: [],
      total: 0,
      rounds: 0,
      continues: 0,
      task_id: null,
    }),
    chatReset: async (session) => ({ session, archived_messages: 0 }),
    readWorkspaceFile: async () => '',
    writeWorkspaceFile: async () => {},
  }
}
