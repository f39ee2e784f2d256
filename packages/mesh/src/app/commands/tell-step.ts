import type { ReportStep } from '../../sandbox/index.ts'
import type { CommandContext } from './command-context.ts'

/** Writes steps as progress lines for the program that started this one. */
export function tellStep(tell: CommandContext['tell']): ReportStep {
  return (step, failed) => tell({ progress: step, ...(failed && { failed }) })
}
