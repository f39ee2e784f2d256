import type { ChatFrame, ChatRequest, HeartbeatRequest, TaskResult } from '@flotilla/protocol/agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type { SteerMessage } from '@flotilla/protocol/steer'
import type { AgentConnection, AgentConnections } from '../fleet/agent-connection.ts'

/** A run as a fake agent holds it. */
export interface FakeRun {
  readonly runId: string
  fence: number
  message: string
  state: 'working' | 'finished'
  result: TaskResult | null
  onFrame: ((frame: ChatFrame) => void) | null
  /** What it was told while it works, by id; forgotten with its process. */
  readonly steers: Map<string, SteerMessage>
}

interface FakeAgent {
  alive: boolean
  /** The container lives and its process answers nobody. */
  hung: boolean
  readonly runs: Map<string, FakeRun>
  readonly watchers: Set<() => void>
}

/** What was sent to an agent: each sending, repeated attempts too. */
export interface Sending {
  readonly agentId: string
  readonly runId: string
  readonly fence: number
  readonly kind: 'chat' | 'task' | 'tool' | 'heartbeat'
  readonly message: string
  readonly steers?: readonly SteerMessage[]
}

/** Agents without containers, that a test lets work, end, hang and die. Fake of `AgentConnections`. */
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
  /** The container dies; what was not finished is forgotten. */
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
    const fresh: FakeAgent = { alive: false, hung: false, runs: new Map(), watchers: new Set() }
    agents.set(agentId, fresh)
    return fresh
  }

  function stir(agent: FakeAgent): void {
    for (const watcher of agent.watchers) watcher()
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
    working: (agentId) => [...agentOf(agentId).runs.values()].find((run) => run.state === 'working') ?? null,
    finish: (agentId, changes) => {
      const run = fakes.working(agentId)
      if (!run || !agentOf(agentId).alive) return null
      run.state = 'finished'
      run.result = aTaskResult(run, changes)
      stir(agentOf(agentId))
      return run.result
    },
    say: (agentId, frame) => fakes.working(agentId)?.onFrame?.(frame),
    die: (agentId) => {
      const agent = agentOf(agentId)
      agent.alive = false
      for (const run of agent.runs.values()) if (run.state === 'working') agent.runs.delete(run.runId)
      stir(agent)
    },
    hang: (agentId, hung) => {
      agentOf(agentId).hung = hung
    },
    breakStreams: (agentId) => stir(agentOf(agentId)),
  }
  return fakes
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

  /** Attaches under an equal fence; a higher one aborts whatever is lower, as the real agent does (R3). */
  function take({ steers = [], ...sending }: Sending): FakeRun {
    requireAnswer()
    sent.push(sending)
    const run = attachedOrBegun(sending)
    for (const steer of steers) run.steers.set(steer.id, steer)
    return run
  }

  function attachedOrBegun(sending: Sending): FakeRun {
    const known = agent.runs.get(sending.runId)
    if (known?.fence === sending.fence) return known
    for (const run of agent.runs.values()) if (run.state === 'working') agent.runs.delete(run.runId)
    const { runId, fence, message } = sending
    const run: FakeRun = {
      runId,
      fence,
      message,
      state: 'working',
      result: null,
      onFrame: null,
      steers: new Map(),
    }
    agent.runs.set(runId, run)
    return run
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
    const run = take({ agentId, runId, fence, kind, message, steers })
    run.onFrame = onFrame
    if (run.state === 'working') await stirred(signal)
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
      const run = agent.runs.get(runId)
      if (run?.state !== 'working' || run.fence !== fence) return false
      for (const steer of steers) run.steers.set(steer.id, steer)
      return true
    },
    watch: async () => {},
    task: async (assignment, signal) => {
      signal.throwIfAborted()
      const { run_id: runId, fence, task_id, steers = [] } = assignment
      take({ agentId, runId, fence, kind: 'task', message: task_id, steers })
      return true
    },
    invoke: async ({ run_id: runId, fence, tool }, signal) => {
      signal.throwIfAborted()
      take({ agentId, runId, fence, kind: 'tool', message: tool })
      return true
    },
    result: async (runId, waitSeconds, signal) => {
      signal.throwIfAborted()
      requireAnswer()
      if (waitSeconds > 0 && agent.runs.get(runId)?.state === 'working') await stirred(signal)
      requireAnswer()
      const run = agent.runs.get(runId)
      if (!run) return { state: 'unknown' }
      return run.result ? { state: 'finished', result: run.result } : { state: 'working', fence: run.fence }
    },
    cancel: async (runId, fence) => {
      requireAnswer()
      cancelled.push(runId)
      if (agent.runs.get(runId)?.fence === fence) agent.runs.delete(runId)
    },
    writeFile: async () => {},
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
