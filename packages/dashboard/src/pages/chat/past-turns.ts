import { unansweredMark } from '@flotilla/protocol/chat-history'
import type { HistoryMessage } from '@flotilla/protocol/chat-history'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'

export interface PastStep {
  readonly kind: 'tool'
  readonly name: string
  readonly input: string
  /** Null where the conversation has none, such as for a call that was cut off. */
  readonly output: string | null
  readonly pictures: HistoryMessage['pictures']
}
export type PastBlock =
  | PastStep
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'told'; readonly text: string }
  | { readonly kind: 'artifact'; readonly name: string }

/** A question of before and all that came of it. */
export interface PastTurn {
  /** Null for content before the first question that is shown. */
  readonly asked: string | null
  readonly blocks: readonly PastBlock[]
  /** The run that it was, where it is among those that are known. */
  readonly run: RunView | null
}

const savingTool = 'save_artifact'

/**
 * The messages of a conversation as they were when they were said: what one question led to is one turn, and a call and its
 * result are one step. Pure.
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

/** Results come in the order of the calls that they are of. */
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

/** Messages do not name their runs: the newest question is the newest run with its words, and so on back. */
function withRuns(turns: readonly Omit<PastTurn, 'run'>[], runs: readonly RunView[]): readonly PastTurn[] {
  const left = runs.filter(({ input }) => input.kind === 'chat')
  const found = turns.toReversed().map((turn) => {
    const at = left.findIndex(({ input }) => input.kind === 'chat' && input.message === turn.asked)
    const run = left[at]
    if (run === undefined) return { ...turn, run: null }
    left.splice(0, at + 1)
    // Why no answer came is said of the run itself.
    const isSaid = (block: PastBlock) => block.kind === 'text' && block.text.startsWith(unansweredMark)
    const blocks = isTerminal(run.state) ? turn.blocks.filter((block) => !isSaid(block)) : turn.blocks
    return { ...turn, blocks, run }
  })
  return found.toReversed()
}
