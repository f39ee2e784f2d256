import { visible } from '@flotilla/protocol/shown-text'
import type { OutsideRead } from '@flotilla/foundation/journal'

/** The costs of a run that waits for a person, from the current sums, and what it has read. */
export interface WaitingRunCosts {
  readonly agentId: string
  /** Where the agent has read from outside since the run was created; the last use comes first. */
  readonly reads: readonly OutsideRead[]
  readonly calls: number
  readonly spentUsd: number
  /** Every limit that the run's next model call must fit into. */
  readonly limits: readonly {
    readonly name: string
    readonly scope: string
    readonly limit_usd: number
    readonly left_usd: number
  }[]
}

/**
 * Describes the known costs of a run that continues after the decision: the cost of its earlier model calls, and what
 * its limits still allow. The cost of its next calls is unknown. Pure.
 */
export function formatRunCosts({
  agentId,
  calls,
  spentUsd,
  limits,
}: Omit<WaitingRunCosts, 'reads'>): readonly string[] {
  const before =
    calls === 0
      ? `The run of ${agentId} that requested this continues whatever you decide; it has called no model yet.`
      : `The run of ${agentId} that requested this continues whatever you decide, and its further calls cost money. So far it has cost ${dollars(spentUsd)} for ${calls} ${calls === 1 ? 'call' : `calls, ${dollars(spentUsd / calls)} each`}.`
  const [first, ...others] = limits
  if (first === undefined) return [before]
  const tightest = others.reduce((least, one) => (one.left_usd < least.left_usd ? one : least), first)
  return [
    before,
    `The run can spend at most ${dollars(tightest.left_usd)} more, from the ${tightest.name} budget of the ${tightest.scope}, ${dollars(tightest.limit_usd)}.`,
  ]
}

/** How many places are named; the others are counted. */
const namedReadsMax = 12

/** Describes what the run has read, because text from outside may have caused the request. Pure. */
export function formatRunReads({ agentId, reads }: Pick<WaitingRunCosts, 'agentId' | 'reads'>): string {
  if (reads.length === 0)
    return `Since the run was created, ${agentId} has read nothing from a host, an MCP server or a web search.`
  const named = reads.slice(0, namedReadsMax).map(nameOfRead)
  const more = reads.length - named.length
  return `Since the run was created, ${agentId} has read from: ${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}.`
}

function nameOfRead({ kind, name }: OutsideRead): string {
  if (kind === 'host') return visible(name)
  return kind === 'mcp-server' ? `the MCP server ${visible(name)}` : `a web search (${visible(name)})`
}

function dollars(usd: number): string {
  return `USD ${usd.toFixed(usd !== 0 && usd < 0.01 ? 6 : 2)}`
}
