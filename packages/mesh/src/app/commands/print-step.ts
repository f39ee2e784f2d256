import type { ReportStep } from '@flotilla/fleet/sandbox'
import type { CommandContext } from './command-context.ts'

/** Returns a reporter that prints steps as progress lines for the program that started this process. */
export function printStep(print: CommandContext['print']): ReportStep {
  return (step, failed) => print({ progress: step, ...(failed && { failed }) })
}
