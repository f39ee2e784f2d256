import type { Harness } from '@flotilla/protocol/harness'
import { harnessVariable } from '@flotilla/protocol/harness-variable'
import type { HarnessProgram } from '@flotilla/protocol/harness-variable'
import type { ProgramSetup } from '../../events/index.ts'

/** What an agent with a harness finds in its container; a changed harness is found by the next run. Pure. */
export function harnessSetup(harness: Harness | undefined): readonly ProgramSetup[] {
  if (harness === undefined) return []
  const program: HarnessProgram = { command: harness.command, environment: {} }
  return [{ environment: { [harnessVariable]: JSON.stringify(program) }, files: {} }]
}
