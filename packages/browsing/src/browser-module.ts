import { Problem } from '@flotilla/protocol/problem'
import { createFirstUse } from '@flotilla/identity/kernel'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { WorkKernel } from '@flotilla/work/events'
import { browserAgentRoutes } from './agent.routes.ts'
import { noBrowsers } from './no-containers.ts'
import { readSolverKeys } from './captcha/solver-keys.ts'
import type { BrowserDeps } from './create-browsers.ts'
import { createHandOverTable } from './hand-over-table.ts'
import { browserInternalRoutes, browserPeopleRoutes, screenRoutes } from './people.routes.ts'
import { screenFileReader } from './screen-files.ts'

export interface Browsers {
  /** Throws the Problem `browser-unavailable` if browsers cannot run on this machine. */
  require(): void
}

export interface BrowserNeeds extends BrowserDeps {
  /** The folder from which packages are resolved. */
  readonly repositoryRoot: string
}

/**
 * Runs a browser for each agent, each in its own container. People can watch and control the browsers. All but the
 * routes is loaded with the first use of a browser.
 */
export async function browserModule(kernel: WorkKernel, needs: BrowserNeeds): Promise<MeshModule<Browsers>> {
  const containers = needs.runtime.browsers
  const { guard, settings } = kernel
  const requireBrowsers = (): void => {
    if (containers === null) throw new Problem('browser-unavailable', { detail: noBrowsers })
  }
  const { use, loaded, hooks } = createFirstUse(async () => {
    const { createBrowsers } = await import('./create-browsers.ts')
    return createBrowsers(kernel, needs)
  })
  // A hand-over of the previous process ends, and runs that wait for it continue.
  if (createHandOverTable(kernel.database).list().length > 0) await use()
  // An earlier process may have left a profile of the agent; loaded browsers subscribe to the event themselves.
  kernel.fleetEvents.agentFilesDropped.subscribe(async (agentId) => {
    if (loaded() === null) await containers?.removeProfile(agentId)
  })

  return {
    ...hooks,
    api: { require: requireBrowsers },
    routes: {
      agent: (surface) =>
        browserAgentRoutes(surface, async (caller, request, line) => {
          guard(caller, { do: 'use-browser', browserAction: request.action })
          requireBrowsers()
          return (await use()).act(caller, request, line)
        }),
      internal: (surface) =>
        browserInternalRoutes(surface, {
          guard,
          // The solver's hourly use is known only to loaded browsers.
          known: async () => loaded() ?? (readSolverKeys(needs.env) === null ? null : use()),
        }),
      people: (surface) => {
        browserPeopleRoutes(surface, {
          guard,
          use,
          loaded,
          unavailable: containers === null ? noBrowsers : null,
          maxLive: () => settings().browser.max_live,
        })
        screenRoutes(surface, { guard, use, files: screenFileReader(needs.repositoryRoot) })
      },
    },
    // Browsers of a previous process have tokens that are no longer known.
    prepare: async () => containers?.removeAll(),
  }
}
