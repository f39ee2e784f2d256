import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import { meshAwayMaxMs } from '../mesh/mesh-http.ts'
import type { Trust } from '../memory/trust.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { parameters } from './parameters.ts'
import type { Shape, Values } from './parameters.ts'

/**
 * The effect of a call, which decides what happens after an interruption: `local` is never repeated
 * automatically, `mesh` is sent again with its idempotency key, `none` may simply run again.
 */
export type ToolEffect = 'local' | 'mesh' | 'none'

/** A resource that a container has only once: see `exclusive-use.ts`. */
export type Exclusive = 'browser'

/** The end of a task, as the agent that worked on it reports it. */
export interface TaskCompletion {
  readonly taskId: string
  readonly status: 'done' | 'failed' | 'blocked'
  readonly summary: string
  readonly result: JsonValue
  /** Values that the mesh writes to the blackboard when the task is done. */
  readonly promote: JsonObject
}

/** The provenance of a call: the origin of its run, and what was read before it. */
export interface CallProvenance {
  readonly runId: string
  /** Kind of origin, `unknown` if not given. */
  readonly origin: string
  readonly channel: string
  /** The trust of the least trusted text in the conversation. */
  readonly trust: Trust
  readonly urls: readonly string[]
}

/** Progress of a run, for its agent. */
export interface RunStatus {
  readonly startedAt: number
  /** Answers of the model in this run, and their maximum. */
  readonly rounds: number
  readonly roundsMax: number
  /** Answers in the conversation that the run belongs to, and their maximum; null in task mode. */
  readonly sessionRounds: { readonly used: number; readonly max: number } | null
  readonly tokens: number
  readonly costUsd: number
  /** What this run alone may spend, if its task limits it. */
  readonly spending: { readonly maxTokens: number | null; readonly maxCostUsd: number | null } | null
}

export interface ToolContext {
  readonly mesh: RunMesh
  /** `<run>:<step>`: the same for the same call, also after a crash. */
  readonly idempotencyKey: string
  /** The task that this run works on, in task mode. */
  readonly taskId: string | null
  readonly signal: AbortSignal
  /** The arguments as the model wrote them, for tools that pass them on: no number is changed by parsing. */
  readonly written?: string
  /** Full name of the calling sub-agent; absent for the agent itself. */
  readonly subagent?: string
  /** The provenance of the call, for tools that store their input; if absent, nothing is trusted. */
  readonly provenance?: () => CallProvenance
  /** Absent if a tool is called without a model. */
  readonly status?: () => RunStatus
  /** Names of the tools whose definitions the conversation holds; absent if a tool is called without a model. */
  readonly found?: () => ReadonlySet<string>
}

/** A picture as a tool returned it. */
export interface ToolImage {
  readonly mediaType: string
  readonly base64: string
}

export interface ToolAnswer {
  /** The result for the model: a text is used unchanged, anything else as JSON. */
  readonly output: unknown
  /** False if the tool ran and its work failed, such as a program with an exit code other than 0. */
  readonly ok: boolean
  readonly completion?: TaskCompletion
  /** Pictures for a model that supports them; their bytes decide their type, and invalid pictures are left out. */
  readonly images?: readonly ToolImage[]
}

export interface Tool {
  readonly definition: ToolDefinition
  readonly effect: ToolEffect
  readonly timeoutMs: number
  /** The MCP server or skill that provides the tool; absent for the agent's own tools. */
  readonly source?: string
  /**
   * Whether calls with this input may run concurrently with others. Only for calls without effects: after a
   * crash they are all repeated. False if absent.
   */
  readonly parallelSafe?: boolean | ((input: JsonObject) => boolean)
  /** True if the mesh would deny the tool: the model does not see it, and a call of it gets the mesh's reason. */
  readonly withheld?: boolean
  /** True if the prompt does not define the tool: the model finds it with `find_tools`, and may always call it. */
  readonly deferred?: boolean
  /** Text that every system prompt ends with while the tool is in the list. */
  readonly promptNote?: PromptText
  /** A resource that only one user may have at a time. */
  readonly exclusive?: Exclusive
  /** Makes one call. May reject with a Problem, whose text the model reads, or with anything else. */
  run(input: JsonObject, context: ToolContext): Promise<ToolAnswer>
}

/** A tool that waits for the mesh waits as long as calls to the mesh do, and a little more. */
export const meshToolTimeoutMs = meshAwayMaxMs + 150_000

export function defineTool<S extends Shape>(options: {
  name: string
  description: string
  parameters: S
  effect: ToolEffect
  timeoutMs: number
  parallelSafe?: Tool['parallelSafe']
  deferred?: boolean
  run(values: Values<S>, context: ToolContext): Promise<ToolAnswer>
}): Tool {
  const expected = parameters(options.parameters)
  return {
    definition: { name: options.name, description: options.description, parameters: expected.schema },
    effect: options.effect,
    timeoutMs: options.timeoutMs,
    ...(options.parallelSafe === undefined ? {} : { parallelSafe: options.parallelSafe }),
    ...(options.deferred === true ? { deferred: true } : {}),
    run: async (input, context) => options.run(expected.read(input), context),
  }
}

export function succeeded(output: unknown): ToolAnswer {
  return { output, ok: true }
}
