import { oneLine } from './terminal/color.ts'
import { formatCount } from './terminal/format.ts'
import type { Terminal } from './terminal/terminal.ts'

const useColumnsMax = 200
/** The maximum number of lines that are shown; further lines are only counted. */
const shownMax = 20

/** Pure. */
export function usesLines(
  agentId: string,
  uses: readonly string[],
  { color }: Pick<Terminal, 'color'>,
): string[] {
  const left = uses.length - shownMax
  return [
    color.warning(`Triggers that give work to agent ${agentId}:`),
    ...uses.slice(0, shownMax).map((use) => `  ${oneLine(use, useColumnsMax)}`),
    ...(left > 0 ? [`  … and ${left} more`] : []),
  ]
}

/** Says what the deletion of an agent removes, and how many triggers still start its runs. Pure. */
export function describeDeletion(agentId: string, uses: readonly string[]): string {
  const effect = `delete removes agent ${agentId} and its data permanently`
  return uses.length === 0
    ? effect
    : `${effect}, although ${formatCount(uses.length, 'trigger')} can start it`
}
