import type { AgentPart } from './read-frames.ts'
import { nothingSkipped } from './skipped-entries.ts'
import type { Skipped } from './skipped-entries.ts'

/** The number of agents and homes whose skipped entries are listed; for further ones only counts are given. */
const listedMax = 50

/** The home's entries that a backup does not contain, in the output of commands. */
export interface WhatIsMissing {
  readonly skipped: readonly {
    /** Null for the files of the home itself. */
    readonly agent: string | null
    readonly count: number
    readonly first: Skipped['first']
    /** The limit that ended reading the agent's data, so that more may be missing; null if everything was read. */
    readonly ended_by: string | null
  }[]
  /** Agents without any data in the backup. */
  readonly left_out: readonly { readonly agent: string; readonly why: string }[]
}

/** Pure. */
export function whatIsMissing(of: {
  readonly home: Skipped | undefined
  readonly agents: readonly AgentPart[]
}): WhatIsMissing {
  const { count, first } = of.home ?? nothingSkipped
  const parts = of.agents
    .filter((part) => part.state === 'there' && (part.skipped.count > 0 || part.endedBy !== null))
    .map(({ agent, skipped, endedBy }) => ({ agent, ...skipped, ended_by: endedBy }))
  const all = count > 0 ? [{ agent: null, count, first, ended_by: null }, ...parts] : parts
  return {
    skipped: all.map((one, index) => (index < listedMax ? one : { ...one, first: [] })),
    left_out: of.agents
      .filter(({ state }) => state !== 'there')
      .map(({ agent, why }) => ({ agent, why: why ?? 'unknown reason' })),
  }
}
