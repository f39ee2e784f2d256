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

export type FactsQuery = z.output<typeof factsQuerySchema>

/** A tool of an agent, with the JSON Schema of its parameters. */
export interface AgentTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

export interface ListedTool extends AgentTool {
  /** Where the tool comes from: `builtin`, `skill`, or `mcp:` and the name of a server. */
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
   * Resolves to true if the process started with this agent token answers; polled until the first run is sent.
   * `onTaken` is called when the agent's server accepts a connection, if that is before the answer.
   */
  started(doorToken: string, signal: AbortSignal, onTaken?: () => void): Promise<boolean>
  status(signal: AbortSignal): Promise<AgentStatus>
  /** Returns the states of the agent's MCP servers. */
  mcpServers(signal: AbortSignal): Promise<readonly McpServerStatus[]>
  /** Returns the agent's tools as its model sees them; the schemas come from the agent and are untrusted. */
  tools(signal: AbortSignal): Promise<readonly ListedTool[]>
  /** Returns the agent's own report of the facts by which a heartbeat is decided. */
  heartbeatContext(signal: AbortSignal): Promise<HeartbeatContext>
}

/** Gives work to an agent. Each call names the run, and most also its fencing token. */
export interface AgentRuns {
  /** Sends a chat turn and passes frames to `onFrame`. Null if the stream broke before `done`: then call `result`. */
  chatStream(
    request: ChatRequest,
    onFrame: (frame: ChatFrame) => void,
    signal: AbortSignal,
  ): Promise<TaskResult | null>
  /** Sends a heartbeat like `chatStream`; a completed one has a `result` of the form `heartbeatResultSchema`. */
  heartbeat(
    request: HeartbeatRequest,
    onFrame: (frame: ChatFrame) => void,
    signal: AbortSignal,
  ): Promise<TaskResult | null>
  /** Resolves to true if the agent accepted the task. For a run that the agent knows, it attaches or continues. */
  task(assignment: TaskAssignment, signal: AbortSignal): Promise<boolean>
  invoke(request: InvokeRequest, signal: AbortSignal): Promise<boolean>
  /** Sends a message to a run; false if the agent does not run it under that fencing token. Idempotent. */
  steer(request: SteerRequest, signal: AbortSignal): Promise<boolean>
  /**
   * Passes a run's frames to `onFrame` until the run ends or the connection breaks. For display only: the call never
   * rejects, and no decision depends on the frames.
   */
  watch(runId: string, onFrame: (frame: ChatFrame) => void, signal: AbortSignal): Promise<void>
  /** Waits up to `waitSeconds` (30 at most) for the outcome of a run and returns it. */
  result(runId: string, waitSeconds: number, signal: AbortSignal): Promise<ResultReply>
  cancel(runId: string, fence: number, signal: AbortSignal): Promise<void>
}

/** The conversations that an agent remembers. */
export interface AgentConversations {
  /** Lists the agent's conversations, newest first. */
  chatSessions(signal: AbortSignal): Promise<ChatSessions>
  chatHistory(
    query: { readonly session: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<ChatHistory>
  /** Archives a conversation, which is empty afterwards. Problem `conflict` while a turn of the agent uses it. */
  chatReset(session: string, signal: AbortSignal): Promise<ChatResetReply>
}

/** The agent's files below /data, and its memory. */
export interface AgentData {
  /** Returns the entries of a folder below /data (empty path: /data itself). The agent chose the names: untrusted. */
  listFolder(path: string, signal: AbortSignal): Promise<z.infer<typeof folderSchema>>
  /**
   * Returns the content of a file, whose bytes count as memory in use until released. Problem `body-too-large` above
   * `keptLimits.fileReadMaxBytes`.
   */
  readFile(path: string, signal: AbortSignal): Promise<HeldFile>
  writeFile(path: string, content: Uint8Array, signal: AbortSignal): Promise<void>
  /** Returns a picture of the agent's history by the SHA-256 of its bytes; the caller must verify the content. */
  readPicture(sha256: string, signal: AbortSignal): Promise<HeldFile>
  /** Returns the facts in the agent's memory, newest first, as the agent reports them. */
  facts(query: FactsQuery, signal: AbortSignal): Promise<z.infer<typeof factsSchema>>
  /** Deletes a fact. Returns false if the fact does not exist, for example because the call was sent twice. */
  forgetFact(name: string, signal: AbortSignal): Promise<boolean>
}

/** Reads and writes the files that define an agent's identity. */
export interface AgentWorkspace {
  workspaceFiles(signal: AbortSignal): Promise<readonly IdentityFile[]>
  readWorkspaceFile(name: string, signal: AbortSignal): Promise<string>
  writeWorkspaceFile(name: string, content: string, signal: AbortSignal): Promise<void>
}

/** The functions of the fleet that the run ledger needs. */
export interface AgentConnections {
  /**
   * Starts the agent's sandbox if necessary and waits until the agent answers. Problems `agent-unavailable`,
   * `fleet-paused`, `unknown-agent`; `not-configured` if the agent has no model and the work needs one.
   */
  ensureRunning(
    agentId: string,
    signal: AbortSignal,
    work?: { readonly withoutModel: boolean },
  ): Promise<AgentConnection>
  /** Returns a connection to the agent's running sandbox, or null. Queries the engine and starts no sandbox. */
  connectIfRunning(agentId: string): Promise<AgentConnection | null>
  /**
   * Ends the sandbox of an agent that makes no progress, for the given reason; the next caller that needs the agent
   * starts it again.
   */
  giveUp(agentId: string, reason: string): Promise<void>
}
