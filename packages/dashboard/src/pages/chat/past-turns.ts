import { unansweredMark } from '@flotilla/protocol/chat-history'
import type { HistoryMessage } from '@flotilla/protocol/chat-history'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'

export interface PastStep {
  readonly kind: 'tool'
  readonly name: string
  readonly input: string
  /** Null if the history has no result, as for an interrupted call. */
  readonly output: string | null
  readonly pictures: HistoryMessage['pictures']
}
export type PastBlock =
  | PastStep
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'told'; readonly text: string }
  | { readonly kind: 'artifact'; readonly name: string }

/** An earlier question with all steps and answers that followed. */
export interface PastTurn {
  /** Null for content before the first question that is shown. */
  readonly asked: string | null
  readonly blocks: readonly PastBlock[]
  /** The run of the turn, if it is among the known runs. */
  readonly run: RunView | null
}

const savingTool = 'save_artifact'

/**
 * Groups the messages of a history: one question and everything that followed are one turn, and a call and its result
 * are one step. Pure.
 */
export function pastTurns(
  messages: readonly HistoryMessage[],
  runs: readonly RunView[],
): readonly PastTurn[] {
  const turns: { asked: string | null; blocks: PastBlock[] }[] = []
  const current = (): PastBlock[] => {
    if (turns.length === 0) turns.push({ asked: null, blocks: [] })
    return turns.at(-1)?.blocks ?? []
  }
  for (const { role, text, calls, pictures } of messages) {
    if (role === 'user') turns.push({ asked: text, blocks: [] })
    else if (role === 'system') current().push({ kind: 'told', text })
    else if (role === 'tool') addResult(current(), { output: text, pictures })
    else {
      if (text !== '') current().push({ kind: 'text', text })
      for (const { name, input } of calls)
        current().push({ kind: 'tool', name, input, output: null, pictures: [] })
    }
  }
  return withRuns(turns, runs)
}

/** Adds a result to the first call without one, because results are in the order of their calls. */
function addResult(blocks: PastBlock[], { output, pictures }: Pick<PastStep, 'output' | 'pictures'>): void {
  const at = blocks.findIndex((block) => block.kind === 'tool' && block.output === null)
  const call = blocks[at]
  if (call?.kind !== 'tool') {
    // The call was compacted away.
    blocks.push({ kind: 'tool', name: 'result', input: '', output, pictures })
    return
  }
  blocks[at] = { ...call, output, pictures }
  const saved = call.name === savingTool ? nameIn(call.input) : null
  if (saved !== null) blocks.push({ kind: 'artifact', name: saved })
}

function nameIn(input: string): string | null {
  try {
    const read: unknown = JSON.parse(input)
    return typeof read === 'object' && read !== null && 'name' in read && typeof read.name === 'string'
      ? read.name
      : null
  } catch {
    return null
  }
}

/** Adds each turn's run: from the newest back, a question matches the newest run of the same text. */
function withRuns(turns: readonly Omit<PastTurn, 'run'>[], runs: readonly RunView[]): readonly PastTurn[] {
  const left = runs.filter(({ input }) => input.kind === 'chat')
  const found = turns.toReversed().map((turn) => {
    const at = left.findIndex(({ input }) => input.kind === 'chat' && input.message === turn.asked)
    const run = left[at]
    if (run === undefined) return { ...turn, run: null }
    left.splice(0, at + 1)
    // The page shows the run's outcome with its reason, so the history's note that no answer came is left out.
    const isSaid = (block: PastBlock) => block.kind === 'text' && block.text.startsWith(unansweredMark)
    const blocks = isTerminal(run.state) ? turn.blocks.filter((block) => !isSaid(block)) : turn.blocks
    return { ...turn, blocks, run }
  })
  return found.toReversed()
}
