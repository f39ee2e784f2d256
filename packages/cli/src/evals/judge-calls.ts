import { jsonValueSchema } from '@flotilla/protocol/json-value'
import type { JsonValue } from '@flotilla/protocol/json-value'
import type { RunRecordView } from '@flotilla/protocol/replay-api'
import type { EvalCase, EvalCheck } from './eval-file.ts'

export interface MadeCall {
  readonly tool: string
  /** Null if the model wrote no JSON. */
  readonly arguments: JsonValue
}

/** Returns the tool calls of a run in order. Pure. */
export function madeCalls({ steps }: Pick<RunRecordView, 'steps'>): readonly MadeCall[] {
  return steps.flatMap(({ calls }) =>
    calls.map((call) => ({ tool: call.tool, arguments: readJson(call.arguments) })),
  )
}

/** Describes what is wrong with the calls; empty if all expectations hold. Pure. */
export function callFailures(
  { tools, never }: Pick<EvalCase, 'tools' | 'never'>,
  made: readonly MadeCall[],
): string[] {
  const failures: string[] = []
  let from = 0
  for (const expected of tools) {
    const at = made.findIndex(
      (call, index) =>
        index >= from && call.tool === expected.tool && isPartOf(expected.arguments, call.arguments),
    )
    if (at === -1) {
      const shown =
        Object.keys(expected.arguments).length === 0 ? '' : ` with ${JSON.stringify(expected.arguments)}`
      const were = made.map(({ tool }) => tool).join(', ') || 'none'
      failures.push(
        `no call of ${expected.tool}${shown}${from === 0 ? '' : ' after the previous ones'}; the calls were: ${were}`,
      )
      break
    }
    from = at + 1
  }
  for (const name of never) if (made.some(({ tool }) => tool === name)) failures.push(`${name} was called`)
  return failures
}

/** True if the given value contains the expected one: every field of an object; lists must be equal. Pure. */
export function isPartOf(expected: JsonValue, given: JsonValue | undefined): boolean {
  if (typeof expected !== 'object' || expected === null) return expected === given
  if (Array.isArray(expected)) {
    return (
      Array.isArray(given) &&
      given.length === expected.length &&
      expected.every((value, index) => isPartOf(value, given[index]))
    )
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false
  return Object.entries(expected).every(([name, value]) =>
    isPartOf(value, Object.hasOwn(given, name) ? given[name] : undefined),
  )
}

/** Describes what is wrong with a text, for the checks that need only the text; null if all hold. Pure. */
export function textFailure(
  check: Extract<
    EvalCheck,
    { equals: string } | { contains: string } | { lacks: string } | { matches: string }
  >,
  text: string,
): string | null {
  if ('equals' in check)
    return text.trim() === check.equals.trim() ? null : `the answer is not ${quoted(check.equals)}`
  if ('contains' in check)
    return text.includes(check.contains) ? null : `the answer lacks ${quoted(check.contains)}`
  if ('lacks' in check) return text.includes(check.lacks) ? `the answer has ${quoted(check.lacks)}` : null
  return new RegExp(check.matches, 'su').test(text) ? null : `the answer does not match ${check.matches}`
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)} ...` : text)
}

/** Returns the verdict of a judge, the last JSON object in its text. Without a verdict the check fails. Pure. */
export function readVerdict(reply: string): { readonly pass: boolean; readonly reason: string } {
  const objects = reply.match(/\{[^{}]*\}/g) ?? []
  for (const text of objects.toReversed()) {
    const value = readJson(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue
    const { pass, reason } = value
    if (typeof pass === 'boolean') return { pass, reason: typeof reason === 'string' ? reason : '' }
  }
  return { pass: false, reason: 'the judge returned no verdict' }
}

function readJson(text: string): JsonValue {
  try {
    const parsed = jsonValueSchema.safeParse(JSON.parse(text === '' ? '{}' : text))
    return parsed.success ? parsed.data : null
  } catch {
    return null
  }
}
