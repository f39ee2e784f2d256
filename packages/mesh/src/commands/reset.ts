import { rm } from 'node:fs/promises'
import { composeRuntime } from '../compose-runtime.ts'
import { dataPaths } from '../config/data-paths.ts'
import { openHomeFolder } from '../config/home-folder.ts'
import { lockHome } from '../config/home-lock.ts'
import { createLog } from '../log.ts'
import type { CommandContext } from './command-context.ts'

/** Deletes a home and everything it has in the engine: sandboxes, data, network, rules. The mesh must not run. */
export async function reset(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const lock = await lockHome(context.environment.home)
  const { homeId } = await openHomeFolder(paths)
  const runtime = composeRuntime({ context, homeId, paths, log: createLog(context.environment.logLevel) })
  try {
    const progress = (step: string) => context.tell({ progress: step })
    await runtime.erase({ progress, signal: context.stopped })
    await rm(paths.home, { recursive: true, force: true })
    context.tell({ reset: true, home: paths.home })
    return 0
  } finally {
    await runtime.close()
    await lock.release()
  }
}
