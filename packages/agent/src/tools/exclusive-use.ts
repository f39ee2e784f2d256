import { Problem } from '@flotilla/protocol/problem'
import type { Exclusive, Tool } from './tool.ts'

/**
 * Lets one user at a time use a resource that a container has once, such as a browser. A sub-agent keeps the resource
 * until the sub-agent ends, because its work takes many calls; the agent has it during each call. Other users do not
 * wait: their calls are rejected with the name of the present user.
 */
export interface ExclusiveUse {
  /**
   * Returns the tool with a check that rejects while another user has its resource; a tool without the mark
   * is returned unchanged.
   */
  guard(tool: Tool): Tool
  /** Releases a sub-agent's resource after its end; the resource is free once the last call has returned. */
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
        held.subagent === null ? 'try again when its call has ended' : 'wait until that sub-agent has ended'
      throw new Problem('conflict', {
        detail: `${who} is using the ${what}, which only one can use at a time: ${until}, or continue without it.`,
      })
    }
    const holder = held ?? { subagent, calls: 0, ended: false }
    holder.calls += 1
    holders.set(what, holder)
    return holder
  }
  const releaseIfDone = (what: Exclusive, holder: Holder): void => {
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
            releaseIfDone(exclusive, holder)
          }
        },
      }
    },
    release: (subagent) => {
      for (const [what, holder] of holders) {
        if (holder.subagent !== subagent) continue
        holder.ended = true
        releaseIfDone(what, holder)
      }
    },
  }
}
