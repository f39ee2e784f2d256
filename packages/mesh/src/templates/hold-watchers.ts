import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../access/index.ts'
import { isAtTerminal } from '../access/index.ts'
import type { FileWatches } from '../triggers/watch/index.ts'
import type { FleetTemplate } from './template-file.ts'

/**
 * A watcher reads a folder of the host and wakes an agent: only an owner at the terminal or the dashboard applies a template
 * that has one, and looks at its plan. Everybody else is refused the whole template, whether or not the watcher is there
 * already. Problem `human-only`.
 */
export function requireMayWatch(caller: Caller, { name, watchers }: FleetTemplate): void {
  if (watchers.length === 0 || isAtTerminal(caller)) return
  throw new Problem('human-only', {
    detail: `template ${name} watches folders of this machine, which only an owner at the terminal or the dashboard can have done`,
    repair:
      'Ask the owner to apply it: flotilla apply, with its name or its file. Or take `watchers` out of it; the rest can then be applied as before.',
  })
}

/** Problem `unprocessable` where the template has watchers and the file that they go into is broken. */
export function requireWholeWatchers(
  { watchers }: FleetTemplate,
  fileWatches: Pick<FileWatches, 'broken'>,
): void {
  const broken = watchers.length === 0 ? null : fileWatches.broken()
  if (broken === null) return
  throw new Problem('unprocessable', {
    detail: `the watchers of this template go into a file that is broken: ${broken}`,
    repair: 'Mend config/watchers.yaml; flotilla watchers check says whether it is whole.',
  })
}
