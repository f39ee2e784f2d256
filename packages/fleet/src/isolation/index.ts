import { Problem } from '@flotilla/protocol/problem'
import { isolationWish } from '@flotilla/foundation/config'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import { isolationInternalRoutes } from './internal.routes.ts'
import { isolationMetrics } from './isolation-metrics.ts'
import { isolationPeopleRoutes } from './people.routes.ts'
import { createIsolation } from './watch-isolation.ts'
import type { Isolation, IsolationDeps } from './watch-isolation.ts'

export type { Placement } from './place-agents.ts'
export type { Isolation } from './watch-isolation.ts'

/** Creates the isolation module: agents run only while every isolation check passed the last time. */
export function isolationModule(
  kernel: Kernel,
  needs: Pick<IsolationDeps, 'runtime' | 'atLeast'>,
): MeshModule<Isolation> {
  const isolation = createIsolation({ ...kernel, ...needs, agentPort: () => kernel.ports.agentApi })
  return {
    api: isolation,
    routes: {
      people: (surface) => isolationPeopleRoutes(surface, isolation),
      internal: (surface) => isolationInternalRoutes(surface, isolation),
    },
    metrics: () => isolationMetrics(isolation.state()),
    run: isolation.watch,
    notices: () => noticesOf(kernel, isolation),
  }
}

/** At the start, warns an owner whose settings request a level above containers if it is not available. */
async function noticesOf({ settings }: Kernel, { atLeast, place }: Isolation): Promise<readonly string[]> {
  const wish = isolationWish(settings(), '', { start: atLeast, record: 'container' })
  try {
    const { rung, fallback } = await place(wish)
    return fallback === null ? [] : [`Agents run in a ${rung} instead of ${wish.wanted}: ${fallback}.`]
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return [
      `No agent starts, except those with a lower isolation level in config/settings.json: ${error.detail}. ${error.repair}`,
    ]
  }
}
