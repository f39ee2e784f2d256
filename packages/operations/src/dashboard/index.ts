import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import { builtAppReader } from './built-app.ts'
import { liveRoutes, pageRoutes } from './people.routes.ts'
import { createRunEvents } from './run-events.ts'

interface Needs {
  /** The folder in which the app was built; see `scripts/build-programs.ts`. */
  readonly repositoryRoot: string
  readonly runs: { readonly queries: { find(runId: string): unknown } }
}

/** Wires the pages of the dashboard and the routes that keep them up to date. */
export function dashboardModule({ guard, events }: Kernel, needs: Needs): MeshModule<null> {
  const runEvents = createRunEvents({ guard, events, runs: needs.runs.queries })
  const app = builtAppReader(needs.repositoryRoot)
  return {
    api: null,
    routes: {
      people: (surface) => {
        pageRoutes(surface, { guard, app })
        liveRoutes(surface, { guard, events, runEvents })
      },
    },
  }
}
