import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import { localPlaces } from './local-places.ts'
import { setupPeopleRoutes } from './people.routes.ts'
import type { SetupContext } from './setup-context.ts'

/** Wires the choice of a model: found on this machine, checked at its provider, selected by an owner. */
export function setupModule(
  kernel: Kernel,
  needs: Omit<SetupContext, keyof Kernel | 'places'>,
): MeshModule<null> {
  const context: SetupContext = { ...kernel, ...needs, places: localPlaces }
  return { api: null, routes: { people: (surface) => setupPeopleRoutes(surface, context) } }
}
