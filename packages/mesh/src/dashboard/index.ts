import type { Kernel, MeshModule } from '../kernel/index.ts'
import { builtAppReader } from './built-app.ts'
import { liveRoutes, pageRoutes } from './people.routes.ts'
import { createRunEvents } from './run-events.ts'

interface Needs {
  /** Where the app was built; see `scripts/build-programs.ts`. */
  readonly repositoryRoot: string
  readonly runs: { readonly queries: { find(runId: string): unknown } }
}

/** The pages that people look at the fleet with, and what keeps them up to date. */
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
