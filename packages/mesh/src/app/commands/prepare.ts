import { chooseRuntime } from '../choose-runtime.ts'
import { dataPaths, openHomeFolder } from '@flotilla/foundation/config'
import { commandLog } from './command-context.ts'
import type { CommandContext } from './command-context.ts'
import { printStep } from './print-step.ts'

/**
 * Prepares engine, image, network and the configured isolation level, which would delay a first start by minutes.
 * With `browsers`, also prepares what a first use of a browser needs.
 */
export async function prepare(context: CommandContext): Promise<number> {
  const paths = dataPaths(context.environment.home)
  const { homeId } = await openHomeFolder(paths)
  const runtime = await chooseRuntime({
    context,
    homeId,
    paths,
    log: commandLog(context),
  })
  const progress = printStep(context.print)
  try {
    await runtime.prepare({ progress, signal: context.stopped })
    const { isolation } = context.environment
    if (isolation !== null) {
      progress(`Testing whether agents can run at isolation level ${isolation}`)
      const { available, detail } = await runtime.tryRung(isolation, progress)
      if (!available) progress(`The isolation level ${isolation} is not available: ${detail}`)
    }
    if (context.browsers) {
      progress('Building the browser image if it is missing')
      await runtime.browsers?.prepare(context.stopped)
    }
    context.print({ prepared: true, runtime: runtime.kind, isolates: runtime.isolates })
    return 0
  } finally {
    await runtime.close()
  }
}
