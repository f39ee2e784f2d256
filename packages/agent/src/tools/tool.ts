import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'
import { meshAwayMaxMs } from '../mesh/mesh-http.ts'
import type { Trust } from '../memory/trust.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { parameters } from './parameters.ts'
import type { Shape, Values } from './parameters.ts'

/**
 * What a call does to the world, which decides what happens when it is cut off: `local` is never run again
 * unasked, `mesh` is sent again under its idempotency key, `none` may simply be run again.
 */
export type ToolEffect = 'local' | 'mesh' | 'none'

/** What a container has one of: see `exclusive-use.ts`. */
export type Exclusive = 'browser'

/** How a task ends, in the words of the agent that worked on it. */
export interface TaskCompletion {
  readonly taskId: string
  readonly status: 'done' | 'failed' | 'blocked'
  readonly summary: string
  readonly result: JsonValue
  /** Written to the blackboard by the mesh where the task is done. */
  readonly promote: JsonObject
}

/** What stood behind a call: who asked, and what was read before it. */
export interface CallProvenance {
  readonly runId: string
  /** Kind of origin, `unknown` when nobody said. */
  readonly origin: string
  readonly channel: string
  /** By the least trusted text in the conversation. */
  readonly trust: Trust
  readonly urls: readonly string[]
}

/** How far a run is, for its agent to see. */
export interface RunStatus {
  readonly startedAt: number
  /** Answers of the model in this run, and how many it may ask for. */
  readonly rounds: number
  readonly roundsMax: number
  /** The same for the conversation that the run belongs to; null in task mode. */
  readonly sessionRounds: { readonly used: number; readonly max: number } | null
  readonly tokens: number
  readonly costUsd: number
  /** What this run alone may spend, where its task says so. */
  readonly spending: { readonly maxTokens: number | null; readonly maxCostUsd: number | null } | null
}

export interface ToolContext {
  readonly mesh: RunMesh
  /** `<run>:<step>`: the same for the same call, also after a crash. */
  readonly idempotencyKey: string
  /** The task that this run works on, in task mode. */
  readonly taskId: string | null
  readonly signal: AbortSignal
  /** The arguments as the model wrote them, for tools that hand them on: no number of theirs becomes another one. */
  readonly written?: string
  /** Full name of the sub-agent that makes the call; none for the agent itself. */
  readonly subagent?: string
  /** Asked by tools that keep what they are given. Without it nothing is known, and nothing is trusted. */
  readonly provenance?: () => CallProvenance
  /** Left out where a tool is called without a model. */
  readonly status?: () => RunStatus
}

/** A picture as a tool found it. */
export interface ToolImage {
  readonly mediaType: string
  readonly base64: string
}

export interface ToolAnswer {
  /** Text as it is, anything else as JSON. */
  readonly output: unknown
  /** False when the tool ran and its work failed, such as a program with another exit code than 0. */
  readonly ok: boolean
  readonly completion?: TaskCompletion
  /** Shown to a model that sees pictures; what they are is decided by their bytes, and what is none is left out. */
  readonly images?: readonly ToolImage[]
}

export interface Tool {
  readonly definition: ToolDefinition
  readonly effect: ToolEffect
  readonly timeoutMs: number
  /** Whose it is; the agent's own where nothing is said. */
  readonly source?: string
  /**
   * Whether calls with this input may be made together with others. Only for calls that change nothing: after a crash
   * they are all made again, unasked. False where it is left out.
   */
  readonly parallelSafe?: boolean | ((input: JsonObject) => boolean)
  /** The mesh would refuse it: a model is not told of it, and one that calls it all the same hears the mesh's reason. */
  readonly withheld?: boolean
  /** What it uses that only one may use at a time. */
  readonly exclusive?: Exclusive
  /** May reject: with a Problem whose words the model shall read, or with anything else. */
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
  run(values: Values<S>, context: ToolContext): Promise<ToolAnswer>
}): Tool {
  const expected = parameters(options.parameters)
  return {
    definition: { name: options.name, description: options.description, parameters: expected.schema },
    effect: options.effect,
    timeoutMs: options.timeoutMs,
    ...(options.parallelSafe === undefined ? {} : { parallelSafe: options.parallelSafe }),
    run: async (input, context) => options.run(expected.read(input), context),
  }
}

export function succeeded(output: unknown): ToolAnswer {
  return { output, ok: true }
}
