import { Problem } from '@flotilla/protocol/problem'
import type { Exclusive, Tool } from './tool.ts'

/**
 * What one container has one of, such as a browser, has one user at a time. A sub-agent that uses it keeps it until
 * it ends, since its work with it is made of many calls; the agent itself has it for the length of each call. Nobody
 * waits for it: whoever comes meanwhile is refused with the name of who has it.
 */
export interface ExclusiveUse {
  /** The tool, refusing while another has what it uses; as it is where it bears no mark. */
  guard(tool: Tool): Tool
  /** That sub-agent has ended. What it has is free once its last call has come back. */
  release(subagent: string): void
}

interface Holder {
  /** Null for the agent itself. */
  readonly subagent: string | null
  calls: number
  ended: boolean
}

export function createExclusiveUse(): ExclusiveUse {
  const holders = new Map<Exclusive, Holder>()

  const enter = (what: Exclusive, subagent: string | null): Holder => {
    const held = holders.get(what)
    if (held && held.subagent !== subagent) {
      const who = held.subagent === null ? 'The agent itself' : `Sub-agent ${held.subagent}`
      const until =
        held.subagent === null ? 'try again when its call is done' : 'wait until that sub-agent has ended'
      throw new Problem('conflict', {
        detail: `${who} uses the ${what}, which has one user at a time: ${until}, or go on without it.`,
      })
    }
    const holder = held ?? { subagent, calls: 0, ended: false }
    holder.calls += 1
    holders.set(what, holder)
    return holder
  }
  const letGo = (what: Exclusive, holder: Holder): void => {
    const isDone = holder.calls === 0 && (holder.subagent === null || holder.ended)
    if (isDone && holders.get(what) === holder) holders.delete(what)
  }
  return {
    guard: (tool) => {
      const { exclusive } = tool
      if (exclusive === undefined) return tool
      return {
        ...tool,
        run: async (input, context) => {
          const holder = enter(exclusive, context.subagent ?? null)
          try {
            return await tool.run(input, context)
          } finally {
            holder.calls -= 1
            letGo(exclusive, holder)
          }
        },
      }
    },
    release: (subagent) => {
      for (const [what, holder] of holders) {
        if (holder.subagent !== subagent) continue
        holder.ended = true
        letGo(what, holder)
      }
    },
  }
}
