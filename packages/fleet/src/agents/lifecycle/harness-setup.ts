import type { Harness } from '@flotilla/protocol/harness'
import { harnessVariable } from '@flotilla/protocol/harness-variable'
import type { HarnessProgram } from '@flotilla/protocol/harness-variable'
import type { ProgramSetup } from '../../events/index.ts'

/** What an agent with a harness finds in its container; a changed harness is found by the next run. Pure. */
export function harnessSetup(harness: Harness | undefined): readonly ProgramSetup[] {
  if (harness === undefined) return []
  const value = typeof harness === 'string' ? harness : JSON.stringify(programOf(harness.command))
  return [{ environment: { [harnessVariable]: value }, files: {} }]
}

function programOf(command: readonly string[]): HarnessProgram {
  return { command, environment: {} }
}
