import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '@flotilla/identity/access'
import { isAtTerminal } from '@flotilla/identity/access'
import type { FileWatches } from '@flotilla/inbound/triggers/watch'
import type { FleetTemplate } from './template-file.ts'

/**
 * A watcher reads a folder of the host and starts an agent. Only an owner at the terminal or the dashboard may plan
 * or apply a template with watchers; other callers are refused the whole template, even if the watcher exists. Throws
 * Problem `human-only`.
 */
export function requireMayWatch(caller: Caller, { name, watchers }: FleetTemplate): void {
  if (watchers.length === 0 || isAtTerminal(caller)) return
  throw new Problem('human-only', {
    detail: `template ${name} watches folders of this machine, which only an owner at the terminal or the dashboard can allow`,
    repair:
      'Ask the owner to apply the template with flotilla apply, or remove `watchers` from the template and apply the rest.',
  })
}

/** Throws Problem `unprocessable` if the template has watchers and their file is broken. */
export function requireWholeWatchers(
  { watchers }: FleetTemplate,
  fileWatches: Pick<FileWatches, 'broken'>,
): void {
  const broken = watchers.length === 0 ? null : fileWatches.broken()
  if (broken === null) return
  throw new Problem('unprocessable', {
    detail: `the template contains watchers, but config/watchers.yaml is invalid: ${broken}`,
    repair: 'Correct config/watchers.yaml, then check the file with flotilla watchers check',
  })
}
