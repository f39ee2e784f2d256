import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { isDiskFull } from '../files/state-file.ts'
import { imagesMax } from '@flotilla/protocol/image-type'
import { cleanAndCut } from './cut-middle.ts'
import type { TaskCompletion, Tool, ToolContext, ToolImage } from './tool.ts'

/** Limit of one tool result for the model, in characters. */
export const toolOutputMaxChars = 20_000

export interface ToolCallEnd {
  readonly output: PromptText
  readonly ok: boolean
  readonly durationMs: number
  /** Code of the problem if the call failed with one. */
  readonly code: string | null
  readonly completion: TaskCompletion | null
  readonly images: readonly ToolImage[]
}

/**
 * Runs one call and never throws: every failure becomes text that the model can act on. A call ends at its
 * tool's time limit even if the tool ignores the signal.
 */
export async function executeToolCall(
  tool: Tool,
  input: JsonObject,
  options: { context: ToolContext; clock: Clock },
): Promise<ToolCallEnd> {
  const { clock, context } = options
  const startedAt = clock.now()
  const deadline = new AbortController()
  const signal = AbortSignal.any([context.signal, deadline.signal])
  const timer = new AbortController()
  const timeUp = clock.sleep(tool.timeoutMs, AbortSignal.any([timer.signal, context.signal])).then(() => {
    const seconds = Math.round(tool.timeoutMs / 1000)
    const problem = new Problem('upstream-timeout', {
      detail: `${tool.definition.name} took longer than ${seconds} s.`,
    })
    deadline.abort(problem)
    throw problem
  })
  try {
    const answer = await Promise.race([tool.run(input, { ...context, signal }), timeUp])
    const text = typeof answer.output === 'string' ? answer.output : JSON.stringify(answer.output, null, 1)
    return {
      output: cleanAndCut(text, toolOutputMaxChars),
      ok: answer.ok,
      durationMs: clock.now() - startedAt,
      code: null,
      completion: answer.completion ?? null,
      images: (answer.images ?? []).slice(0, imagesMax),
    }
  } catch (error) {
    return {
      ...describeFailure(tool, error),
      durationMs: clock.now() - startedAt,
      ok: false,
      completion: null,
      images: [],
    }
  } finally {
    timer.abort()
    timeUp.catch(() => undefined)
  }
}

function describeFailure(tool: Tool, thrown: unknown): { output: PromptText; code: string } {
  const error = isDiskFull(thrown) ? dataFull(thrown) : thrown
  const code = error instanceof Problem ? error.code : 'internal-error'
  const detail = error instanceof Error ? error.message : String(error)
  const repair = error instanceof Problem ? `${/[.!?]$/.test(detail) ? '' : '.'} ${error.repair}` : ''
  const shape = code === 'bad-request' ? ` ${expectedShape(tool)}` : ''
  return {
    output: cleanAndCut(`Error (${code}): ${detail}${repair}${shape}`, toolOutputMaxChars),
    code,
  }
}

function dataFull(cause: unknown): Problem {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Problem('data-full', { detail: `${reason}.`, cause })
}

/** Describes the tool's parameters to a model that got them wrong. */
export function expectedShape(tool: Tool): string {
  return `Expected one JSON object of this form: ${JSON.stringify(tool.definition.parameters)}`
}
