import type { MeshModule } from '@flotilla/identity/kernel'

/** The modules of one context, by name. */
interface Context {
  readonly modules: Readonly<Record<string, MeshModule>>
}

/**
 * Returns the modules of all contexts with their names, in the order in which they start; they close in reverse order.
 * Pure.
 */
export function namedModules(
  contexts: Readonly<Record<string, Context>>,
): readonly (readonly [name: string, module: MeshModule])[] {
  return Object.values(contexts).flatMap(({ modules }) => Object.entries(modules))
}
