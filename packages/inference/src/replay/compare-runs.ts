import { groupOf } from '@flotilla/protocol/tool-groups'
import type { Difference } from '@flotilla/protocol/replay-api'
import type { RunOutcome } from '@flotilla/protocol/run'
import type { RecordedRun, RecordedStep } from './read-record.ts'
import type { Replay } from './replay-table.ts'

/** The maximum length of a text in a difference, in characters. */
const shownMaxChars = 2000
/** The maximum number of differences that a comparison of two runs lists. */
const differencesMax = 200

interface Side {
  readonly record: RecordedRun
  readonly outcome: RunOutcome | null
}

/**
 * Returns how a replay differs from the recorded run: in its answers and calls, in tool results, in how it ended,
 * and, for information, in the prompt and the offered tools. For a fork, the steps before the other model are
 * compared alike, and later steps show what that model did differently. Pure.
 */
export function compareRuns(replay: Replay, first: Side, again: Side): readonly Difference[] {
  const turn = first.record.turns[replay.turn]
  if (!turn) return []
  const before = first.record.steps.slice(turn.from, turn.to)
  const after = again.record.steps
  const differences: Difference[] = [...offerDifferences(before[0], after[0])]
  for (const [index, step] of before.entries()) {
    const other = after[index]
    if (other) differences.push(...stepDifferences(step, other))
    else
      differences.push(
        difference(step, { what: 'missing', detail: 'the replay did not reach this step' }, [
          shown(step),
          null,
        ]),
      )
  }
  for (const [index, step] of after.slice(before.length).entries()) {
    const at = turn.from + before.length + index
    differences.push({
      ...difference(step, { what: 'more', detail: 'the replay made a step that the record does not have' }, [
        null,
        shown(step),
      ]),
      step: at + 1,
    })
  }
  const isLast = replay.turn === first.record.turns.length - 1
  if (isLast && outcomeText(first.outcome) !== outcomeText(again.outcome)) {
    const texts: [string, string] = [outcomeText(first.outcome), outcomeText(again.outcome)]
    differences.push({
      step: 0,
      what: 'outcome',
      detail: 'the replay ended with another outcome than the run',
      ...pair(texts),
    })
  }
  return differences.slice(0, differencesMax)
}

/** Whether all differences are such as a replay may have. Pure. */
export function isSameRun(differences: readonly Difference[]): boolean {
  return differences.every(({ what }) => what === 'prompt' || what === 'tools')
}

function offerDifferences(before: RecordedStep | undefined, after: RecordedStep | undefined): Difference[] {
  if (!before || !after) return []
  const systemPrompt = (step: RecordedStep) =>
    step.exchange.messages.find(({ role }) => role === 'system')?.content ?? ''
  const [was, is] = [before.exchange.tools, after.exchange.tools]
  const [allBefore, allAfter] = [before, after].map((step) => new Set(toolNames(step, systemPrompt(step))))
  const gone = [...(allBefore ?? [])].filter((name) => !allAfter?.has(name))
  const fresh = [...(allAfter ?? [])].filter((name) => !allBefore?.has(name))
  const other = Object.keys(is).filter((name) => name in was && was[name] !== is[name])
  const tools = [
    ...(gone.length > 0 ? [`tools that are no longer offered: ${gone.join(', ')}`] : []),
    ...(fresh.length > 0 ? [`new tools: ${fresh.join(', ')}`] : []),
    ...(other.length > 0 ? [`tools with another description: ${other.join(', ')}`] : []),
  ]
  return [
    ...(systemPrompt(before) === systemPrompt(after)
      ? []
      : [
          difference(before, { what: 'prompt', detail: 'the system prompt of the agent has changed' }, [
            null,
            null,
          ]),
        ]),
    ...(tools.length === 0
      ? []
      : [difference(before, { what: 'tools', detail: tools.join('; ') }, [null, null])]),
  ]
}

/** Returns the tools that a request offers, and the built-in tools that its prompt names for `find_tools`. */
function toolNames({ exchange }: RecordedStep, system: string): readonly string[] {
  const named = system.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []
  return [...Object.keys(exchange.tools), ...named.filter((name) => groupOf(name) !== null)]
}

function stepDifferences(before: RecordedStep, after: RecordedStep): Difference[] {
  const differences: Difference[] = []
  const [was, is] = [before.exchange.answer, after.exchange.answer]
  if (was.content !== is.content)
    differences.push(difference(before, { what: 'text', detail: 'another text' }, [was.content, is.content]))
  for (let index = 0; index < Math.max(was.calls.length, is.calls.length); index += 1) {
    const [one, other] = [callText(was.calls[index]), callText(is.calls[index])]
    if (one !== other) {
      differences.push(
        difference(before, { what: 'call', detail: `call ${index + 1} differs from the record` }, [
          one,
          other,
        ]),
      )
      continue
    }
    const [result, now] = [before.results[index] ?? null, after.results[index] ?? null]
    if (result !== null && now !== null && result !== now) {
      const detail = `${was.calls[index]?.name ?? 'the tool'} returned another result`
      differences.push(difference(before, { what: 'result', detail }, [result, now]))
    }
  }
  return differences
}

function callText(call: { readonly name: string; readonly arguments: string } | undefined): string | null {
  return call ? `${call.name} ${normalJson(call.arguments)}` : null
}

/** Arguments that differ only in white space are the same. */
function normalJson(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

function shown({ exchange: { answer } }: RecordedStep): string {
  const calls = answer.calls.map((call) => `${call.name} ${call.arguments}`)
  return [answer.content, ...calls].filter((text) => text !== '').join('\n')
}

function outcomeText(outcome: RunOutcome | null): string {
  return outcome === null
    ? 'not ended'
    : `${outcome.status}${outcome.code ? ` (${outcome.code})` : ''}: ${outcome.text}`
}

function difference(
  step: RecordedStep,
  kind: Pick<Difference, 'what' | 'detail'>,
  texts: readonly [string | null, string | null],
): Difference {
  return { step: step.at + 1, ...kind, ...pair(texts) }
}

function pair([before, after]: readonly [string | null, string | null]): Pick<
  Difference,
  'before' | 'after'
> {
  const cut = (text: string | null) =>
    text !== null && text.length > shownMaxChars ? `${text.slice(0, shownMaxChars)} [cut]` : text
  return { before: cut(before), after: cut(after) }
}
