/** Finds unused files and deletes them on request. */

export { unusedCaches } from './unused-caches.ts'
export { unusedInHome } from './unused-in-home.ts'
export type { UnusedThing } from './unused-thing.ts'
