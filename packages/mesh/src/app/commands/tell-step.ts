import type { ReportStep } from '@flotilla/fleet/sandbox'
import type { CommandContext } from './command-context.ts'

/** Writes steps as progress lines for the program that started this one. */
export function printStep(print: CommandContext['print']): ReportStep {
  return (step, failed) => print({ progress: step, ...(failed && { failed }) })
}
