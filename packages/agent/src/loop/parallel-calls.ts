import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { parseShown } from '@flotilla/protocol/json-as-written'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { RequestedCall } from '../llm/language-model.ts'
import { madeCall } from '../tools/made-call.ts'
import type { Tool } from '../tools/tool.ts'
import { fingerprint } from './fingerprint.ts'
import { stepLoop } from './loop-detection.ts'
import type { AskedCall, CallRecord } from './loop-detection.ts'
import { stableJson } from './run-request.ts'

/** Maximum number of calls of one answer that run at once, because mesh and disk also serve others. */
export const parallelCallsMax = 4

type ParsedArguments =
  | { readonly ok: true; readonly input: JsonObject; readonly shown: JsonObject }
  | { readonly ok: false; readonly reason: string }

/** A call of the model with its parsed arguments. */
export interface ReadCall {
  /** As it is in the conversation. */
  readonly requested: RequestedCall
  /** The call that is meant: the tool within a `call_tool`. */
  readonly made: RequestedCall
  readonly tool: Tool | undefined
  readonly parsed: ParsedArguments
  /** Empty if the arguments cannot be parsed. */
  readonly input: JsonObject
  /**
   * The input for people and for the loop detector: numbers that no float can represent are texts of their digits.
   */
  readonly shown: JsonObject
  readonly key: AskedCall
}

/** Pure. */
export function readCall(tools: readonly Tool[], requested: RequestedCall): ReadCall {
  const made = madeCall(requested)
  const parsed = parseArguments(made.arguments)
  const { input, shown } = parsed.ok ? parsed : { input: {}, shown: {} }
  return {
    requested,
    made,
    tool: tools.find((known) => known.definition.name === made.name),
    parsed,
    input,
    shown,
    key: {
      tool: made.name,
      paramsHash: fingerprint(parsed.ok ? stableJson(shown) : made.arguments),
    },
  }
}

/**
 * Returns the calls, from the first on, that may run at once: calls without effects that the loop detector
 * would judge the same if the ones before had already finished. It judges a call by the results of equal
 * calls, so no two are equal; others can only make it forget, and so be milder. Pure.
 */
export function parallelCalls(
  requested: readonly ReadCall[],
  records: readonly CallRecord[],
): readonly (ReadCall & { readonly tool: Tool })[] {
  const together: (ReadCall & { readonly tool: Tool })[] = []
  for (const one of requested) {
    const { tool, key } = one
    if (together.length === parallelCallsMax || !tool || !one.parsed.ok || !isSafe(tool, one.input)) break
    if (together.some((other) => other.key.tool === key.tool && other.key.paramsHash === key.paramsHash))
      break
    if (stepLoop(records, { kind: 'asked', call: key }).verdict !== 'run') break
    together.push({ ...one, tool })
  }
  return together
}

function isSafe({ parallelSafe = false }: Tool, input: JsonObject): boolean {
  return typeof parallelSafe === 'function' ? parallelSafe(input) : parallelSafe
}

/**
 * Parses a model's arguments as an object. Truncated arguments, or no object, are never guessed and never
 * executed. An empty text means a call without arguments. Pure.
 */
export function parseArguments(text: string): ParsedArguments {
  if (text.trim() === '') return { ok: true, input: {}, shown: {} }
  try {
    const value: unknown = JSON.parse(text)
    const shown: unknown = parseShown(text)
    if (isJsonObject(value) && isJsonObject(shown)) return { ok: true, input: value, shown }
    return { ok: false, reason: 'The arguments are not a JSON object.' }
  } catch {
    return { ok: false, reason: 'The arguments are not valid JSON; they may be truncated.' }
  }
}
