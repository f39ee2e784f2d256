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

function dollars(usd: number): string {
  return `USD ${usd.toFixed(usd !== 0 && usd < 0.01 ? 6 : 2)}`
}
