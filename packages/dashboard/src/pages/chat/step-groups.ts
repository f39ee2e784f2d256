import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { ToolBlock, TurnBlock } from './turn.ts'

/** From this number of successive calls on, a turn shows them as one line that unfolds. */
const foldedFrom = 2

export type TurnPart =
  | { readonly kind: 'block'; readonly index: number; readonly block: TurnBlock }
  | { readonly kind: 'steps'; readonly index: number; readonly tools: readonly ToolBlock[] }

/** Joins successive tool calls of a turn to groups. The index of a part is that of its first block. Pure. */
export function turnParts(blocks: readonly TurnBlock[]): readonly TurnPart[] {
  const parts: TurnPart[] = []
  for (let index = 0; index < blocks.length; index += 1) {
    const block = blocks[index]
    if (block === undefined) break
    const tools: ToolBlock[] = []
    for (let next = blocks[index]; next?.kind === 'tool'; next = blocks[index + tools.length])
      tools.push(next)
    if (tools.length < foldedFrom) {
      parts.push({ kind: 'block', index, block })
      continue
    }
    parts.push({ kind: 'steps', index, tools })
    index += tools.length - 1
  }
  return parts
}

/**
 * Returns how long each of the turn's own calls took, in milliseconds, by its block; empty if the events do not have
 * exactly these calls, such as of a shortened conversation. Pure.
 */
export function stepTimes(
  blocks: readonly TurnBlock[],
  events: readonly FleetEvent[],
  agent: string,
): ReadonlyMap<TurnBlock, number> {
  const own = blocks.flatMap((block) => (block.kind === 'tool' && block.by === null ? [block] : []))
  const calls = events.flatMap(({ seq, at, body }) =>
    body.type === 'tool.started' && body.agent_id === agent && body.subagent === undefined
      ? [{ seq, at, body }]
      : [],
  )
  const isSame =
    calls.length === own.length && calls.every(({ body }, index) => body.name === own[index]?.name)
  if (!isSame) return new Map()
  const taken = new Set<number>()
  return new Map(
    calls.flatMap(({ seq, at, body }, index) => {
      const end = events.find(
        ({ seq: later, body: ended }) =>
          later > seq &&
          !taken.has(later) &&
          ended.type === 'tool.ended' &&
          ended.step === body.step &&
          ended.name === body.name &&
          ended.subagent === undefined,
      )
      if (end !== undefined) taken.add(end.seq)
      const block = own[index]
      return end === undefined || block === undefined ? [] : [[block, end.at - at] as const]
    }),
  )
}

/** Returns the exit code that a command line ended with; null if the result names none. Pure. */
export function exitCodeOf({ name, output }: Pick<ToolBlock, 'name' | 'output'>): number | null {
  const code = name === 'run_command' ? /^exit code (\d{1,3})\b/.exec(output ?? '')?.[1] : undefined
  return code === undefined ? null : Number(code)
}
