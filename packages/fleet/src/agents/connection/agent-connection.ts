import type { JsonObject } from '@flotilla/protocol/json-value'
import type {
  AgentStatus,
  ChatFrame,
  ChatRequest,
  HeartbeatContext,
  HeartbeatRequest,
  InvokeRequest,
  ResultReply,
  SteerRequest,
  TaskResult,
} from '@flotilla/protocol/agent-api'
import type { factsQuerySchema, factsSchema, folderSchema, IdentityFile } from '@flotilla/protocol/kept-api'
import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import type { ChatHistory, ChatResetReply, ChatSessions } from '@flotilla/protocol/chat-history'
import type { TaskAssignment } from '@flotilla/protocol/task'
import type * as z from 'zod'
import type { HeldFile } from './agent-line.ts'

export type FactsAsked = z.output<typeof factsQuerySchema>

/** A tool of an agent, with the JSON Schema of its parameters. */
export interface AgentTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

export interface ListedTool extends AgentTool {
  /** `builtin`, `skill`, or `mcp:` and the name of a server. */
  readonly source: string
}

/**
 * The connection to one agent's process. Every call carries the mesh's short-lived signed token. A failed
 * call, or a reply with an invalid form, rejects with the Problem `agent-unavailable`.
 */
export interface AgentConnection
  extends AgentSelf, AgentRuns, AgentConversations, AgentData, AgentWorkspace {}

/** What an agent reports about itself. */
export interface AgentSelf {
  readonly agentId: string
  healthy(signal: AbortSignal): Promise<boolean>
  /**
   * True if the process that was started with this agent token answers; asked until the first run is sent. `onTaken`
   * is called as soon as a server listens there, if that shows before the answer.
   */
  started(doorToken: string, signal: AbortSignal, onTaken?: () => void): Promise<boolean>
  status(signal: AbortSignal): Promise<AgentStatus>
  /** The states of the agent's MCP servers. */
  mcpServers(signal: AbortSignal): Promise<readonly McpServerStatus[]>
  /** The agent's tools as its model sees them; the schemas come from the agent and are untrusted. */
  tools(signal: AbortSignal): Promise<readonly ListedTool[]>
  /** The facts by which a heartbeat is decided, as the agent reports them. */
  heartbeatContext(signal: AbortSignal): Promise<HeartbeatContext>
}

/** Gives work to an agent. Each call names the run, and most also its fencing token. */
export interface AgentRuns {
  /** Sends a chat turn and passes on its frames. Null if the stream broke before `done`: then call `result`. */
  chatStream(
    request: ChatRequest,
    onFrame: (frame: ChatFrame) => void,
    signal: AbortSignal,
  ): Promise<TaskResult | null>
  /** Does the same for a heartbeat; a completed heartbeat reports its result (`heartbeatResultSchema`). */
  heartbeat(
    request: HeartbeatRequest,
    onFrame: (frame: ChatFrame) => void,
    signal: AbortSignal,
  ): Promise<TaskResult | null>
  /** Resolves to whether the agent accepted the task. A run that the agent knows is attached to or continued. */
  task(assignment: TaskAssignment, signal: AbortSignal): Promise<boolean>
  invoke(request: InvokeRequest, signal: AbortSignal): Promise<boolean>
  /** Sends a message to a run; false if the agent does not work on it under that fencing token. Idempotent. */
  steer(request: SteerRequest, signal: AbortSignal): Promise<boolean>
  /**
   * Passes on a run's frames until the run ends or the connection breaks. For display only: the call never rejects,
   * and no decision depends on it.
   */
  watch(runId: string, onFrame: (frame: ChatFrame) => void, signal: AbortSignal): Promise<void>
  /** Waits up to `waitSeconds` (30 at most) for the outcome. */
  result(runId: string, waitSeconds: number, signal: AbortSignal): Promise<ResultReply>
  cancel(runId: string, fence: number, signal: AbortSignal): Promise<void>
}

/** The conversations that an agent remembers. */
export interface AgentConversations {
  /** Lists the agent's conversations, newest first. */
  chatSessions(signal: AbortSignal): Promise<ChatSessions>
  chatHistory(
    asked: { readonly session: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<ChatHistory>
  /** Archives and forgets a conversation. Problem `conflict` while a turn of the agent uses it. */
  chatReset(session: string, signal: AbortSignal): Promise<ChatResetReply>
}

/** The agent's files below /data, and its memory. */
export interface AgentData {
  /** The content of one folder below /data; empty for the top one. Its names come from the agent and are untrusted. */
  listFolder(path: string, signal: AbortSignal): Promise<z.infer<typeof folderSchema>>
  /**
   * The content of a file, which counts as held until it is released. Problem `body-too-large` above
   * `keptLimits.fileReadMaxBytes`.
   */
  readFile(path: string, signal: AbortSignal): Promise<HeldFile>
  writeFile(path: string, content: Uint8Array, signal: AbortSignal): Promise<void>
  /** A picture from the agent's history, by the SHA-256 of its bytes; the caller must verify its content. */
  readPicture(sha256: string, signal: AbortSignal): Promise<HeldFile>
  /** The facts in its memory, newest first, as the agent reports them. */
  facts(asked: FactsAsked, signal: AbortSignal): Promise<z.infer<typeof factsSchema>>
  /** Deletes a fact; false if it does not exist, for example because the call was sent twice. */
  forgetFact(name: string, signal: AbortSignal): Promise<boolean>
}

/** The files that define an agent's identity. */
export interface AgentWorkspace {
  workspaceFiles(signal: AbortSignal): Promise<readonly IdentityFile[]>
  readWorkspaceFile(name: string, signal: AbortSignal): Promise<string>
  writeWorkspaceFile(name: string, content: string, signal: AbortSignal): Promise<void>
}

/** What the run ledger needs from the fleet. */
export interface AgentConnections {
  /**
   * Starts the agent's sandbox if necessary and waits until it answers. Problems `agent-unavailable`, `fleet-paused`,
   * `unknown-agent`; `not-configured` if the agent has no model, unless the work needs none.
   */
  ensureRunning(
    agentId: string,
    signal: AbortSignal,
    work?: { readonly withoutModel: boolean },
  ): Promise<AgentConnection>
  /** Returns a connection to the agent's running sandbox, or null. It asks the engine and never starts a sandbox. */
  connectIfRunning(agentId: string): Promise<AgentConnection | null>
  /**
   * Ends the sandbox of an agent that makes no progress, with a reason; the next caller that needs the agent starts
   * it.
   */
  giveUp(agentId: string, reason: string): Promise<void>
}
