import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { WriteEntry } from './write-entry.ts'

/** Maximum number of entries that one result may promote. */
const promotedMax = 100

export interface Promotion {
  readonly written: readonly string[]
  readonly refused: readonly { readonly key: string; readonly code: ProblemCode; readonly detail: string }[]
}

export type Promote = (agentId: string, entries: JsonObject) => Promotion

/**
 * Writes the entries that a task's result promotes, with the agent's own permissions. A refusal is reported and stops
 * nothing: the work is done whether or not its summary can be written to the blackboard.
 */
export function promote(deps: { readonly write: WriteEntry }): Promote {
  return (agentId, entries) => {
    const written: string[] = []
    const refused: { key: string; code: ProblemCode; detail: string }[] = []
    for (const [index, [key, value]] of Object.entries(entries).entries()) {
      if (index >= promotedMax) {
        const detail = `the result of a task may write at most ${promotedMax} blackboard entries`
        refused.push({
          key: `${Object.keys(entries).length - promotedMax} more`,
          code: 'unprocessable',
          detail,
        })
        break
      }
      try {
        deps.write({ kind: 'agent', agentId, token: 'door', run: null }, { key, value })
        written.push(key)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        refused.push({ key: key.slice(0, 200), code: error.code, detail: error.detail })
      }
    }
    return { written, refused }
  }
}
