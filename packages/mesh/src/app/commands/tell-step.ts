import type { ReportStep } from '../../sandbox/index.ts'
import type { CommandContext } from './command-context.ts'

/** Steps as lines for whoever started this. */
export function tellStep(tell: CommandContext['tell']): ReportStep {
  return (step, failed) => tell({ progress: step, ...(failed && { failed }) })
}
