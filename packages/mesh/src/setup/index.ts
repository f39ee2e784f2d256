import type { Kernel, MeshModule } from '../kernel/index.ts'
import { setupPeopleRoutes } from './people.routes.ts'
import { createSetUpModels } from './set-up-models.ts'
import type { SetUpModels, SetUpModelsDeps } from './set-up-models.ts'

/** What agents think with: found on this machine, checked at its provider, chosen by an owner. */
export function setupModule(
  kernel: Kernel,
  needs: Omit<SetUpModelsDeps, keyof Kernel>,
): MeshModule<SetUpModels> {
  const setUp = createSetUpModels({ ...kernel, ...needs })
  return { api: setUp, routes: { people: (surface) => setupPeopleRoutes(surface, setUp) } }
}
