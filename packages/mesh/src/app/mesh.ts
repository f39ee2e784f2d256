import { compose } from './compose.ts'
import { createLifecycle } from './lifecycle.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { MeshSettings } from './mesh-settings.ts'

/** Creates the mesh of a home without starting it. */
export async function createMesh(settings: MeshSettings): Promise<Lifecycle> {
  return createLifecycle(await compose(settings))
}
